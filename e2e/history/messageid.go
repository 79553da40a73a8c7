package history

import (
	"crypto/sha256"
	"encoding/base64"
)

// MessageID returns the Nats-Msg-Id that the wire format promises for an event: the SHA-256 of
// source, NUL and id, in base64url without padding. It is computed here anew, on purpose.
func MessageID(n Name) string {
	sum := sha256.Sum256([]byte(n.Source + "\x00" + n.ID))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
