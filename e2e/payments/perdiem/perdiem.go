package perdiem

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// Schema makes the tables of the service.
//
//go:embed schema.sql
var Schema string

var (
	//go:embed sql/rate_get.sql
	rateGetSQL string
	//go:embed sql/rate_set.sql
	rateSetSQL string
	//go:embed sql/meet.sql
	meetSQL string
	//go:embed sql/grant.sql
	grantSQL string
	//go:embed sql/end.sql
	endSQL string
	//go:embed sql/end_allowance.sql
	endAllowanceSQL string
)

// Config is the consumer of the service on a stream.
func Config(stream string) consumers.Config {
	return consumers.Config{
		Name: "perdiem", Group: "money", Stream: stream, Probe: probe,
		Subjects: []string{"events." + Activated, "events." + Ended, "events." + RateSet},
		Effects: map[string]consumers.Effect{
			allowance: {Table: "perdiem.allowance", Account: "worker", Attributes: map[string]string{"days": "days", "cents": "cents"}},
			end:       {Table: "perdiem.ending", Account: "worker"},
		},
	}
}

// Handle handles the three types of events.
func Handle(ctx context.Context, tx *facts.Tx, e event.Event) error {
	switch e.Type() {
	case Activated:
		return grant(ctx, tx, e)
	case Ended:
		return endPlacement(ctx, tx, e)
	case RateSet:
		return setRate(ctx, tx, e)
	}
	return consumers.Permanent(fmt.Errorf("no handler for events of type %s", e.Type()))
}

// errNoRate: the other service has not told us yet.
var errNoRate = errors.New("the rate of the region is not known")

// grant writes the allowance of a placement. The rate is read before the claim because the amount
// is an attribute of the fact; a replay comes this far only if it ran beside the first delivery.
func grant(ctx context.Context, tx *facts.Tx, e event.Event) error {
	p, err := decode[Placement](e)
	if err != nil {
		return err
	}
	fact, err := p.fact(allowance)
	if err != nil {
		return err
	}
	var rate int64
	err = tx.QueryRow(ctx, rateGetSQL, p.Region).Scan(&rate)
	if errors.Is(err, pgx.ErrNoRows) {
		return consumers.Unavailable(errNoRate)
	}
	if err != nil {
		return err
	}
	cents := rate * int64(p.Days)
	fact.Attributes["cents"] = strconv.FormatInt(cents, 10)
	claimed, err := facts.Claim(ctx, tx, fact)
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	var ended bool
	if err := tx.QueryRow(ctx, meetSQL, p.Placement, p.Start, false).Scan(&ended); err != nil {
		return err
	}
	status := "due"
	if ended {
		status = "ended"
	}
	_, err = tx.Exec(ctx, grantSQL, claimed.ID, p.Placement, p.Start, p.Worker, p.Days, cents, status)
	return err
}

// endPlacement writes the end, and what is due for the placement is not any more.
func endPlacement(ctx context.Context, tx *facts.Tx, e event.Event) error {
	p, err := decode[Placement](e)
	if err != nil {
		return err
	}
	fact, err := p.fact(end)
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, fact)
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	if _, err := tx.Exec(ctx, endSQL, claimed.ID, p.Placement, p.Start, p.Worker); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, meetSQL, p.Placement, p.Start, true); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, endAllowanceSQL, p.Placement, p.Start)
	return err
}

// setRate keeps the latest rate. It is a state and no fact: written again it comes out the same.
func setRate(ctx context.Context, tx *facts.Tx, e event.Event) error {
	r, err := decode[Rate](e)
	if err != nil {
		return err
	}
	facts.None(tx)
	_, err = tx.Exec(ctx, rateSetSQL, r.Region, r.Version, r.Cents)
	return err
}
