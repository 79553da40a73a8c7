package outbox

import "time"

// Record is one event as the outbox stores it: the CloudEvents context
// attributes, the extensions and the payload, exactly as they will be put on
// the wire. Producers do not build Records; they stage [event.Event] values.
// The relay reads them, and package wire turns them into messages.
//
// A zero string or time means that the attribute is absent: CloudEvents
// forbids empty attribute values, so the two cannot be confused.
type Record struct {
	ID              string
	Source          string
	Type            string
	Subject         string
	Time            time.Time // UTC, to the microsecond
	DataContentType string
	DataSchema      string
	PartitionKey    string // the ordering key; travels as the partitionkey extension

	// Extensions is the stored JSON object of extension attributes: names
	// match [a-z0-9]{1,20}, values are strings, booleans or integers. It
	// never contains partitionkey. Nil or {} means none.
	Extensions []byte

	// Data is the payload, bit for bit as staged; nil means no payload.
	Data []byte
}
