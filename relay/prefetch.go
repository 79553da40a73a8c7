package relay

import "context"

// prefetch is a page of a backlog that is read while the page before it is published. It is read from
// where the cursor will be when that page is settled, and used only if it was: what is read is not
// published, so no event overtakes an earlier one whose outcome is unknown. Only while a backlog is
// paged is it known where the next batch begins.
type prefetch struct {
	from cursor
	done chan struct{} // closed when batch and err are set
	stop context.CancelFunc

	batch *batch
	err   error
}

// readAhead begins to read what comes after a batch of a backlog, unless it is being read already.
func (r *Relay) readAhead(l *lane, b *batch) {
	if !b.more || l.next != nil {
		return
	}
	ctx, stop := context.WithCancel(l.ctx)
	p := &prefetch{from: b.after, done: make(chan struct{}), stop: stop}
	l.next = p
	go func() {
		defer close(p.done)
		p.batch, p.err = r.readPage(ctx, l, p.from, r.byteShare())
	}()
}

// take returns the next batch of a lane: what was read ahead, if the lane is there now.
func (r *Relay) take(ctx context.Context, l *lane) (*batch, error) {
	p := l.next
	if p == nil {
		return r.read(ctx, l)
	}
	if p.from != l.cur {
		l.dropNext()
		return r.read(ctx, l)
	}
	<-p.done
	l.dropNext()
	return p.batch, p.err
}

// dropNext forgets what was read ahead, and waits until nothing is read any more.
func (l *lane) dropNext() {
	if l.next == nil {
		return
	}
	l.next.stop()
	<-l.next.done
	l.next = nil
}
