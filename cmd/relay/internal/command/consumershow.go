package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

func consumerShowCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "show NAME",
		Short: "Show a consumer and its group, and whether a paused group is drained",
		Long: effects("nothing.", "takes time for a proof: drained is what pg_stat_activity and the inbox show.") +
			"\n\nA paused group is drained when no transaction is left that began before this looked, none is prepared, and\n" +
			"the inbox has nothing that was processed later. Sessions that this role may not see prove nothing: use a\n" +
			"role with pg_read_all_stats. With --wait it looks again until it is drained. Exit status 0, with --wait 1 if\n" +
			"it is not proven in time; 3 if nothing is known of the name.",
		Example: "  relay consumer show ledger\n  relay consumer show ledger --wait 30s",
	}, 1, 1)
	wait := c.Flags().Duration("wait", 0, "How long to wait until a paused group is drained")
	group := c.Flags().String("of-group", "", "The group of the consumer; its name if not given")
	inGroup(c, commonFlags, "wait", "of-group")
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		of := *group
		if of == "" {
			of = args[0]
		}
		report, err := d.show(cmd, args[0], of, *wait)
		if err != nil {
			return err
		}
		if err := report.write(cmd.OutOrStdout(), format.Format()); err != nil {
			return err
		}
		if *wait > 0 && (report.Drain == nil || !report.Drain.Drained) {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}

// consumerReport is the output of relay consumer show: a contract, only ever added to.
type consumerReport struct {
	Verdict  string       `json:"verdict"`
	Database string       `json:"database"`
	Consumer consumer     `json:"consumer"`
	Known    bool         `json:"known"` // false: it has never handled anything
	Group    string       `json:"group"`
	Switch   *groupSwitch `json:"switch"` // null when nobody has turned it
	Drain    *drainReport `json:"drain"`  // null while the group runs
}

// drainReport is a look at what a paused group may commit still.
type drainReport struct {
	Drained   bool          `json:"drained"`
	Cut       string        `json:"cut"`
	Hidden    int           `json:"hidden_sessions"`
	Prepared  int           `json:"prepared_transactions"`
	Processed int           `json:"processed_after_the_cut"`
	Open      []openSession `json:"open_transactions"`
}

type openSession struct {
	PID         int32  `json:"pid"`
	User        string `json:"user"`
	Application string `json:"application"`
	State       string `json:"state"`
	Began       string `json:"began"`
}

func drainOf(d *people.Drain) *drainReport {
	r := &drainReport{Drained: d.Drained(), Cut: output.Time(d.Cut), Hidden: d.Hidden, Prepared: d.Prepared, Processed: d.Processed, Open: []openSession{}}
	for _, s := range d.Open {
		r.Open = append(r.Open, openSession{s.PID, s.User, s.Application, s.State, output.Time(s.Began)})
	}
	return r
}

// why says what speaks against the proof.
func (r *drainReport) why() string {
	var reasons []string
	for _, reason := range []struct {
		n    int
		noun string
	}{{len(r.Open), "open transaction"}, {r.Prepared, "prepared transaction"}, {r.Hidden, "session that this role may not see"}, {r.Processed, "delivery that was processed after the cut"}} {
		if reason.n > 0 {
			reasons = append(reasons, output.Count(int64(reason.n), reason.noun))
		}
	}
	return strings.Join(reasons, ", ")
}

func (d *consumerDatabase) show(cmd *cobra.Command, name, group string, wait time.Duration) (*consumerReport, error) {
	found, err := d.Overviews(cmd.Context(), name)
	if err != nil {
		return nil, err
	}
	switches, err := d.Switches(cmd.Context(), group)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && len(switches) == 0 {
		return nil, exit.Errorf(exit.NotFound, "nothing is known of consumer %s in %s", name, d.database).
			WithHint("it has never handled anything; relay consumer list shows those that have")
	}
	r := &consumerReport{Database: d.database, Group: group, Consumer: consumer{Name: name}, Known: len(found) > 0}
	if r.Known {
		r.Consumer = consumerOf(found[0])
	}
	if len(switches) > 0 {
		s := switchOf(switches[0])
		r.Switch = &s
	}
	drain, err := d.drain(cmd, group, []string{name}, wait)
	if err != nil {
		return nil, err
	}
	if drain != nil {
		r.Drain = drainOf(drain)
	}
	r.Verdict = r.verdict()
	return r, nil
}

// drain looks whether a group is drained, again for as long as there is time. It returns nil for a group
// that runs.
func (d *consumerDatabase) drain(cmd *cobra.Command, group string, names []string, wait time.Duration) (*people.Drain, error) {
	deadline := time.Now().Add(wait)
	var cut time.Time
	told := ""
	for {
		look, err := d.Drain(cmd.Context(), group, names, cut)
		if errors.Is(err, people.ErrRunning) {
			return nil, nil
		}
		if err != nil || look.Drained() || time.Now().After(deadline) {
			return look, err
		}
		cut = look.Cut
		if why := drainOf(look).why(); why != told {
			told = why
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting: %s\n", why)
		}
		select {
		case <-cmd.Context().Done():
			return nil, cmd.Context().Err()
		case <-time.After(drainAgain):
		}
	}
}

// drainAgain is the pause between two looks.
const drainAgain = 100 * time.Millisecond

func (r *consumerReport) verdict() string {
	switch {
	case r.Drain == nil:
		return fmt.Sprintf("Group %s runs.", r.Group)
	case r.Drain.Drained && !r.Known:
		return fmt.Sprintf("Group %s is paused and drained: it commits nothing more. No consumer %s has ever handled anything here: is that its name?", r.Group, r.Consumer.Name)
	case r.Drain.Drained:
		return fmt.Sprintf("Group %s is paused and drained: it commits nothing more.", r.Group)
	}
	return fmt.Sprintf("Group %s is paused and not proven to be drained: %s.", r.Group, r.Drain.why())
}

func (r *consumerReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	table := output.Table{}
	table.Add("consumer", plain(r.Consumer.Name), "in "+r.Database)
	table.Add("last processed", plain(r.Consumer.LastProcessed))
	table.Add("failing", output.Number(r.Consumer.Failing))
	table.Add("quarantine", output.Number(r.Consumer.Quarantine))
	table.Add("dead letters", output.Number(r.Consumer.Dead), r.Consumer.OldestDead)
	table.Add("replays", output.Number(r.Consumer.Requested+r.Consumer.Replaying))
	if s := r.Switch; s != nil {
		table.Add("switch", map[bool]string{true: "paused", false: "running"}[s.Paused], fmt.Sprintf("since %s by %s: %s", s.Since, plain(s.By), plain(s.Reason)))
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", r.Verdict); err != nil {
		return err
	}
	if err := table.Write(w); err != nil || r.Drain == nil || len(r.Drain.Open) == 0 {
		return err
	}
	open := output.Table{Heads: []string{"PID", "USER", "APPLICATION", "STATE", "BEGAN"}, Right: []bool{true}}
	for _, s := range r.Drain.Open {
		open.Add(fmt.Sprint(s.PID), plain(s.User), plain(s.Application), s.State, s.Began)
	}
	return writeBelow(w, &open)
}
