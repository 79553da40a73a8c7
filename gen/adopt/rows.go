package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// shown is how many ids of rows an error lists.
const shown = 10

// rows counts, and refuses rows that can't be moved.
func (l *look) rows(ctx context.Context, a *Adoption) error {
	if a.marker.require != "" {
		var ok bool
		if err := l.tx.QueryRow(ctx, "SELECT "+a.marker.require).Scan(&ok); err != nil {
			return err
		}
		if !ok {
			l.reasons.add("", "%s", a.marker.requires)
			return nil
		}
	}
	if err := l.judge(ctx, a); err != nil || len(l.reasons) > 0 {
		return err
	}
	query := "SELECT count(*), count(*) FILTER (WHERE " + a.marker.where + ") FROM " + l.table.quoted() + " AS o"
	if err := l.tx.QueryRow(ctx, query).Scan(&a.Rows, &a.Move); err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if err := l.fields(ctx, a); err != nil || len(l.reasons) > 0 {
		return err // the extensions can't be written down
	}
	for _, step := range []func(context.Context, *Adoption) error{l.violations, l.doubles, l.ties} {
		if err := step(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// judge refuses rows of which it is not known whether they were published.
func (l *look) judge(ctx context.Context, a *Adoption) error {
	if l.status != "" {
		if err := l.judgeStatus(ctx, a); err != nil || len(l.reasons) > 0 {
			return err
		}
	}
	ids, n, err := l.list(ctx, a.marker.unknown, "")
	if err != nil || n == 0 {
		return err
	}
	switch {
	case a.marker.unknown == "true":
		l.reasons.add("--rows all if none of them was published, or --rows none if all were, or will be by whoever publishes them today",
			"it does not tell which of its %d rows were published", n)
	case l.shape == Watermill:
		l.reasons.add("let the writers use the functions of the outbox, and the forwarder empty the table; then there is nothing to adopt", "%d rows are envelopes of the forwarder of watermill, which are not taken apart: %s", n, ids)
	default:
		l.reasons.add("release or cancel them first", "%d rows are held: %s", n, ids)
	}
	return nil
}

// judgeStatus refuses unknown words, and finds the one that marks what was moved.
func (l *look) judgeStatus(ctx context.Context, a *Adoption) error {
	o := "o." + ident(l.status)
	rows, err := l.tx.Query(ctx, "SELECT coalesce("+o+"::text, ''), count(*), "+o+" IS NULL FROM "+l.table.quoted()+" AS o GROUP BY 1, 3 ORDER BY 1")
	if err != nil {
		return fmt.Errorf("read statuses: %w", err)
	}
	var word, mark string
	var n int64
	var null bool
	_, err = pgx.ForEachRow(rows, []any{&word, &n, &null}, func() error {
		known := slices.Contains(lower(l.words), strings.ToLower(word)) && !null
		switch {
		case null:
			l.reasons.add("set it", "%s is null in %d rows", l.status, n)
		case !known && slices.Contains(flyingWords, strings.ToLower(word)):
			l.reasons.add(fmt.Sprintf("stop the old relay when it is at rest, or say --unpublished-status %s to publish them once more", word),
				"%s is %q in %d rows: nobody knows whether they were published", l.status, word, n)
		case !known:
			l.reasons.add(fmt.Sprintf("say --unpublished-status %s, or --published-status %s", word, word), "%s is %q in %d rows, a word that is not known", l.status, word, n)
		case mark == "" && l.isDone(word):
			mark = word
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read statuses: %w", err)
	}
	if mark == "" && len(l.opts.Done) > 0 {
		mark = l.opts.Done[0]
	}
	if mark == "" {
		l.reasons.add("say the word with --published-status", "no row tells with what %s the old relay marks what it published", l.status)
	}
	a.marker.set = ident(l.status) + " = " + literal(mark)
	return nil
}

func (l *look) isDone(word string) bool {
	words := slices.Concat(lower(l.opts.Done), doneWords)
	return slices.Contains(words, strings.ToLower(word)) && !slices.Contains(lower(l.opts.Unpublished), strings.ToLower(word))
}

// fields refuses JSON columns and names of fields that can't become extensions.
func (l *look) fields(ctx context.Context, a *Adoption) error {
	for _, name := range l.objects {
		o := "o." + ident(name) + "::jsonb"
		ids, n, err := l.list(ctx, "jsonb_typeof("+o+") <> 'object'", a.marker.where)
		if err != nil {
			return err
		}
		if n > 0 {
			l.reasons.add("--ignore-column "+name, "%s is no JSON object in %d rows: %s", name, n, ids)
			continue
		}
		rows, err := l.tx.Query(ctx, "SELECT DISTINCT x.key FROM "+l.table.quoted()+" AS o, jsonb_object_keys("+o+") AS x(key) WHERE ("+a.marker.where+") AND x.key !~ '^[a-z0-9]{1,20}$' ORDER BY 1")
		if err != nil {
			return fmt.Errorf("read the fields of %s: %w", name, err)
		}
		keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("read the fields of %s: %w", name, err)
		}
		for _, key := range keys {
			if spec := name + "." + key; !slices.Contains(a.mapping.used, spec) && !slices.Contains(l.opts.Ignore, spec) {
				l.reasons.add(fmt.Sprintf("--extension %s=%s, or --ignore-column %s", extensionName(key), spec, spec), "field %s of %s is no name of an extension", key, name)
			}
		}
	}
	return nil
}

// violations lists rows that the canonical table would not take.
func (l *look) violations(ctx context.Context, a *Adoption) error {
	all, err := checks(l.opts.Params)
	if err != nil {
		return err
	}
	names := []string{"CASE WHEN e.event_id IS NULL THEN 'id is null' END", "CASE WHEN e.source IS NULL THEN 'source is null' END", "CASE WHEN e.type IS NULL THEN 'type is null' END"}
	for _, c := range all {
		names = append(names, "CASE WHEN "+c.condition+" IS FALSE THEN "+literal(c.name)+" END")
	}
	inner := make([]string, len(a.mapping.values))
	for i, value := range a.mapping.values {
		inner[i] = value + " AS " + a.mapping.columns[i]
	}
	for name, kind := range map[string]string{"hold_operation_id": "uuid", "hold_generation": "integer"} {
		if !slices.Contains(a.mapping.columns, name) {
			inner = append(inner, "NULL::"+kind+" AS "+name)
		}
	}
	query := "SELECT why, count(*), (array_agg(row_id))[1:" + fmt.Sprint(shown) + "] FROM (SELECT e.row_id, concat_ws(', ', " + strings.Join(names, ",\n ") + ") AS why\n" +
		"FROM (SELECT " + l.rowID() + " AS row_id, '3'::xid8 AS tx,\n" + strings.Join(inner, ",\n") + "\nFROM " + l.table.quoted() + " AS o WHERE " + a.marker.where +
		") AS e) AS w WHERE why <> '' GROUP BY why ORDER BY why"
	rows, err := l.tx.Query(ctx, query)
	if err != nil {
		return fmt.Errorf("compare the rows with the canonical table: %w", err)
	}
	var why string
	var n int64
	var ids []string
	_, err = pgx.ForEachRow(rows, []any{&why, &n, &ids}, func() error {
		l.reasons.add("mend the rows, or mark them as published", "event_outbox would not take %d rows, because of %s: %s", n, why, someOf(ids, n))
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare the rows with the canonical table: %w", err)
	}
	return nil
}

// doubles lists events with one id: the broker would take the second for a copy of the first.
func (l *look) doubles(ctx context.Context, a *Adoption) error {
	query := "SELECT e.id, count(*) OVER () FROM (SELECT " + a.mapping.values[0] + " AS id FROM " + l.table.quoted() + " AS o WHERE " + a.marker.where +
		") AS e GROUP BY e.id HAVING count(*) > 1 ORDER BY e.id LIMIT " + fmt.Sprint(shown)
	return l.group(ctx, query, func(ids string, n int64) {
		l.reasons.add("name the column that is unique with --id-column", "%d ids have more than one event: %s", n, ids)
	})
}

// ties lists keys whose events have no order.
func (l *look) ties(ctx context.Context, a *Adoption) error {
	return l.group(ctx, a.tiesSQL("e.key, count(*) OVER ()")+" ORDER BY e.key LIMIT "+fmt.Sprint(shown), func(keys string, n int64) {
		if len(a.Order) == 0 {
			l.reasons.add("name the columns that tell it with --order-column", "nothing tells the order of the events of one key, and %d keys have several: %s", n, keys)
			return
		}
		l.reasons.add("name another column with --order-column, or one more", "%s does not tell the order of the events of %d keys: %s", strings.Join(a.Order, ", "), n, keys)
	})
}

// tiesSQL finds keys of which two events have the same place in the order, or none.
func (a *Adoption) tiesSQL(output string) string {
	by, null := "", "false"
	for _, name := range a.Order {
		by += ", o." + ident(name)
		null += " OR o." + ident(name) + " IS NULL"
	}
	return "SELECT " + output + " FROM (SELECT " + a.mapping.key + "::text AS key FROM " + a.table.quoted() + " AS o WHERE (" + a.marker.where + ") AND " + a.mapping.key +
		" IS NOT NULL GROUP BY 1" + by + " HAVING count(*) > 1 OR bool_or(" + null + ")) AS e GROUP BY e.key"
}

// group runs a query for a list of texts and how many there are, and tells if there are any.
func (l *look) group(ctx context.Context, query string, tell func(some string, n int64)) error {
	rows, err := l.tx.Query(ctx, query)
	if err != nil {
		return fmt.Errorf("compare the rows with one another: %w", err)
	}
	var all []string
	var text *string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&text, &n}, func() error {
		if text != nil {
			all = append(all, *text)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare the rows with one another: %w", err)
	}
	if n > 0 {
		tell(someOf(all, n), n)
	}
	return nil
}

// list returns some ids of the rows for which a condition holds, and their number.
func (l *look) list(ctx context.Context, condition, within string) (string, int64, error) {
	if condition == "" {
		return "", 0, nil
	}
	if within != "" {
		condition = "(" + condition + ") AND (" + within + ")"
	}
	var ids []string
	var n int64
	query := "SELECT count(*), (array_agg(" + l.rowID() + "))[1:" + fmt.Sprint(shown) + "] FROM " + l.table.quoted() + " AS o WHERE " + condition
	if err := l.tx.QueryRow(ctx, query).Scan(&n, &ids); err != nil {
		return "", 0, fmt.Errorf("read rows: %w", err)
	}
	return someOf(ids, n), n, nil
}

// rowID is the primary key of a row o as a text.
func (l *look) rowID() string { return l.table.rowID() }

func (t *table) rowID() string {
	var parts []string
	for _, name := range t.primaryKey() {
		parts = append(parts, "o."+ident(name)+"::text")
	}
	return strings.Join(parts, " || '/' || ")
}

func someOf(ids []string, n int64) string {
	text := strings.Join(ids, ", ")
	if int64(len(ids)) < n {
		text += " and others"
	}
	return text
}
