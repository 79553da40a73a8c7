package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Line says where one part of an event comes from.
type Line struct {
	To   string // attribute, or "extension NAME"
	From string // for a person
	Note string // what a reviewer should know; "" for nothing
}

// mapping turns a row o of the old table into an event.
type mapping struct {
	lines   []Line
	columns []string // of event_outbox, as SQL names them
	values  []string // SQL over the row o, one for each column
	key     string   // SQL of the key
	used    []string // columns of the table that go into an event, and fields of columns
}

// isText reports whether the text of a value is all there is to it.
func (c *column) isText() bool {
	return c.IsEnum || slices.Contains([]string{"text", "character varying", "uuid", "smallint", "integer", "bigint", "numeric", "boolean"}, c.Type)
}

func (c *column) isJSON() bool { return c.Type == "json" || c.Type == "jsonb" }

// mapping builds what the options and the usual names say.
func (l *look) mapping() mapping {
	var m mapping
	for _, a := range attributes {
		column, kind := a.target()
		line, value := l.attribute(a, &m)
		if value == "" {
			value = "NULL"
		}
		if a == PartitionKey {
			m.key = value
		}
		m.columns = append(m.columns, column)
		m.values = append(m.values, strings.TrimSuffix(value, "::"+kind)+"::"+kind)
		m.lines = append(m.lines, line)
	}
	m.columns, m.values = append(m.columns, "extensions"), append(m.values, l.extensions(&m))
	if l.shape == Copy && l.table.has("hold_operation_id", "hold_generation") {
		m.columns = append(m.columns, "hold_operation_id", "hold_generation")
		m.values = append(m.values, `o."hold_operation_id"::uuid`, `o."hold_generation"::integer`)
		m.used = append(m.used, "hold_operation_id", "hold_generation")
		m.lines = append(m.lines, Line{To: "hold operation and generation", From: "hold_operation_id, hold_generation", Note: "of released events, kept as provenance"})
	}
	return m
}

// attribute returns where an attribute comes from, and the SQL of its value; "" for none.
func (l *look) attribute(a Attribute, m *mapping) (Line, string) {
	if text, ok := l.opts.Constants[a]; ok {
		return Line{To: string(a), From: literal(text), Note: "the same for every event"}, literal(text)
	}
	spec := l.opts.Columns[a]
	if spec == "" && !(a == PartitionKey && l.opts.NoKey) {
		spec = l.usual(a, m)
	}
	if spec == "" {
		return l.absent(a)
	}
	c, field := l.resolve(spec, a.flag())
	if c == nil {
		return Line{To: string(a)}, ""
	}
	m.used = append(m.used, spec) // a field does not speak for the rest of its column
	line := Line{To: string(a), From: spec}
	switch {
	case a == Data && field == "":
		return l.data(c, line)
	case a == Time && field == "":
		return l.time(c, line)
	case a == Data || a == Time:
		l.reasons.add("name a whole column", "%s can't be a field of a JSON column", a)
		return line, ""
	case field != "":
		return line, fieldOf(c, field)
	case !c.isText():
		l.reasons.add("name another with "+a.flag(), "column %s has the type %s, which is no %s", c.Name, c.Type, a)
		return line, ""
	}
	return line, "o." + ident(c.Name) + "::text"
}

func fieldOf(c *column, field string) string {
	return "(o." + ident(c.Name) + "::jsonb ->> " + literal(field) + ")"
}

// usual is the column that usually holds an attribute, if nothing else uses it.
func (l *look) usual(a Attribute, m *mapping) string {
	if l.shape == Watermill && (a == Type || a == PartitionKey) {
		return "" // it has neither
	}
	if l.shape == Debezium && a == PartitionKey {
		return "aggregateid"
	}
	for _, name := range usual[a] {
		c := l.table.column(name)
		if c == nil || slices.Contains(m.used, name) || slices.Contains(l.opts.Ignore, name) || l.isNamed(name) {
			continue
		}
		if a == Time && !strings.HasPrefix(c.Type, "timestamp") {
			continue
		}
		return name
	}
	return ""
}

// isNamed reports whether an option uses the column for something else.
func (l *look) isNamed(name string) bool {
	named := append(slices.Collect(maps.Values(l.opts.Columns)), l.opts.Published, l.opts.Status)
	return slices.Contains(named, name)
}

// absent judges an attribute without a column.
func (l *look) absent(a Attribute) (Line, string) {
	line := Line{To: string(a), From: "-"}
	switch a {
	case ID, Data:
		l.reasons.add("name it with "+a.flag(), "no column holds the %s of an event", a)
	case Type:
		l.reasons.add("name a column with --type-column, such as metadata.type for a field of a JSON column, or give all events one with --type", "no column holds the type of an event")
	case Source:
		l.reasons.add("give all events one with --source, such as /orders, or name a column with --source-column", "no column holds the source of an event")
	case DataContentType:
		if c := l.payload(); c != nil && c.isJSON() {
			line.From, line.Note = "'application/json'", "because of the type of the payload"
			return line, "'application/json'"
		}
		l.reasons.add("say it with --content-type, such as application/json", "nothing tells the content type of the payload")
	case PartitionKey:
		if !l.opts.NoKey {
			l.reasons.add("name it with --key-column, or say --no-key for events without order", "no column holds the key by which events are in order")
		}
		line.Note = "no event is in order with another"
	}
	return line, ""
}

// payload is the column of the data; nil if it is not known.
func (l *look) payload() *column {
	spec := l.opts.Columns[Data]
	if spec == "" {
		spec = l.usual(Data, &mapping{})
	}
	return l.table.column(spec)
}

// resolve finds the column that an option names, and the field in it.
func (l *look) resolve(spec, flag string) (*column, string) {
	name, field, _ := strings.Cut(spec, ".")
	c := l.table.column(name)
	switch {
	case c == nil:
		l.reasons.add("the columns are "+strings.Join(l.table.names(), ", "), "%s: there is no column %s", flag, name)
	case field != "" && !c.isJSON():
		l.reasons.add("name the column alone", "%s: column %s has the type %s, which has no fields", flag, name, c.Type)
		c = nil
	}
	return c, field
}

// data keeps every byte.
func (l *look) data(c *column, line Line) (Line, string) {
	o := "o." + ident(c.Name)
	switch c.Type {
	case "bytea":
		line.Note = "the bytes as they are"
		return line, o
	case "text", "character varying":
		line.Note = "the UTF-8 bytes of the text"
	case "json":
		line.Note = "the UTF-8 bytes of the text, as it was inserted"
	case "jsonb":
		line.Note = "the UTF-8 bytes of the text that the server writes; spaces, order and repeated names of what was inserted are gone already"
	default:
		l.reasons.add("name another with --payload-column", "column %s has the type %s, which is no payload", c.Name, c.Type)
		return line, ""
	}
	return line, "pg_catalog.convert_to(" + o + "::text, 'UTF8')"
}

func (l *look) time(c *column, line Line) (Line, string) {
	o := "o." + ident(c.Name)
	switch {
	case c.Type == "timestamp with time zone":
		return line, o
	case c.Type != "timestamp without time zone":
		l.reasons.add("name another with --time-column", "column %s has the type %s, which is no time", c.Name, c.Type)
	case l.opts.TimeZone == "":
		l.reasons.add("say which with --time-zone, such as UTC, or leave the time out with --ignore-column "+c.Name, "column %s has times without a zone", c.Name)
	default:
		line.Note = "in the zone " + l.opts.TimeZone
		return line, "(" + o + " AT TIME ZONE " + literal(l.opts.TimeZone) + ")"
	}
	return line, ""
}

// extensions returns the SQL of all of them.
func (l *look) extensions(m *mapping) string {
	from := map[string]string{} // by name of the extension
	for _, c := range l.table.columns {
		if name, ok := usualExtensions[c.Name]; ok && !slices.Contains(m.used, c.Name) && !l.isNamed(c.Name) && !slices.Contains(l.opts.Ignore, c.Name) {
			from[name] = c.Name
		}
	}
	maps.Copy(from, l.opts.Extensions)
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(from)) {
		c, field := l.resolve(from[name], "--extension "+name)
		if c == nil {
			continue
		}
		value := "o." + ident(c.Name) + "::text"
		if field != "" {
			value = fieldOf(c, field)
		} else if !c.isText() {
			l.reasons.add("name another, or a field of it", "--extension %s: column %s has the type %s, which is no text", name, c.Name, c.Type)
		}
		m.used = append(m.used, from[name])
		m.lines = append(m.lines, Line{To: "extension " + name, From: from[name]})
		pairs = append(pairs, literal(name)+", "+value)
	}
	value := "'{}'::jsonb"
	if len(pairs) > 0 {
		value = "pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(" + strings.Join(pairs, ", ") + "))"
	}
	for _, name := range usualObjects {
		if c := l.table.column(name); c != nil && c.isJSON() && !slices.Contains(l.opts.Ignore, name) {
			value = l.object(c, m) + "\n         || " + value
		}
	}
	return value
}

// object makes extensions of the fields of a JSON column, but of those that are used otherwise.
func (l *look) object(c *column, m *mapping) string {
	var taken []string
	for _, spec := range slices.Concat(m.used, l.opts.Ignore) {
		if name, field, ok := strings.Cut(spec, "."); ok && name == c.Name {
			taken = append(taken, field)
		}
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	m.used = append(m.used, c.Name)
	line := Line{To: "extensions", From: "the fields of " + c.Name, Note: "each under its own name"}
	if len(taken) > 0 {
		line.Note = fmt.Sprintf("each under its own name, without %s", strings.Join(taken, ", "))
	}
	m.lines = append(m.lines, line)
	l.objects = append(l.objects, c.Name)
	return "coalesce((SELECT pg_catalog.jsonb_object_agg(x.key, x.value) FROM pg_catalog.jsonb_each(o." + ident(c.Name) + "::jsonb) AS x" +
		" WHERE pg_catalog.jsonb_typeof(x.value) <> 'null' AND x.key <> ALL (" + array(taken) + ")), '{}'::jsonb)"
}
