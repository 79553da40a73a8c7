package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// step runs one statement, for less than a lease.
func (k *Keeper) step(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, lease/2)
	defer cancel()
	return do(ctx)
}

// claim takes the lease; "" when another pod has it.
func (k *Keeper) claim(ctx context.Context) (token string, err error) {
	err = k.step(ctx, func(ctx context.Context) error {
		return k.db.QueryRow(ctx, k.sql["claim"], k.cfg.Owner, lease).Scan(&token)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", withHint(fmt.Errorf("claim the maintenance lease: %w", err))
	}
	return token, nil
}

// renew lets the lease begin anew, so that the next step has all of it.
func (k *Keeper) renew(ctx context.Context, token string) error {
	return k.step(ctx, func(ctx context.Context) error {
		tag, err := k.db.Exec(ctx, k.sql["renew"], token, lease)
		switch {
		case err != nil:
			return fmt.Errorf("renew the maintenance lease: %w", err)
		case tag.RowsAffected() == 0:
			return errLost
		}
		return nil
	})
}

// releaseTimeout is short, because a pod that stops waits for it.
const releaseTimeout = 2 * time.Second

// release gives the lease back, also after the pass was cut. When that fails it ends by itself.
func (k *Keeper) release(ctx context.Context, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := k.db.Exec(ctx, k.sql["release"], token); err != nil {
		k.cfg.Logger.Warn("release the maintenance lease: it will end by itself", "error", err)
	}
}
