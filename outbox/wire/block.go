package wire

import (
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
)

// Room on the stack for a usual event; more is taken from the heap.
const (
	textBytes = 768
	lineSlots = 16
)

// block collects the headers of one message. All text that has to be made is
// gathered in one buffer, which becomes one string in the end: at tens of
// thousands of events a second the allocations are what costs.
type block struct {
	text  []byte
	lines []line
}

// line is one header. An empty key or a value span says that the text is a
// piece of block.text, which may still move.
type line struct {
	key, value string
	keySpan    span
	valueSpan  span
}

type span struct{ from, to int }

// packet puts the message and the values of its headers into one allocation.
type packet struct {
	msg    nats.Msg
	values [lineSlots]string
}

// constant adds a value that is known to be a valid header value.
func (b *block) constant(key, value string) {
	b.lines = append(b.lines, line{key: key, value: value})
}

// attribute adds a text value, percent-encoded. The reason is "" if all is
// well.
func (b *block) attribute(key, value string) (reason string) {
	if plain(value) {
		b.lines = append(b.lines, line{key: key, value: value})
		return ""
	}
	if reason := checkText(value); reason != "" {
		return reason
	}
	from := len(b.text)
	b.text = appendPercent(b.text, value)
	b.lines = append(b.lines, line{key: key, valueSpan: span{from, len(b.text)}})
	return ""
}

func (b *block) time(key string, t time.Time) {
	from := len(b.text)
	b.text = appendTime(b.text, t)
	b.lines = append(b.lines, line{key: key, valueSpan: span{from, len(b.text)}})
}

func (b *block) msgID(source, id string) {
	from := len(b.text)
	b.text = appendMsgID(b.text, source, id)
	b.lines = append(b.lines, line{key: headerMsgID, valueSpan: span{from, len(b.text)}})
}

// extension adds one extension attribute; see [eachExtension].
func (b *block) extension(name []byte, v scalar) error {
	from := len(b.text)
	b.text = append(b.text, attributePrefix...)
	b.text = append(b.text, name...)
	key := span{from, len(b.text)}
	if v.kind == kindString {
		b.text = appendPercent(b.text, v.text)
	} else {
		b.text = append(b.text, v.text...)
	}
	b.lines = append(b.lines, line{keySpan: key, valueSpan: span{key.to, len(b.text)}})
	return nil
}

// message builds the result. The subject is what the text has from subjectFrom
// on.
func (b *block) message(subjectFrom int, body []byte) *nats.Msg {
	text := string(b.text)
	p := &packet{}
	values := p.values[:]
	if len(b.lines) > len(values) {
		values = make([]string, len(b.lines))
	}
	header := make(nats.Header, len(b.lines))
	for i := range b.lines {
		l := &b.lines[i]
		key, value := l.key, l.value
		if key == "" {
			key = text[l.keySpan.from:l.keySpan.to]
		}
		if l.valueSpan.to > 0 {
			value = text[l.valueSpan.from:l.valueSpan.to]
		}
		values[i] = value
		// The capacity is cut, so that appending to one header's values cannot
		// write into the next one's.
		header[key] = values[i : i+1 : i+1]
	}
	p.msg.Subject = text[subjectFrom:]
	p.msg.Header = header
	p.msg.Data = body
	return &p.msg
}

// validText is checkText for bytes.
func validText(s []byte) string {
	for _, c := range s {
		if c == 0 {
			return reasonNUL
		}
	}
	if !utf8.Valid(s) {
		return reasonNotUTF8
	}
	return ""
}
