package wire

import (
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
)

// Decode reads a message of any CloudEvents producer, in binary or structured
// mode; the package documentation says what it accepts. It works for
// [nats.Msg] and for JetStream messages alike: pass the headers and the body.
//
// The data of a binary message is not copied, and nil if the body is empty. All
// data is marked as binary (DataBase64): the SDK then writes it as data_base64
// when it makes JSON of the event, the only form that it does not compact or
// escape. Attributes that CloudEvents calls extensions, partitionkey
// among them, are extensions of the event. Source and dataschema keep their
// spelling, also where the SDK's URL type would write them in another way; such
// a URL has only its Opaque part set.
//
// Errors: [ErrNotCloudEvent] for a message that does not claim to be one, or
// an [*InvalidError].
func Decode(header nats.Header, data []byte) (event.Event, error) {
	contentType, twice := findContentType(header)
	switch format := classify(contentType); {
	case format != formatNone && twice:
		return event.Event{}, invalid("content-type", reasonTwice)
	case format == formatJSON:
		return DecodeJSON(data)
	case format == formatOther:
		return event.Event{}, invalid("content-type", "is a CloudEvents format that is not supported")
	}

	d := newDecoder()
	found := false
	for key, values := range header {
		name, ok := attributeName(key)
		if !ok {
			continue
		}
		found = true
		if len(values) != 1 {
			return event.Event{}, invalid(name, reasonTwice)
		}
		value, reason := decodeValue(values[0])
		if reason != "" {
			return event.Event{}, invalid(name, reason)
		}
		if reason := d.text(name, value); reason != "" {
			return event.Event{}, invalid(name, reason)
		}
	}
	if !found {
		return event.Event{}, ErrNotCloudEvent
	}
	if d.context.DataContentType == nil && contentType != "" {
		reason := checkText(contentType)
		if twice {
			reason = reasonTwice
		}
		if reason != "" {
			return event.Event{}, invalid("content-type", reason)
		}
		d.context.DataContentType = optional(contentType)
	}
	if len(data) > 0 {
		d.event.DataEncoded = data
	}
	return d.finish()
}

// attributeName returns the attribute of a header ce-*, in lower case. NATS
// tells header names apart by case, the binding does not.
func attributeName(key string) (string, bool) {
	if len(key) < len(attributePrefix) || !strings.EqualFold(key[:len(attributePrefix)], attributePrefix) {
		return "", false
	}
	return strings.ToLower(key[len(attributePrefix):]), true
}

// findContentType returns the value of the header Content-Type, in any case,
// and whether there is more than one. Of several, one that speaks of
// CloudEvents is returned.
func findContentType(header nats.Header) (value string, twice bool) {
	found := false
	for key, values := range header {
		if !strings.EqualFold(key, headerContentType) {
			continue
		}
		for _, v := range values {
			twice, found = found, true
			if classify(value) == formatNone {
				value = strings.Trim(v, " \t")
			}
		}
	}
	return value, twice
}

type format int

const (
	formatNone  format = iota // not a structured event
	formatJSON                // an event as JSON
	formatOther               // an event, or a batch, in some other format
)

// classify tells the modes apart (NATS binding, section 3).
func classify(contentType string) format {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.Trim(mediaType, " \t")
	n := len(mediaTypeCloudEvents)
	if len(mediaType) < n || !strings.EqualFold(mediaType[:n], mediaTypeCloudEvents) {
		return formatNone
	}
	switch rest := mediaType[n:]; {
	case rest == "", strings.EqualFold(rest, "+json"):
		return formatJSON
	case rest[0] == '+', rest[0] == '-':
		return formatOther
	default:
		return formatNone
	}
}

// decoder gathers the attributes of one event.
type decoder struct {
	event       event.Event
	context     *event.EventContextV1
	specVersion string
	seen        uint16 // core attributes that were given
}

func newDecoder() *decoder {
	d := &decoder{context: &event.EventContextV1{}}
	d.event.Context = d.context
	return d
}

// text sets an attribute from its canonical string. An optional attribute with
// an empty value is absent. The reason is "" if all is well.
func (d *decoder) text(name, value string) (reason string) {
	bit := uint16(0)
	switch name {
	case "specversion":
		bit, d.specVersion = 1<<0, value
	case "id":
		bit, d.context.ID = 1<<1, value
	case "source":
		bit = 1 << 2
		if value != "" {
			d.context.Source.URL = exactURL(value)
		}
	case "type":
		bit, d.context.Type = 1<<3, value
	case "subject":
		bit, d.context.Subject = 1<<4, optional(value)
	case "time":
		bit, reason = 1<<5, d.time(value)
	case "datacontenttype":
		bit, d.context.DataContentType = 1<<6, optional(value)
	case "dataschema":
		bit, d.context.DataSchema = 1<<7, optionalURI(value)
	default:
		return d.extension(name, value)
	}
	if d.seen&bit != 0 {
		return reasonTwice
	}
	d.seen |= bit
	return reason
}

func (d *decoder) time(value string) (reason string) {
	if value == "" {
		return ""
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return "is not a time as of RFC 3339"
	}
	d.context.Time = timestamp(t)
	return ""
}

// extension sets an extension attribute to a string, a bool or an int32, which
// are the types that the SDK has for them.
func (d *decoder) extension(name string, value any) (reason string) {
	if !validAttributeName(name) || isCoreName(name) {
		return "is not an attribute name"
	}
	if d.context.Extensions == nil {
		d.context.Extensions = make(map[string]any)
	}
	if _, ok := d.context.Extensions[name]; ok {
		return reasonTwice
	}
	d.context.Extensions[name] = value
	return ""
}

func (d *decoder) finish() (event.Event, error) {
	switch {
	case d.specVersion == "":
		return event.Event{}, invalid("specversion", reasonMissing)
	case d.specVersion != specVersion:
		return event.Event{}, invalid("specversion", "is not "+specVersion)
	case d.context.ID == "":
		return event.Event{}, invalid("id", reasonMissing)
	case d.context.Source.String() == "":
		return event.Event{}, invalid("source", reasonMissing)
	case d.context.Type == "":
		return event.Event{}, invalid("type", reasonMissing)
	}
	d.event.DataBase64 = d.event.DataEncoded != nil
	return d.event, nil
}
