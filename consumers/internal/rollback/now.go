package rollback

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// limit bounds the wait for the answer of the database.
const limit = 5 * time.Second

// Now ends a transaction that was not committed, also when ctx has ended. One that is over is left as it is.
func Now(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_ = tx.Rollback(ctx) // reports only that the transaction is over, or its connection
}
