package wire

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
)

// DecodeJSON reads an event in the CloudEvents JSON format. [Decode] uses it
// for structured messages; call it for messages that are known to be events
// although no header says so, as the CloudEvents SDK for Go and producers of
// the binding up to version 1.0.2 write them.
//
// Data of a JSON media type is the JSON text as it is written. Data without a
// datacontenttype is JSON by the format, and gets application/json explicitly.
// The error is an [*InvalidError].
func DecodeJSON(body []byte) (event.Event, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return event.Event{}, invalid("body", "is not valid JSON in UTF-8")
	}
	d := newDecoder()
	var data, base64Data []byte
	for m := (members{text: body, field: "body"}); ; {
		name, value, ok, err := m.next()
		if err != nil {
			return event.Event{}, err
		}
		if !ok {
			break
		}
		var reason string
		switch string(name) {
		case "data":
			reason = once(&data, value)
		case "data_base64":
			reason = once(&base64Data, value)
		default:
			reason = d.member(string(name), value)
		}
		if reason != "" {
			return event.Event{}, invalid(string(name), reason)
		}
	}
	if string(base64Data) == "null" {
		base64Data = nil
	}
	var err error
	switch {
	case data != nil && base64Data != nil:
		return event.Event{}, invalid("data", "is given as data and as data_base64")
	case data != nil:
		err = d.jsonData(data)
	case base64Data != nil:
		err = d.base64Data(base64Data)
	}
	if err != nil {
		return event.Event{}, err
	}
	return d.finish()
}

func once(dst *[]byte, value []byte) (reason string) {
	if *dst != nil {
		return reasonTwice
	}
	*dst = value
	return ""
}

// member sets the attribute that a JSON member stands for. Null is the same as
// no member, whatever the attribute.
func (d *decoder) member(name string, value []byte) (reason string) {
	if !validAttributeName(name) {
		return "is not an attribute name"
	}
	v, reason := parseScalar(value)
	if reason != "" {
		return reason
	}
	switch {
	case v.kind == kindNull:
		return ""
	case v.kind == kindString:
		return d.text(name, string(v.text))
	case isCoreName(name):
		return reasonNotString
	case v.kind == kindBoolean:
		return d.extension(name, v.text[0] == 't')
	default:
		n, err := strconv.ParseInt(string(v.text), 10, 32)
		if err != nil {
			return "is not an integer"
		}
		return d.extension(name, int32(n))
	}
}

// jsonData takes the member data. It is copied, for the body belongs to the
// client that received it.
func (d *decoder) jsonData(value []byte) error {
	if d.context.DataContentType == nil {
		implied := event.ApplicationJSON
		d.context.DataContentType = &implied
	}
	if isJSON(*d.context.DataContentType) {
		d.event.DataEncoded = append([]byte{}, value...)
		return nil
	}
	if value[0] != '"' {
		return invalid("data", reasonNotString)
	}
	text, ok := appendUnquoted([]byte{}, value[1:len(value)-1])
	if !ok {
		return invalid("data", reasonBadString)
	}
	d.event.DataEncoded = text
	return nil
}

func (d *decoder) base64Data(value []byte) error {
	if value[0] != '"' {
		return invalid("data_base64", reasonNotString)
	}
	text := value[1 : len(value)-1]
	if !plainJSON(text) { // base64 may be written with escaped slashes
		var ok bool
		if text, ok = appendUnquoted(nil, text); !ok {
			return invalid("data_base64", reasonBadString)
		}
	}
	data, err := base64.StdEncoding.AppendDecode([]byte{}, text)
	if err != nil {
		return invalid("data_base64", "is not valid base64")
	}
	d.event.DataEncoded = data
	return nil
}

func optional(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func optionalURI(value string) *types.URI {
	if value == "" {
		return nil
	}
	return &types.URI{URL: exactURL(value)}
}

func timestamp(t time.Time) *types.Timestamp {
	return &types.Timestamp{Time: t}
}

// exactURL returns a URL whose String method gives back the very same text:
// the source is half of an event's identity, so it must not be rewritten on
// the way. Text that net/url would spell differently, or cannot parse, is
// kept in Opaque.
func exactURL(text string) url.URL {
	u, err := url.Parse(text)
	if err != nil {
		return url.URL{Opaque: text}
	}
	if u.String() == text {
		return *u
	}
	// An absolute URL stays one; its scheme keeps its case.
	if n := len(u.Scheme); n > 0 && n+1 < len(text) {
		return url.URL{Scheme: text[:n], Opaque: text[n+1:]}
	}
	return url.URL{Opaque: text}
}
