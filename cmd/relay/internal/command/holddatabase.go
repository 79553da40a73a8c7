package command

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// holdDatabase are the holds in a database.
type holdDatabase struct {
	store *hold.Store
	pool  *pgxpool.Pool
}

// holdPage is how many generations, or held events, one statement reads.
const holdPage = 1000

func (d *holdDatabase) where() string { return databaseName(d.pool.Config()) }
func (d *holdDatabase) close()        { d.pool.Close() }

func (d *holdDatabase) generations(ctx context.Context, operation uuid.UUID) ([]holdGeneration, error) {
	return d.list(ctx, hold.Filter{Operation: operation}, most)
}

// list reads up to limit generations, in pages.
func (d *holdDatabase) list(ctx context.Context, filter hold.Filter, limit int) ([]holdGeneration, error) {
	var all []holdGeneration
	for len(all) < limit {
		filter.Limit = min(holdPage, limit-len(all))
		page, err := d.store.List(ctx, d.pool, filter)
		if err != nil {
			return nil, err
		}
		for _, l := range page {
			all = append(all, generationOf(l))
		}
		if len(page) < filter.Limit {
			break
		}
		filter.After = page[len(page)-1].Hold
	}
	return all, nil
}

func (d *holdDatabase) register(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	var opts []hold.RegisterOption
	if !o.expiresAt.IsZero() {
		opts = append(opts, hold.ExpireAt(o.expiresAt, o.onExpiry))
	}
	return d.store.Register(ctx, d.pool, h, o.actor, opts...)
}

func (d *holdDatabase) release(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	return d.store.Release(ctx, d.pool, h, o.actor, hold.Because(o.reason))
}

func (d *holdDatabase) cancel(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error) {
	return d.store.Cancel(ctx, d.pool, h, o.actor, hold.Because(o.reason))
}
