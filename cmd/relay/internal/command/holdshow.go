package command

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func holdShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show OPERATION [GENERATION]",
		Short: "Show an operation, or one of its generations with its held events",
		Long: effects("nothing.", "shows a payload.") +
			"\n\nWith --url nobody is named, and no events are listed. Exit status 3 if there is none.",
		Example: "  relay hold show 0192f0c1-0000-7000-8000-000000000001",
	}, 1, 2)
	limit := c.Flags().Int("limit", 100, "How many held events at most")
	inGroup(c, commonFlags, "limit")
	var flags holdFlags
	flags.surfaceFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		operation, err := parseOperation(args[0])
		if err != nil {
			return err
		}
		generation := 0
		if len(args) == 2 {
			if generation, err = parseGeneration(args[1]); err != nil {
				return err
			}
		}
		if *limit < 1 || *limit > holdPage {
			return exit.Errorf(exit.Usage, "--limit %d: must be 1 to %d", *limit, holdPage)
		}
		ctx, cancel, h, err := flags.open(cmd)
		if err != nil {
			return err
		}
		defer cancel()
		defer h.close()
		list, err := h.generations(ctx, operation)
		if err != nil {
			return err
		}
		if generation > 0 {
			list = only(list, generation)
		}
		if len(list) == 0 {
			return exit.Errorf(exit.NotFound, "there is no such generation of operation %s in %s", operation, h.where()).
				WithHint("it was never registered here, or was pruned: relay hold list shows those that there are")
		}
		view, err := lookAt(ctx, h, list, generation, *limit)
		if err != nil {
			return err
		}
		if format.Format() == output.JSON {
			return output.WriteJSON(cmd.OutOrStdout(), output.JSON, view)
		}
		return view.write(cmd.OutOrStdout())
	}
	return c
}

func only(list []holdGeneration, generation int) []holdGeneration {
	for _, g := range list {
		if g.Generation == generation {
			return []holdGeneration{g}
		}
	}
	return nil
}

// holdView is what show has in JSON. Events are those that wait under the generation that was
// named, in staging order; none if none was named, or the database was not asked.
type holdView struct {
	Generations []holdGeneration `json:"generations"`
	Events      []heldEvent      `json:"events"`
}

// heldEvent is an event that waits, without its payload.
type heldEvent struct {
	Seq         string `json:"seq"`
	EventID     string `json:"event_id"`
	Source      string `json:"source"`
	Type        string `json:"type"`
	Subject     string `json:"subject"`
	Key         string `json:"partitionkey"`
	ContentType string `json:"datacontenttype"`
	DataBytes   int    `json:"data_bytes"`
	StagedAt    string `json:"staged_at"`
}

func lookAt(ctx context.Context, h holds, list []holdGeneration, generation, limit int) (*holdView, error) {
	view := &holdView{Generations: list, Events: []heldEvent{}}
	d, ok := h.(*holdDatabase)
	if !ok || generation == 0 {
		return view, nil
	}
	operation, err := parseOperation(list[0].Operation)
	if err != nil {
		return nil, err
	}
	events, err := d.store.Events(ctx, d.pool, outbox.Hold{Operation: operation, Generation: generation}, 0, limit)
	if err != nil {
		return nil, err
	}
	view.Events = heldEventsOf(events)
	return view, nil
}

func heldEventsOf(events []hold.HeldEvent) []heldEvent {
	all := make([]heldEvent, 0, len(events))
	for _, e := range events {
		all = append(all, heldEvent{strconv.FormatInt(e.Seq, 10), e.ID, e.Source, e.Type, e.Subject, e.PartitionKey, e.MediaType,
			e.Bytes, output.Time(e.StagedAt)})
	}
	return all
}

func (v *holdView) write(w io.Writer) error {
	for i, g := range v.Generations {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := g.write(w); err != nil {
			return err
		}
	}
	if len(v.Events) == 0 {
		return nil
	}
	table := output.Table{Heads: []string{"SEQ", "STAGED", "TYPE", "KEY", "BYTES", "EVENT"}, Right: []bool{true, false, false, false, true}}
	for _, e := range v.Events {
		table.Add(e.Seq, e.StagedAt, plain(e.Type), plain(e.Key), strconv.Itoa(e.DataBytes), plain(e.EventID))
	}
	return writeBelow(w, &table)
}
