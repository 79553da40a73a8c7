package adopt

// Attribute is a part of an event: a CloudEvents attribute, or its data.
type Attribute string

// The attributes.
const (
	ID              Attribute = "id"
	Source          Attribute = "source"
	Type            Attribute = "type"
	Subject         Attribute = "subject"
	Time            Attribute = "time"
	DataContentType Attribute = "datacontenttype"
	DataSchema      Attribute = "dataschema"
	PartitionKey    Attribute = "partitionkey"
	Data            Attribute = "data"
)

// attributes are all of them, in the order in which they are told.
var attributes = []Attribute{ID, Source, Type, Subject, Time, PartitionKey, DataContentType, DataSchema, Data}

// target is the column of event_outbox, and its type.
func (a Attribute) target() (column, kind string) {
	switch a {
	case ID:
		return "event_id", "text"
	case PartitionKey:
		return "partition_key", "text"
	case Time:
		return `"time"`, "timestamptz"
	case Data:
		return "data", "bytea"
	default:
		return string(a), "text"
	}
}

// flag is the flag of the command that names its column.
func (a Attribute) flag() string {
	switch a {
	case PartitionKey:
		return "--key-column"
	case Data:
		return "--payload-column"
	case DataContentType:
		return "--content-type-column"
	default:
		return "--" + string(a) + "-column"
	}
}

// usual are the names under which services keep an attribute, the most telling first.
var usual = map[Attribute][]string{
	ID:              {"event_id", "message_id", "uuid", "id"},
	Source:          {"source"},
	Type:            {"event_type", "type", "event_name", "topic"},
	Subject:         {"subject"},
	Time:            {"occurred_at", "time", "created_at", "timestamp"},
	DataContentType: {"datacontenttype", "content_type"},
	DataSchema:      {"dataschema"},
	PartitionKey:    {"partition_key", "aggregate_id", "aggregateid", "entity_id", "message_key", "key"},
	Data:            {"payload", "data", "event_data", "body"},
}

// usualExtensions are columns that become an extension, by their names.
var usualExtensions = map[string]string{
	"aggregatetype": "aggregatetype", "aggregate_type": "aggregatetype", "traceparent": "traceparent", "tracestate": "tracestate",
	"correlation_id": "correlationid", "causation_id": "causationid",
}

// usualObjects are JSON columns whose fields become extensions.
var usualObjects = []string{"extensions", "headers", "metadata"}

// usualRest are columns that belong to the old relay, and say nothing about the event.
var usualRest = []string{"attempts", "retry_count", "last_error", "updated_at", "locked_at", "locked_by", "locked_until"}
