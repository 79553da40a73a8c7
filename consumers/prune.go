package consumers

import (
	"context"
	"time"
)

// pruneAtMost is how many rows one transaction removes.
const pruneAtMost = 1000

// Pruned is what [Consumer.Prune] removed.
type Pruned struct{ Inbox, DeadLetters int64 }

// prune removes what is old, now and then.
func (c *Consumer) prune(soft context.Context) error {
	for pause(soft, c.cfg.PruneEvery) {
		if p, err := c.Prune(soft); err != nil && soft.Err() == nil {
			c.log.WarnContext(soft, "old rows cannot be removed", "cause", kindOf(err))
		} else if p != (Pruned{}) {
			c.log.InfoContext(soft, "old rows removed", "inbox", p.Inbox, "dead_letters", p.DeadLetters)
		}
	}
	return nil
}

// Prune removes old deliveries of this consumer from the inbox, and old dead letters that were
// resolved or discarded, in batches that skip what somebody has locked. Facts, effects and open dead
// letters stay. What it removed before an error is in the answer.
func (c *Consumer) Prune(ctx context.Context) (Pruned, error) {
	var p Pruned
	for _, part := range []struct {
		sql   string
		keep  time.Duration
		count *int64
	}{{c.sql.pruneInbox, c.cfg.InboxRetention, &p.Inbox}, {c.sql.pruneDead, c.cfg.DeadLetterRetention, &p.DeadLetters}} {
		for {
			var n int64
			if err := c.pool.QueryRow(ctx, part.sql, c.cfg.Name, part.keep, pruneAtMost).Scan(&n); err != nil {
				return p, err
			}
			*part.count += n
			c.metrics.pruned.Add(ctx, n, c.metrics.mine)
			if n == 0 {
				break
			}
		}
	}
	return p, nil
}
