package outbox

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// columns are events as parallel arrays, in the order of the parameters of
// publish_events. A column of pointers that is nil is absent for all events.
type columns struct {
	ids, sources, types         []string
	subjects, times             []*string
	contentTypes, schemas, keys []*string
	extensions                  []*string
	data                        [][]byte // a nil element is an event without payload
	hasData                     bool
}

func columnsOf(records []Record) columns {
	n := len(records)
	c := columns{ids: make([]string, n), sources: make([]string, n), types: make([]string, n), data: make([][]byte, n)}
	for i := range records {
		r := &records[i]
		c.ids[i], c.sources[i], c.types[i], c.data[i] = r.ID, r.Source, r.Type, r.Data
		c.hasData = c.hasData || r.Data != nil
		set(&c.subjects, n, i, r.Subject)
		set(&c.contentTypes, n, i, r.DataContentType)
		set(&c.schemas, n, i, r.DataSchema)
		set(&c.keys, n, i, r.PartitionKey)
		set(&c.extensions, n, i, string(r.Extensions))
		if !r.Time.IsZero() {
			set(&c.times, n, i, r.Time.Format(time.RFC3339Nano))
		}
	}
	return c
}

// set puts a value that is present into a column, which it makes when it is the first.
func set(column *[]*string, n, i int, value string) {
	if value == "" {
		return
	}
	if *column == nil {
		*column = make([]*string, n)
	}
	(*column)[i] = &value
}

// arrays are the arguments for pgx, which sends native arrays.
func (c columns) arrays() []any {
	args := make([]any, 0, 12)
	args = append(args, c.ids, c.sources, c.types)
	for _, column := range c.optional() {
		if column == nil {
			args = append(args, nil)
			continue
		}
		args = append(args, column)
	}
	if !c.hasData {
		return append(args, nil)
	}
	return append(args, c.data)
}

func (c columns) optional() [][]*string {
	return [][]*string{c.subjects, c.times, c.contentTypes, c.schemas, c.keys, c.extensions}
}

// typeMaps are for encoding only. A map is not safe for concurrent use and costs more
// than the arrays of a call.
var typeMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// literals are the arguments for database/sql: the same arrays as text.
func (c columns) literals() ([]any, error) {
	m, _ := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(m)
	args := c.arrays()
	for i, arg := range args {
		if arg == nil {
			continue
		}
		oid := uint32(pgtype.TextArrayOID)
		if _, isData := arg.([][]byte); isData {
			oid = pgtype.ByteaArrayOID
		}
		text, err := m.Encode(oid, pgtype.TextFormatCode, arg, nil)
		if err != nil {
			return nil, err
		}
		args[i] = string(text)
	}
	return args, nil
}
