package wire

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Header names, exactly as they are written. The server and nats.go compare
// header names with case, so none of them may be canonicalised.
const (
	headerMsgID          = "Nats-Msg-Id"
	headerExpectedStream = "Nats-Expected-Stream"
	headerContentType    = "Content-Type"

	attributePrefix = "ce-"

	headerSpecVersion     = "ce-specversion"
	headerID              = "ce-id"
	headerSource          = "ce-source"
	headerType            = "ce-type"
	headerSubject         = "ce-subject"
	headerTime            = "ce-time"
	headerDataContentType = "ce-datacontenttype"
	headerDataSchema      = "ce-dataschema"
	headerPartitionKey    = "ce-partitionkey"

	specVersion          = "1.0"
	mediaTypeCloudEvents = "application/cloudevents"
	contentTypeEventJSON = mediaTypeCloudEvents + "+json"
)

// Encoder turns stored events into messages. It is immutable: any number of
// goroutines may use one.
type Encoder struct {
	subject []part
	stream  string
	mode    Mode
}

// NewEncoder checks cfg and prepares the subject template. The error is a
// [*ConfigError].
func NewEncoder(cfg Config) (*Encoder, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	parts, err := compileSubject(cfg.Subject, cfg.Prefix)
	if err != nil {
		return nil, err
	}
	return &Encoder{subject: parts, stream: cfg.Stream, mode: cfg.Mode}, nil
}

// Subjects returns the narrowest subject filter that matches every message of
// this encoder, such as "events.>": what a stream must listen to.
func (e *Encoder) Subjects() string {
	return wildcard(e.subject)
}

// Encode makes the message for rec: a new one at each call, because a message
// that was handed to a client must not be used again. In binary mode the body
// is rec.Data itself, not a copy, so rec.Data must not change while the
// message is in use.
//
// The error is an [*InvalidError]: the event itself is wrong, and it will be
// the next time too. The database refuses such rows, so this is the second
// lock on the same door. Whether the server accepts the size is not checked
// here; see [HeaderSize].
func (e *Encoder) Encode(rec *outbox.Record) (*nats.Msg, error) {
	if err := checkRecord(rec); err != nil {
		return nil, err
	}
	if e.mode == Structured {
		return e.structured(rec)
	}
	return e.binary(rec)
}

func (e *Encoder) binary(rec *outbox.Record) (*nats.Msg, error) {
	var text [textBytes]byte
	var lines [lineSlots]line
	b := block{text: text[:0], lines: lines[:0]}

	b = b.constant(headerSpecVersion, specVersion)
	attributes := [...]struct{ header, value string }{
		{headerID, rec.ID},
		{headerSource, rec.Source},
		{headerType, rec.Type},
		{headerSubject, rec.Subject},
		{headerDataContentType, rec.DataContentType},
		{headerDataSchema, rec.DataSchema},
		{headerPartitionKey, rec.PartitionKey},
	}
	for i := range attributes {
		a := &attributes[i]
		if a.value == "" {
			continue
		}
		var reason string
		if b, reason = b.attribute(a.header, a.value); reason != "" {
			return nil, invalid(a.header[len(attributePrefix):], reason)
		}
	}
	if !rec.Time.IsZero() {
		b = b.time(headerTime, rec.Time)
	}
	if hasExtensions(rec.Extensions) {
		var err error
		if b, err = b.extensions(rec.Extensions); err != nil {
			return nil, err
		}
	}
	return e.finish(b, rec, rec.Data)
}

func (e *Encoder) structured(rec *outbox.Record) (*nats.Msg, error) {
	body, err := appendEventJSON(make([]byte, 0, jsonSize(rec)), rec)
	if err != nil {
		return nil, err
	}
	var text [textBytes]byte
	var lines [lineSlots]line
	b := block{text: text[:0], lines: lines[:0]}
	return e.finish(b.constant(headerContentType, contentTypeEventJSON), rec, body)
}

// finish adds what both modes have in common.
func (e *Encoder) finish(b block, rec *outbox.Record, body []byte) (*nats.Msg, error) {
	if e.stream != "" {
		b = b.constant(headerExpectedStream, e.stream)
	}
	b = b.msgID(rec.Source, rec.ID)
	start := len(b.text)
	text, err := e.appendSubject(b.text, rec)
	if err != nil {
		return nil, err
	}
	b.text = text
	return b.message(start, body), nil
}

// checkRecord applies the rules that do not depend on the mode and that the
// writers of values do not see.
func checkRecord(rec *outbox.Record) error {
	if rec == nil {
		return invalid("record", reasonMissing)
	}
	if rec.ID == "" {
		return invalid("id", reasonMissing)
	}
	if rec.Source == "" {
		return invalid("source", reasonMissing)
	}
	if reason := checkTokens(rec.Type); reason != "" {
		return invalid("type", reason)
	}
	if y := rec.Time.UTC().Year(); y < 0 || y > 9999 {
		return invalid("time", "has a year that RFC 3339 cannot express")
	}
	return nil
}

// appendTime writes RFC 3339 in UTC without trailing zeros.
func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, time.RFC3339Nano)
}
