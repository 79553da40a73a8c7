package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

func consumerListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Aliases: []string{"status"},
		Short:   "List the consumers of a database, and the switches that somebody has turned",
		Long:    effects("nothing.", "shows a consumer that has never handled anything: the database does not know it."),
		Example: "  relay consumer list",
	})
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		found, err := d.Overviews(cmd.Context(), "")
		if err != nil {
			return err
		}
		switches, err := d.Switches(cmd.Context(), "")
		if err != nil {
			return err
		}
		return writeConsumers(cmd, format.Format(), found, switches)
	}
	return c
}

// consumer is a consumer as JSON has it: a contract, only ever added to.
type consumer struct {
	Name          string `json:"name"`
	Deliveries    int64  `json:"deliveries"`
	Failing       int64  `json:"failing"`
	LastProcessed string `json:"last_processed_at"` // "" when there is none
	Quarantine    int64  `json:"quarantine"`
	Dead          int64  `json:"dead"`
	OldestDead    string `json:"oldest_dead_at"`
	Requested     int64  `json:"replays_requested"`
	Replaying     int64  `json:"replaying"`
}

// groupSwitch is the switch of a group as JSON has it.
type groupSwitch struct {
	Group  string `json:"group"`
	Paused bool   `json:"paused"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	Since  string `json:"since"`
}

func timeOrEmpty(t *time.Time) string {
	if t == nil {
		return ""
	}
	return output.Time(*t)
}

func consumerOf(o people.Overview) consumer {
	return consumer{o.Name, o.Deliveries, o.Failing, timeOrEmpty(o.LastProcessed), o.Quarantine, o.Dead, timeOrEmpty(o.OldestDead), o.Requested, o.Replaying}
}

func switchOf(s people.Switch) groupSwitch {
	return groupSwitch{s.Group, s.Paused, s.By, s.Reason, output.Time(s.Since)}
}

func writeConsumers(cmd *cobra.Command, format output.Format, found []people.Overview, switches []people.Switch) error {
	w := cmd.OutOrStdout()
	all, turned := make([]consumer, 0, len(found)), make([]groupSwitch, 0, len(switches))
	for _, o := range found {
		all = append(all, consumerOf(o))
	}
	for _, s := range switches {
		turned = append(turned, switchOf(s))
	}
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"consumers": all, "switches": turned})
	case output.JSONL:
		return writeLines(w, all)
	case output.Name:
		return writeNames(w, all, func(c consumer) string { return c.Name })
	}
	if len(all) == 0 {
		if _, err := fmt.Fprintln(w, "No consumers."); err != nil {
			return err
		}
	} else {
		table := output.Table{Heads: []string{"CONSUMER", "LAST PROCESSED", "FAILING", "QUARANTINE", "DEAD", "REPLAYS"}, Right: []bool{false, false, true, true, true, true}}
		for _, c := range all {
			table.Add(plain(c.Name), plain(c.LastProcessed), output.Number(c.Failing), output.Number(c.Quarantine), output.Number(c.Dead), output.Number(c.Requested+c.Replaying))
		}
		if err := table.Write(w); err != nil {
			return err
		}
	}
	if len(turned) == 0 {
		return nil
	}
	table := output.Table{Heads: []string{"GROUP", "SWITCH", "SINCE", "BY", "REASON"}}
	for _, s := range turned {
		table.Add(plain(s.Group), map[bool]string{true: "paused", false: "running"}[s.Paused], s.Since, plain(s.By), plain(s.Reason))
	}
	return writeBelow(w, &table)
}
