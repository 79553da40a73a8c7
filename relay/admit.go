package relay

import (
	"context"
	"fmt"
	"sync/atomic"
)

// admitted is a publisher that publishes nothing before it may: see Config.Admit. Safe for
// concurrent use.
type admitted struct {
	publisher
	admit func(context.Context) error
	once  atomic.Bool // it was allowed, and is not asked again
}

func admission(pub publisher, cfg Config) publisher {
	if cfg.Admit == nil {
		return pub
	}
	return &admitted{publisher: pub, admit: cfg.Admit}
}

func (p *admitted) attempt(ctx context.Context, b *batch) failure {
	if !p.once.Load() {
		if err := p.admit(ctx); err != nil {
			return failure{class: Unavailable, err: fmt.Errorf("not admitted to the stream: %w", err)}
		}
		p.once.Store(true)
	}
	return p.publisher.attempt(ctx, b)
}
