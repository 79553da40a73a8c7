package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return "signal " + i.signal.String() }

// interrupts watches SIGINT and SIGTERM from its making until stop.
type interrupts struct {
	again chan struct{} // closed at the second signal
	stop  func()        // ends watching and waits for the watcher
}

// watchInterrupts returns a context that the first signal ends, with an [interruption] as cause.
func watchInterrupts(parent context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit, finished := make(chan struct{}), make(chan struct{})
	w := &interrupts{again: make(chan struct{})}
	w.stop = func() {
		signal.Stop(signals)
		close(quit)
		<-finished
		cancel(nil)
	}
	go func() {
		defer close(finished)
		for n := 1; ; n++ {
			select {
			case s := <-signals:
				cancel(interruption{s}) // the first cause stays
				if n == 2 {
					close(w.again)
					return
				}
			case <-quit:
				return
			}
		}
	}()
	return ctx, w
}
