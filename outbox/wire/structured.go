package wire

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/outbox"
)

// appendEventJSON writes the event in the CloudEvents JSON format. It is
// written by hand because encoding/json would compact and escape the data,
// which has to arrive bit for bit.
func appendEventJSON(dst []byte, rec *outbox.Record) ([]byte, error) {
	dst = append(dst, `{"specversion":"`+specVersion+`"`...)
	attributes := [...]struct{ name, value string }{
		{"id", rec.ID},
		{"source", rec.Source},
		{"type", rec.Type},
		{"subject", rec.Subject},
		{"datacontenttype", rec.DataContentType},
		{"dataschema", rec.DataSchema},
		{"partitionkey", rec.PartitionKey},
	}
	for i := range attributes {
		a := &attributes[i]
		if a.value == "" {
			continue
		}
		if reason := checkText(a.value); reason != "" {
			return nil, invalid(a.name, reason)
		}
		dst = appendQuoted(appendName(dst, a.name), a.value)
	}
	if !rec.Time.IsZero() {
		dst = append(appendName(dst, "time"), '"')
		dst = append(appendTime(dst, rec.Time), '"')
	}
	if hasExtensions(rec.Extensions) {
		var err error
		if dst, err = appendExtensions(dst, rec.Extensions); err != nil {
			return nil, err
		}
	}
	return append(appendData(dst, rec), '}'), nil
}

func appendExtensions(dst, object []byte) ([]byte, error) {
	var room [extensionSlots]extension
	list, err := parseExtensions(room[:0], object)
	if err != nil {
		return nil, err
	}
	for i := range list {
		switch x := &list[i]; x.value.kind {
		case kindNull:
		case kindString:
			dst = appendQuoted(appendName(dst, x.name), x.value.text)
		default:
			dst = append(appendName(dst, x.name), x.value.text...)
		}
	}
	return dst, nil
}

func appendData(dst []byte, rec *outbox.Record) []byte {
	switch {
	case rec.Data == nil:
		return dst
	case embeddable(rec.DataContentType, rec.Data):
		return append(appendName(dst, "data"), rec.Data...)
	default:
		dst = append(appendName(dst, "data_base64"), '"')
		return append(base64.StdEncoding.AppendEncode(dst, rec.Data), '"')
	}
}

func appendName[T string | []byte](dst []byte, name T) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// embeddable reports whether data can stand in a JSON document as it is and
// be cut out again unchanged. White space around a value would be lost.
func embeddable(mediaType string, data []byte) bool {
	return len(data) > 0 && isJSON(mediaType) &&
		!isSpace(data[0]) && !isSpace(data[len(data)-1]) &&
		utf8.Valid(data) && json.Valid(data)
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

// jsonSize is a good guess of the size of an event as JSON; too small a guess
// costs a copy.
func jsonSize(rec *outbox.Record) int {
	size := 256 + len(rec.ID) + len(rec.Source) + len(rec.Type) + len(rec.Subject) +
		len(rec.DataContentType) + len(rec.DataSchema) + len(rec.PartitionKey) + len(rec.Extensions)
	if isJSON(rec.DataContentType) {
		return size + len(rec.Data)
	}
	return size + base64.StdEncoding.EncodedLen(len(rec.Data))
}
