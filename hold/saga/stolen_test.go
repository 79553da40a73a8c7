package saga_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestStolenWhileItRegisters: whoever was stolen from meanwhile makes no step, whether its successor is
// still under way or has released.
func TestStolenWhileItRegisters(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]bool{"under way": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c, id := b.coordinator(), b.draft()
			zombie := b.win(b.request(id))
			b.desk.first(func(context.Context, string) error {
				b.desk.first(nil)
				if successor := b.steal(id); goOn {
					b.run(c, successor)
				}
				return nil
			})
			work := b.work(zombie)
			for i := range work.Steps {
				work.Steps[i].Do = func(context.Context, saga.Call) (string, error) {
					t.Error("the zombie makes a step")
					return "", errDied
				}
			}
			if _, err := c.Run(t.Context(), zombie, work); !errors.Is(err, saga.ErrLeaseLost) {
				t.Errorf("the zombie ended with %v", err)
			}
		})
	}
}
