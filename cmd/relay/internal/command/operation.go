package command

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func operationCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "operation",
		Short: "Look at the operations of a coordinator, and decide about them",
		Long: effects("with retry and abort, what the reconciler of the coordinator does next; who did it and why is kept.",
			"calls a participant, or shows what a request said or was answered."),
		Example: "  relay operation list --state stuck",
	}, operationListCommand(p), operationShowCommand(p), operationRetryCommand(p), operationAbortCommand(p))
}

// operations are those in one coordinator's database.
type operations struct {
	*saga.Store
	pool     *pgxpool.Pool
	database string // for people
}

// operationFlags is databaseFlags for the operations of a coordinator.
func operationFlags(c *cobra.Command, p Process) func(context.Context, ...settings.Need) (*operations, error) {
	return databaseFlags(c, p, canonical.Saga, func(_ context.Context, pool *pgxpool.Pool, loaded *settings.Loaded) (*operations, error) {
		store, err := saga.New(saga.Config{Schema: loaded.Schema})
		if err != nil {
			return nil, err
		}
		return &operations{Store: store, pool: pool, database: databaseName(pool.Config())}, nil
	})
}

// notFound gives what is not there its status.
func (o *operations) notFound(id uuid.UUID, err error) error {
	if errors.Is(err, saga.ErrNotFound) {
		return exit.Errorf(exit.NotFound, "there is no operation %s in %s", id, o.database).
			WithHint("one that ended is removed after its retention; relay operation list shows those that there are")
	}
	return err
}

// operation is an operation as JSON has it: a contract, only ever added to, and never with what a
// request said.
type operation struct {
	ID             string   `json:"id"`
	Generation     int      `json:"generation"`
	Kind           string   `json:"kind"`
	State          string   `json:"state"`
	EventsReleased bool     `json:"events_released"`
	Participants   []string `json:"participants"`
	Attempts       int      `json:"attempts"`
	LeaseLive      bool     `json:"lease_live"`
	LeaseExpiresAt string   `json:"lease_expires_at"` // "" when there is no lease
	CreatedAt      string   `json:"created_at"`
	UpdatedAt      string   `json:"updated_at"`
	NextAttemptAt  string   `json:"next_attempt_at"`
	DigestKeyID    string   `json:"digest_key_id"`
}

func operationOf(o saga.Operation) operation {
	found := operation{
		ID: o.ID.String(), Generation: o.Generation, Kind: o.Kind, State: string(o.State), EventsReleased: o.EventsReleased,
		Participants: o.Participants, Attempts: o.Attempts, LeaseLive: o.LeaseLive, DigestKeyID: o.DigestKeyID,
		CreatedAt: output.Time(o.CreatedAt), UpdatedAt: output.Time(o.UpdatedAt), NextAttemptAt: output.Time(o.NextAttemptAt),
	}
	if o.LeaseExpiresAt != nil {
		found.LeaseExpiresAt = output.Time(*o.LeaseExpiresAt)
	}
	return found
}
