package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay/internal/subject"
)

// mostSubjects is how many kinds of subjects are looked at.
const mostSubjects = 1000

// Strays are planned events whose subjects a stream does not have. [Run] leaves them out.
type Strays struct {
	// Events is how many there are, whatever the limit of the replay is; a lower bound where the subjects
	// are of more than 1000 kinds.
	Events int64
	// Subject is one of theirs; "" when there are none.
	Subject string
	// All says that there are no others: nothing of the plan can be published.
	All bool
}

// Strays compares the subjects of the planned events with those of the stream that is to take them. It
// reads the window once more, unless the stream has every subject that the template can give.
func (p *Plan) Strays(ctx context.Context, pool *pgxpool.Pool, stream []string) (Strays, error) {
	if p.Events == 0 || subject.Captured(stream, p.Subjects) {
		return Strays{}, nil
	}
	encoder, err := p.cfg.encoder()
	if err != nil {
		return Strays{}, fmt.Errorf("compare the subjects: %w", err)
	}
	kinds, err := p.kinds(ctx, pool)
	if err != nil {
		return Strays{}, fmt.Errorf("compare the subjects: %w", err)
	}
	found, all := Strays{}, int64(0)
	for _, k := range kinds {
		all += k.events
		msg, err := encoder.Encode(&k.record)
		if err != nil || subject.Captured(stream, msg.Subject) {
			continue // what cannot be encoded has no subject
		}
		if found.Events += k.events; found.Subject == "" {
			found.Subject = msg.Subject
		}
	}
	found.All = found.Events > 0 && found.Events == all && len(kinds) < mostSubjects
	return found, nil
}

// kind is events with the same subject.
type kind struct {
	record outbox.Record // only what the subject is made of
	events int64
}

func (p *Plan) kinds(ctx context.Context, pool *pgxpool.Pool) ([]kind, error) {
	c := &p.cfg
	uses := func(variable string) bool { return strings.Contains(c.Relay.SubjectTemplate, variable) }
	rows, err := pool.Query(ctx, statements(p.Schema)["subjects"], p.Group, p.window.First, p.window.End, c.After, null(c.Type), null(c.Key),
		uses("{source}"), uses("{subject}"), uses("{partitionkey}"), mostSubjects)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (kind, error) {
		k := kind{record: outbox.Record{ID: "id"}}
		var source, about, key *string
		err := row.Scan(&k.record.Type, &source, &about, &key, &k.events)
		k.record.Source, k.record.Subject, k.record.PartitionKey = value(source, "source"), value(about, ""), value(key, "")
		return k, err
	})
}

func value(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

// encoder puts events on the wire as the replay does.
func (c Config) encoder() (*wire.Encoder, error) {
	return wire.NewEncoder(wire.Config{Prefix: c.Relay.SubjectPrefix, Subject: c.Relay.SubjectTemplate, Stream: c.Relay.Stream, Mode: c.Relay.Mode})
}
