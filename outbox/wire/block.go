package wire

import (
	"time"

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
func (b block) constant(key, value string) block {
	b.lines = append(b.lines, line{key: key, value: value})
	return b
}

// attribute adds a text value, percent-encoded. The reason is "" if all is
// well.
func (b block) attribute(key, value string) (_ block, reason string) {
	if plain(value) {
		return b.constant(key, value), ""
	}
	if reason := checkText(value); reason != "" {
		return b, reason
	}
	from := len(b.text)
	b.text = appendPercent(b.text, value)
	return b.made(key, from), ""
}

func (b block) time(key string, t time.Time) block {
	from := len(b.text)
	b.text = appendTime(b.text, t)
	return b.made(key, from)
}

func (b block) msgID(source, id string) block {
	from := len(b.text)
	b.text = appendMsgID(b.text, source, id)
	return b.made(headerMsgID, from)
}

// made adds the value that the text has from there on.
func (b block) made(key string, from int) block {
	b.lines = append(b.lines, line{key: key, valueSpan: span{from, len(b.text)}})
	return b
}

// extensions adds the extension attributes of a stored JSON object.
func (b block) extensions(object []byte) (block, error) {
	var room [extensionSlots]extension
	list, err := parseExtensions(room[:0], object)
	if err != nil {
		return b, err
	}
	for i := range list {
		x := &list[i]
		if x.value.kind == kindNull {
			continue
		}
		from := len(b.text)
		b.text = append(b.text, attributePrefix...)
		b.text = append(b.text, x.name...)
		key := span{from, len(b.text)}
		b.text = appendPercent(b.text, x.value.text)
		b.lines = append(b.lines, line{keySpan: key, valueSpan: span{key.to, len(b.text)}})
	}
	return b, nil
}

// message builds the result. The subject is what the text has from subjectFrom
// on.
func (b block) message(subjectFrom int, body []byte) *nats.Msg {
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
