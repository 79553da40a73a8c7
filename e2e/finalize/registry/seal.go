package registry

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// secretSize is that of AES-256.
const secretSize = 32

func newSecret() []byte {
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// seal encrypts with a key that is used for this one text. label is what the text belongs to; a text
// that was moved to another place does not open.
func seal(secret, label, text []byte) ([]byte, error) {
	gcm, err := cipherOf(secret)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return gcm.Seal(nonce, nonce, text, label), nil
}

func open(secret, label, sealed []byte) ([]byte, error) {
	gcm, err := cipherOf(secret)
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errors.New("open a fact: it is too short")
	}
	return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], label)
}

func cipherOf(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return cipher.NewGCM(block)
}
