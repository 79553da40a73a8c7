package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen/adopt"
)

// adoptFlags say what the columns of a table mean.
type adoptFlags struct {
	opts                       adopt.Options
	columns                    map[adopt.Attribute]*string
	source, kind, contentType  *string
	extensions                 *[]string
	rows                       *output.Choice
	order, ignore, pending, ok *[]string
}

const mappingFlags = "Mapping"

func addAdoptFlags(c *cobra.Command) *adoptFlags {
	f := &adoptFlags{columns: map[adopt.Attribute]*string{}, rows: output.NewChoice("undecided", string(adopt.RowsAll), string(adopt.RowsNone))}
	flags := pflag.NewFlagSet("mapping", pflag.ContinueOnError)
	flags.StringVar(&f.opts.Table, "table", "", "Table, SCHEMA.TABLE; the only one that looks like an outbox if not set")
	f.source = flags.String("source", "", "Source of every event, such as /orders")
	f.kind = flags.String("type", "", "Type of every event")
	f.contentType = flags.String("content-type", "", "Content type of every payload; application/json for json and jsonb if not set")
	for _, one := range []struct {
		attribute adopt.Attribute
		flag      string
	}{
		{adopt.ID, "id-column"}, {adopt.Source, "source-column"}, {adopt.Type, "type-column"}, {adopt.Subject, "subject-column"}, {adopt.Time, "time-column"},
		{adopt.PartitionKey, "key-column"}, {adopt.DataContentType, "content-type-column"}, {adopt.DataSchema, "dataschema-column"}, {adopt.Data, "payload-column"},
	} {
		f.columns[one.attribute] = flags.String(one.flag, "", "Column of the "+string(one.attribute)+", or COLUMN.FIELD of JSON; the usual names if not set")
	}
	flags.BoolVar(&f.opts.NoKey, "no-key", false, "Events have no key, and so no order")
	f.extensions = flags.StringArray("extension", nil, "Extension, NAME=COLUMN or NAME=COLUMN.FIELD; may be given several times")
	f.ignore = flags.StringArray("ignore-column", nil, "Column, or COLUMN.FIELD, that is not moved; may be given several times")
	f.order = flags.StringArray("order-column", nil, "Column that tells the order of the events of a key; the only one with a sequence if not set")
	flags.StringVar(&f.opts.Published, "published-column", "", "Column that is null, or false, until an event is published; published_at if not set")
	flags.StringVar(&f.opts.Status, "status-column", "", "Column whose words tell what was published; status if not set")
	f.pending = flags.StringArray("unpublished-status", nil, "Further word for what was not published; may be given several times")
	f.ok = flags.StringArray("published-status", nil, "Further word for what was published; may be given several times")
	flags.StringVar(&f.opts.Group, "consumer-group", "", "Consumer group of watermill that forwards; the only one if not set")
	flags.StringVar(&f.opts.TimeZone, "time-zone", "", "Zone of times that have none, such as UTC")
	flags.Var(f.rows, "rows", "Which rows to move, for a table that does not tell what was published")
	flags.VisitAll(func(flag *pflag.Flag) {
		c.Flags().AddFlag(flag)
		inGroup(c, mappingFlags, flag.Name)
	})
	complete(c, "rows", f.rows.Allowed())
	return f
}

// read turns the flags into options.
func (f *adoptFlags) read() (adopt.Options, error) {
	o := f.opts
	o.Columns, o.Constants, o.Extensions = map[adopt.Attribute]string{}, map[adopt.Attribute]string{}, map[string]string{}
	for a, column := range f.columns {
		if *column != "" {
			o.Columns[a] = *column
		}
	}
	for a, text := range map[adopt.Attribute]string{adopt.Source: *f.source, adopt.Type: *f.kind, adopt.DataContentType: *f.contentType} {
		if text != "" {
			o.Constants[a] = text
		}
	}
	for _, text := range *f.extensions {
		name, column, ok := strings.Cut(text, "=")
		if !ok || name == "" || column == "" {
			return o, exit.Errorf(exit.Usage, "--extension %q is not NAME=COLUMN", text).WithHint("such as --extension tenant=tenant_id")
		}
		if _, twice := o.Extensions[name]; twice {
			return o, exit.Errorf(exit.Usage, "--extension names %s twice", name)
		}
		o.Extensions[name] = column
	}
	o.Ignore, o.Order, o.Unpublished, o.Done = *f.ignore, *f.order, *f.pending, *f.ok
	if word := f.rows.Value(); word != "undecided" {
		o.Rows = adopt.Rows(word)
	}
	return o, nil
}
