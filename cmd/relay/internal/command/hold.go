package command

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func holdCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "hold",
		Short:   "Look at held events and their generations, and decide about them",
		Long:    effects("with register, release, cancel and drop-event, the holds of a participant; who did it and why is kept.", "shows a payload, or undoes the entities of an operation."),
		Example: "  relay hold list --overdue",
	}, holdListCommand(p), holdShowCommand(p), holdRegisterCommand(p), holdReleaseCommand(p), holdCancelCommand(p), holdDropEventCommand(p))
}

// holdFlags are where the holds are: a database, or the control surface of a service.
type holdFlags struct {
	load      func(...settings.Need) (*settings.Loaded, error)
	timeout   *time.Duration
	url, file *string // nil for a command that needs the database
}

// databaseFlags gives a command the flags of the database.
func (f *holdFlags) databaseFlags(c *cobra.Command, p Process) {
	f.load = settingFlags(c, p, settings.Database)
	f.timeout = c.Flags().Duration("timeout", 30*time.Second, "How long the command may take")
	inGroup(c, connectionFlags, "timeout")
}

// surfaceFlags gives it those of the surface as well.
func (f *holdFlags) surfaceFlags(c *cobra.Command, p Process) {
	f.databaseFlags(c, p)
	f.url = c.Flags().String("url", "", "Ask the control surface of a service there, and not a database, such as https://persons.example.org")
	f.file = c.Flags().String("token-file", "", "File that holds the token for --url")
	inGroup(c, connectionFlags, "url", "token-file")
}

// check refuses flags that cannot be meant together.
func (f *holdFlags) check(cmd *cobra.Command) error {
	if f.url == nil {
		return nil
	}
	if (*f.url == "") != (*f.file == "") {
		return exit.Errorf(exit.Usage, "%s: --url and --token-file go together", cmd.CommandPath()).
			WithHint("leave both out to ask the database")
	}
	actor := cmd.Flags().Lookup("actor")
	if *f.url != "" && actor != nil && actor.Changed {
		return exit.Errorf(exit.Usage, "--actor is not for --url").WithHint("the token says who it is")
	}
	return nil
}

// holds are those of a participant, wherever they are asked for.
type holds interface {
	// where is the participant, for people.
	where() string
	generations(ctx context.Context, operation uuid.UUID) ([]holdGeneration, error)
	register(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error)
	release(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error)
	cancel(ctx context.Context, h outbox.Hold, o *holdOrder) (hold.Answer, error)
	close()
}

// holdOrder is what somebody asked for.
type holdOrder struct {
	signature
	expiresAt time.Time
	onExpiry  hold.OnExpiry
}

// open judges the flags and reaches the holds. The caller closes them, and ends the context.
func (f *holdFlags) open(cmd *cobra.Command) (context.Context, context.CancelFunc, holds, error) {
	if err := f.check(cmd); err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), *f.timeout)
	var h holds
	var err error
	if f.url != nil && *f.url != "" {
		h, err = openSurface(ctx, *f.url, *f.file)
	} else {
		h, err = f.database(ctx)
	}
	if err != nil {
		cancel()
		return nil, nil, nil, err
	}
	return ctx, cancel, h, nil
}

// database opens the holds in the database and checks its schema.
func (f *holdFlags) database(ctx context.Context) (*holdDatabase, error) {
	pool, loaded, err := openLoaded(ctx, f.load)
	if err != nil {
		return nil, err
	}
	d, err := newHoldDatabase(ctx, pool, loaded.Schema)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

func newHoldDatabase(ctx context.Context, pool *pgxpool.Pool, schema string) (*holdDatabase, error) {
	if _, err := outbox.Verify(ctx, pool, schema, canonical.Hold); err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	store, err := hold.New(hold.Config{Schema: schema})
	if err != nil {
		return nil, err
	}
	return &holdDatabase{store: store, pool: pool}, nil
}

func parseGeneration(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, exit.Errorf(exit.Usage, "%q is no generation", text).WithHint("generations count from 1")
	}
	return n, nil
}

// parseHold reads OPERATION GENERATION.
func parseHold(args []string) (h outbox.Hold, err error) {
	if h.Operation, err = parseOperation(args[0]); err != nil {
		return h, err
	}
	h.Generation, err = parseGeneration(args[1])
	return h, err
}
