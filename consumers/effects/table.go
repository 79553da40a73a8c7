package effects

// Table describes a service's table that holds the effects of one type of fact. The zero value of a field
// means its default.
type Table struct {
	// Group is the switch that pauses every writer of the table. Required.
	Group string `yaml:"group"`
	// Table is the name, or schema and name. Required.
	Table string `yaml:"table"`
	// ID is the column of the primary key. Defaults to "id".
	ID string `yaml:"id"`
	// Created is the column with the time at which a row was made; of equals the lowest id is the first.
	// Defaults to "created_at".
	Created string `yaml:"created"`
	// Status is a column that is kept in the ledger of repairs. Defaults to none.
	Status string `yaml:"status"`
	// Fact is the column that names the fact of a row. Defaults to "fact_id".
	Fact string `yaml:"fact"`

	// Type, Source are those of the facts. Required.
	Type   string `yaml:"type"`
	Source string `yaml:"source"`
	// Account is the column with the account of a fact. Required.
	Account string `yaml:"account"`
	// Key are the parts of a fact's key, in their order, as the mapper of the service has them. Required.
	Key []Part `yaml:"key"`
	// Attributes are columns by the attribute of a fact that each must equal, compared as text.
	Attributes map[string]string `yaml:"attributes"`
	// Only are columns that must have a value for a row to be an effect of this type. Defaults to every row.
	Only map[string]string `yaml:"only"`
	// Marker is the column that says "canonical" or "superseded_duplicate": with it a repair marks and
	// compensates, and removes nothing. Defaults to none.
	Marker string `yaml:"marker"`

	// Identical are further columns in which duplicates must be equal to be repaired.
	Identical []string `yaml:"identical"`
	// Untouched are columns that must have a value, or null, for a row to be repaired.
	Untouched map[string]*string `yaml:"untouched"`
	// References are columns of other tables that name a row without a foreign key; foreign keys are found.
	References []Reference `yaml:"references"`
	// Events are those that the service stages about a row, in the outbox of the same database.
	Events []Event `yaml:"events"`
	// Reversal says how a duplicate is compensated. Required with a Marker.
	Reversal *Reversal `yaml:"reversal"`
	// Index is the name of the unique index. Required.
	Index string `yaml:"index"`

	// Export names the columns of a provider's export: by "account", by the name of a part of the key, and by
	// that of an attribute. Each defaults to the name itself.
	Export map[string]string `yaml:"export"`
	// Told are the types of events that tell the fact, each with the members of its JSON, named as in Export;
	// a.b is a member of a member.
	Told map[string]map[string]string `yaml:"told"`
}

// Part is a part of a key: its name, and where a row has its value.
type Part struct {
	Name   string `yaml:"name"`
	Column string `yaml:"column"` // defaults to Name
	Field  string `yaml:"field"`  // of a column of JSON; defaults to the column itself
}

// Reference is a column of another table that names a row by its id.
type Reference struct {
	Table  string `yaml:"table"`
	Column string `yaml:"column"`
}

// Event is a type of event that tells of a row.
type Event struct {
	Type string `yaml:"type"`
	// Field is the member of its JSON that has the row's id. Defaults to the subject of the event.
	Field string `yaml:"field"`
}

// Reversal is the row that takes a duplicate back: a copy of it, but for what is said here.
type Reversal struct {
	// Type is that of its fact. Required.
	Type string `yaml:"type"`
	// Negate are columns with the opposite sign. Required.
	Negate []string `yaml:"negate"`
	// Copy are columns that it has of the duplicate.
	Copy []string `yaml:"copy"`
	// Set are columns with a constant: at least one of Only, so that a reversal is no effect of this type.
	Set map[string]string `yaml:"set"`
}

// The values of a [Table.Marker].
const (
	Canonical  = "canonical"
	Superseded = "superseded_duplicate"
)

// WithDefaults returns the description with every default filled in.
func (t Table) WithDefaults() Table {
	for _, f := range []struct {
		field *string
		value string
	}{{&t.ID, "id"}, {&t.Created, "created_at"}, {&t.Fact, "fact_id"}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	parts := make([]Part, len(t.Key))
	for i, p := range t.Key {
		if p.Column == "" {
			p.Column = p.Name
		}
		parts[i] = p
	}
	t.Key = parts
	return t
}
