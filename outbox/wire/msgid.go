package wire

import (
	"crypto/sha256"
	"encoding/base64"
)

// msgIDBytes is the length of every message id.
const msgIDBytes = 43

// MsgID returns the Nats-Msg-Id of the event with this source and id: the
// SHA-256 of source, NUL and id, in base64url without padding, 43 characters.
//
// It is a contract. Streams, dedup windows and the settled rows of a relay
// outlive every release, so the function never changes. It tells any two
// events apart, provided that source has no NUL, which no stored event has.
func MsgID(source, id string) string {
	var buf [msgIDBytes]byte
	return string(appendMsgID(buf[:0], source, id))
}

func appendMsgID(dst []byte, source, id string) []byte {
	var scratch [256]byte
	input := append(scratch[:0], source...)
	input = append(input, 0)
	input = append(input, id...)
	sum := sha256.Sum256(input)
	return base64.RawURLEncoding.AppendEncode(dst, sum[:])
}
