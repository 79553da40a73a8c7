package relay

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// wanted is a set of message ids that a look-back looks for, eight bytes each. It may take an id
// for one that is in it, never the other way round. Immutable once it is sealed.
type wanted struct {
	seed   maphash.Seed
	hashes []uint64 // sorted
}

func newWanted() *wanted { return &wanted{seed: maphash.MakeSeed()} }

func (w *wanted) add(id string) { w.hashes = append(w.hashes, maphash.String(w.seed, id)) }

func (w *wanted) seal() { slices.Sort(w.hashes) }

func (w *wanted) has(id string) bool {
	_, found := slices.BinarySearch(w.hashes, maphash.String(w.seed, id))
	return found
}

// unsettled reads what lanes have not settled, from the cursors that they were claimed with: whatever
// a previous owner published and did not settle is among it.
func (r *Relay) unsettled(ctx context.Context, lanes []claimed) (*wanted, error) {
	w := newWanted()
	for _, c := range lanes {
		var target *string
		if c.cur.target != "" {
			target = &c.cur.target
		}
		incarnation, err := r.db.with(ctx, r.db.sql.session, r.db.sql.unsettled, []any{c.lane, c.cur.drained, target, c.cur.pos}, func(rows pgx.Rows) error {
			var source, id string
			err := rows.Scan(&source, &id)
			w.add(wire.MsgID(source, id))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read what lane %d has not settled: %w", c.lane, err)
		}
		if incarnation != c.incarnation {
			return nil, errServerChanged
		}
	}
	w.seal()
	return w, nil
}
