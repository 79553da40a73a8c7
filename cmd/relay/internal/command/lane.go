package command

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func laneCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "lane",
		Short:   "Look at the lanes of the log, and take one from its owner",
		Long:    effects("with hand-back, the end of a lease.", "moves a cursor, or touches an event."),
		Example: "  relay lane list",
	}, laneListCommand(p), laneShowCommand(p), laneHandBackCommand(p))
}

// lanes are those of one relay group in one database.
type lanes struct {
	pool                    *pgxpool.Pool
	schema, group, database string
}

// laneFlags is databaseFlags for the lanes of a relay group.
func laneFlags(c *cobra.Command, p Process) func(context.Context, ...settings.Need) (*lanes, error) {
	return databaseFlags(c, p, canonical.Relay, func(_ context.Context, pool *pgxpool.Pool, loaded *settings.Loaded) (*lanes, error) {
		return &lanes{pool: pool, schema: loaded.Schema, group: loaded.Group, database: databaseName(pool.Config())}, nil
	})
}

// read returns all lanes with what waits in them.
func (l *lanes) read(ctx context.Context) ([]laneReport, error) {
	status, err := relay.ReadStatus(ctx, l.pool, l.schema, l.group)
	if err != nil {
		return nil, err
	}
	if len(status.Lanes) == 0 {
		return nil, missingGroup(l.group)
	}
	retries, err := relay.ReadLaneRetries(ctx, l.pool, l.schema, l.group)
	if err != nil {
		return nil, err
	}
	waiting := map[int16]relay.LaneRetries{}
	for _, r := range retries {
		waiting[r.Lane] = r
	}
	all := make([]laneReport, 0, len(status.Lanes))
	for _, s := range status.Lanes {
		all = append(all, laneOf(s, waiting[s.Lane]))
	}
	return all, nil
}

// one returns one lane.
func (l *lanes) one(ctx context.Context, number int16) (*laneReport, error) {
	all, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Lane == number {
			return &all[i], nil
		}
	}
	return nil, exit.Errorf(exit.NotFound, "there is no lane %d in group %s of %s", number, l.group, l.database).
		WithHint("the lanes of group %s are 0 to %d", l.group, len(all)-1)
}

// missingGroup says that a relay group does not exist.
func missingGroup(group string) error {
	return exit.Errorf(exit.NotFound, "there is no relay group %s", group).
		WithHint("check RELAY_GROUP; a group is made by the first relay that runs with it")
}

// parseLane reads the number of a lane.
func parseLane(text string) (int16, error) {
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil || n < 0 {
		return 0, exit.Errorf(exit.Usage, "%q is not a lane", text).WithHint("a lane is a number: relay lane list shows them")
	}
	return int16(n), nil
}
