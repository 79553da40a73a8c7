package wire

import (
	"net/textproto"

	"github.com/nats-io/nats.go"
)

// MaxHeaderSize is the largest header block, in bytes, that JetStream stores.
// It refuses a larger one with err_code 10097.
const MaxHeaderSize = 65535

// HeaderSize returns how many bytes the header block of a message has on the
// wire, as nats.go encodes it; 0 if there are no headers.
func HeaderSize(h nats.Header) int {
	if len(h) == 0 {
		return 0
	}
	size := len("NATS/1.0\r\n") + len("\r\n")
	for key, values := range h {
		for _, v := range values {
			size += len(key) + len(": ") + len(textproto.TrimString(v)) + len("\r\n")
		}
	}
	return size
}
