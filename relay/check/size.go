package check

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

// sizeFinding compares what the broker takes with the largest message that the schema lets come.
func sizeFinding(f *facts) Finding {
	if f.db.limit == 0 {
		unknown := skip("the schema does not tell how large an event may be")
		unknown.blocked = true
		return unknown
	}
	need, err := largest(f.t.Relay, f.db.limit)
	if err != nil {
		return fail("", "the largest message cannot be made: %s", line(err))
	}
	have, what := f.br.maxPayload, "the server (max_payload)"
	if size := int64(f.config().MaxMsgSize); size > 0 && size < have {
		have, what = size, fmt.Sprintf("stream %s (max_msg_size)", f.config().Name)
	}
	if have < need {
		return fail("raise the limit to that, or render the schema with fewer max_event_bytes; an event over the limit becomes a dead letter",
			"%s takes %d bytes, and a message may have %d: the schema takes events of %d bytes, in %s mode with their attributes",
			what, have, need, f.db.limit, f.t.Relay.Mode)
	}
	return ok("the broker takes %d bytes, and the largest message has %d", have, need)
}

// largest returns how many bytes a message may have at most, by the limits of the schema: it
// encodes an event whose attributes are as long as they may be, in characters that take the
// most room on the wire, and adds the data.
func largest(cfg relay.Config, data int) (int64, error) {
	encoder, err := wire.NewEncoder(wire.Config{Stream: cfg.Stream, Mode: cfg.Mode})
	if err != nil {
		return 0, err
	}
	many := func(n int) string { return strings.Repeat(`"`, n) }
	m, err := encoder.Encode(&outbox.Record{
		ID: many(255), Source: many(1024), Type: many(255), Subject: many(1024), DataContentType: many(255), DataSchema: many(1024),
		PartitionKey: many(255), Time: time.Date(2000, 1, 1, 0, 0, 0, 1000, time.UTC), Extensions: []byte(`{"x": "` + strings.Repeat("%", 8192-len(`{"x": ""}`)) + `"}`),
	})
	if err != nil {
		return 0, err
	}
	size := int64(wire.HeaderSize(m.Header) + len(m.Data))
	if cfg.Mode == wire.Structured {
		return size + int64(len(`,"data_base64":""`)+base64.StdEncoding.EncodedLen(data)), nil
	}
	return size + int64(data), nil
}
