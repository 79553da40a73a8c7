package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// kindConfiguration is the word for configuration in a JSON error: the status is that of usage.
const kindConfiguration = "configuration"

// classify gives an error the status that it ends the process with, and a hint if it has none.
// ctx is the context of the command, which an interrupt ends.
func classify(ctx context.Context, err error) error {
	var typed *exit.Error
	var configuration *settings.Error
	var refused *relay.ConfigError
	var invalid *retry.InvalidError
	switch {
	case err == nil || errors.As(err, &typed):
		return err
	case exit.Of(err) != exit.No: // an answer
		return err
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return &exit.Error{Code: exit.Interrupted, Err: fmt.Errorf("interrupted: %w", context.Cause(ctx))}
	case errors.As(err, &configuration):
		return configurationError(configuration)
	case errors.As(err, &invalid):
		return &exit.Error{Code: exit.Usage, Err: err}
	case errors.As(err, &refused):
		return &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err, Hint: "relay config env"}
	case errors.Is(err, outbox.ErrSchemaMissing), errors.Is(err, outbox.ErrSchemaMismatch), errors.Is(err, outbox.ErrForeignCluster):
		return &exit.Error{Code: exit.Usage, Kind: "schema", Err: err, Hint: exit.HintOf(err)}
	}
	if e := classifyHold(err); e != nil {
		return e
	}
	if e := classifyConsumer(err); e != nil {
		return e
	}
	if e := classifyDatabase(err); e != nil {
		return e
	}
	if e := classifyBroker(err); e != nil {
		return e
	}
	var file *fs.PathError
	if errors.As(err, &file) { // before the network: each error of the system says that it could be one of that
		wrong := &exit.Error{Code: exit.Usage, Err: err}
		if file.Op == "write" {
			wrong.Hint = "only the output is lost: what the command does may be done, so look before it is run again"
		}
		return wrong
	}
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) {
		return &exit.Error{Code: exit.Unavailable, Err: err, Hint: "try again"}
	}
	return err
}

func configurationError(e *settings.Error) *exit.Error {
	found := &exit.Error{Code: exit.Usage, Kind: kindConfiguration}
	if len(e.Problems) == 1 {
		found.Err, found.Hint = errors.New(e.Problems[0].Message), e.Problems[0].Hint
		return found
	}
	found.Err = fmt.Errorf("%d problems with the configuration", len(e.Problems))
	for _, p := range e.Problems {
		found.Problems = append(found.Problems, exit.Problem{Message: p.Message, Hint: p.Hint})
	}
	return found
}

// classifyDatabase returns nil for an error that is none of the database.
func classifyDatabase(err error) *exit.Error {
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	if errors.As(err, &server) {
		e := &exit.Error{Code: exit.Unavailable, Err: err, Hint: "see SQLSTATE " + server.Code}
		if strings.HasPrefix(server.Code, "22") { // data exception: text that the database cannot take
			e.Code, e.Hint = exit.Usage, "an argument has a value that the database does not take"
		}
		switch server.Code {
		case "28P01", "28000":
			e.Code, e.Hint = exit.Denied, "check the user and the password of the database"
		case "42501":
			e.Code, e.Hint = exit.Denied, "log in as a role that may: outbox-gen roles prints what each one may"
		case "3D000":
			e.Code, e.Kind, e.Hint = exit.Usage, kindConfiguration, "check the name of the database"
		case "42P01", "42703", "42883", "3F000":
			e.Code, e.Kind, e.Hint = exit.Usage, "schema", "install the schema that this build expects: relay version shows it"
		case "55P03":
			e.Hint = "another transaction holds the lock: pg_blocking_pids(pid) names it in pg_stat_activity; try again when it has ended"
		case "08P01":
			e.Hint = "if a pooler answered, its message says why it refuses"
		case "53300":
			e.Hint = "raise max_connections, or lower RELAY_WORKERS"
		}
		return e
	}
	if errors.As(err, &connect) {
		return &exit.Error{Code: exit.Unavailable, Err: err, Hint: "check that the database runs and can be reached: relay config print shows its address"}
	}
	return nil
}

// classifyBroker returns nil for an error that is none of the broker.
func classifyBroker(err error) *exit.Error {
	var api *jetstream.APIError
	var end *walk.EndError
	switch {
	case isDenied(err):
		return &exit.Error{Code: exit.Denied, Err: err, Hint: "check the credentials and the permissions of the NATS user"}
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return &exit.Error{Code: exit.Unavailable, Err: err, Hint: "enable JetStream on the server and for the account"}
	case errors.As(err, &end):
		return &exit.Error{Code: exit.Unavailable, Err: err, Hint: end.Hint()}
	case errors.As(err, &api):
		return &exit.Error{Code: exit.No, Kind: "refused", Err: err, Hint: fmt.Sprintf("the server refused it with JetStream error code %d", api.ErrorCode)}
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected):
		return &exit.Error{Code: exit.Unavailable, Err: err, Hint: "check that the NATS server runs and can be reached: relay config print shows its address"}
	}
	return nil
}

// isDenied reports an error of NATS that only other credentials or permissions mend.
func isDenied(err error) bool {
	for _, denied := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrPermissionViolation} {
		if errors.Is(err, denied) {
			return true
		}
	}
	return false
}
