package fault

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// frame is one message of the NATS client protocol: a line, and for some a body.
type frame struct {
	line []byte // without CRLF
	body []byte // header and payload, without CRLF; nil when the operation has none

	op      string // in capitals; "+OK" and "-ERR" as they are
	subject string // of PUB, HPUB, MSG, HMSG, SUB
	reply   string
	sid     string // of MSG, HMSG, SUB, UNSUB
	header  int    // bytes of the body that are the header
}

// bodyLimit is more than any server takes; a larger number is not the NATS protocol.
const bodyLimit = 64 << 20

var errNATSProtocol = errors.New("not the NATS protocol")

// readFrame reads one message. Its slices are its own.
func readFrame(r *bufio.Reader) (*frame, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	f := &frame{line: bytes.TrimRight(line, "\r\n")}
	fields := bytes.Fields(f.line)
	if len(fields) == 0 {
		return f, nil
	}
	f.op = string(bytes.ToUpper(fields[0]))
	size, err := f.arguments(fields[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: %q", err, f.line[:min(len(f.line), 80)])
	}
	if size < 0 {
		return f, nil
	}
	f.body = make([]byte, size+2)
	if _, err := io.ReadFull(r, f.body); err != nil {
		return nil, err
	}
	f.body = f.body[:size]
	return f, nil
}

// arguments reads what the operation needs to be judged, and returns the size of the body; -1
// without one.
func (f *frame) arguments(a [][]byte) (size int, err error) {
	sizes := 1 // how many numbers end the line
	switch f.op {
	case "HPUB", "HMSG":
		sizes = 2
	case "PUB", "MSG":
	case "SUB":
		if len(a) < 2 {
			return -1, errNATSProtocol
		}
		f.subject, f.sid = string(a[0]), string(a[len(a)-1])
		return -1, nil
	case "UNSUB":
		if len(a) < 1 {
			return -1, errNATSProtocol
		}
		f.sid = string(a[0])
		return -1, nil
	default:
		return -1, nil
	}
	words, numbers := a[:max(0, len(a)-sizes)], a[max(0, len(a)-sizes):]
	if f.op == "MSG" || f.op == "HMSG" {
		if len(words) < 2 {
			return -1, errNATSProtocol
		}
		f.sid = string(words[1])
		words = append(words[:1:1], words[2:]...)
	}
	if len(words) < 1 || len(words) > 2 || len(numbers) != sizes {
		return -1, errNATSProtocol
	}
	f.subject = string(words[0])
	if len(words) == 2 {
		f.reply = string(words[1])
	}
	if sizes == 2 {
		if f.header, err = strconv.Atoi(string(numbers[0])); err != nil {
			return -1, errNATSProtocol
		}
	}
	size, err = strconv.Atoi(string(numbers[sizes-1]))
	if err != nil || size < 0 || size > bodyLimit || f.header > size {
		return -1, errNATSProtocol
	}
	return size, nil
}

// bytes returns the frame as it goes over the wire.
func (f *frame) bytes() []byte {
	out := make([]byte, 0, len(f.line)+len(f.body)+4)
	out = append(append(out, f.line...), "\r\n"...)
	if f.body != nil {
		out = append(append(out, f.body...), "\r\n"...)
	}
	return out
}

// headerValue returns a header of the body, without its spaces; "" when there is none.
func (f *frame) headerValue(name string) string {
	for line := range bytes.Lines(f.body[:f.header]) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && string(key) == name {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// message makes the frame that answers a subscription.
func message(subject, sid string, r Reply) *frame {
	f := &frame{subject: subject, sid: sid}
	if r.Header == "" {
		f.op, f.body = "MSG", append([]byte{}, r.Payload...)
		f.line = fmt.Appendf(nil, "MSG %s %s %d", subject, sid, len(f.body))
		return f
	}
	f.op, f.header = "HMSG", len(r.Header)
	f.body = append([]byte(r.Header), r.Payload...)
	f.line = fmt.Appendf(nil, "HMSG %s %s %d %d", subject, sid, f.header, len(f.body))
	return f
}
