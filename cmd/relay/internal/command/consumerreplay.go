package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/consumers"
)

func consumerReplayCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "replay NAME",
		Short: "Ask a consumer to handle once more what the stream stored in a time",
		Long: effects("with --apply, the stream: it gets a consumer that is the request, which the instances of NAME remove at the end.",
			"applies anything twice: each message goes through the claim of its fact. It publishes nothing, and leaves\n"+
				"         dead letters to their own replay.") +
			"\n\nIt shows what it would deliver again, and does nothing without --apply; then it asks, and without a terminal,\n" +
			"or with -o json, needs --yes. One range at a time. Times are those of the broker. Without --apply it also\n" +
			"shows how far a replay is that goes on. Exit status 0 done, 1 one goes on already, 3 no such consumer.",
		Example: "  relay consumer replay ledger --stream ORDERS --since 2h\n" +
			"  relay consumer replay ledger --stream ORDERS --since 2h --reason 'effects were lost' --apply --yes",
	}, 1, 1)
	var since, until moment
	f := c.Flags()
	f.Var(&since, "since", "Only messages that were stored at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"; needed")
	f.Var(&until, "until", "Only messages that were stored before this time; now if not given")
	subjects := f.StringArray("subject", nil, "Only messages of this subject, may be repeated and have wildcards; those of the consumer if not given")
	inGroup(c, commonFlags, "since", "until", "subject")
	who := decisionFlags(c, keptByConsumers, true)
	load := settingFlags(c, p, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if since.at.IsZero() {
			return exit.Errorf(exit.Usage, "%s needs --since", cmd.CommandPath()).WithHint("say from when on to deliver again, such as --since 2h")
		}
		if err := checkWindow(since, until); err != nil {
			return err
		}
		if who.apply {
			if err := who.check(cmd, p); err != nil {
				return err
			}
		}
		loaded, err := load(settings.NeedNATS, settings.NeedStream)
		if err != nil {
			return err
		}
		js, err := dialFor(cmd, &loaded.Settings)
		if err != nil {
			return err
		}
		defer js.Conn().Close()
		plan, err := consumers.PlanReplay(cmd.Context(), js, loaded.Stream, args[0], consumers.Range{Since: since.at, Until: until.at, Subjects: *subjects})
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return noStream(loaded.Stream)
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			return exit.Errorf(exit.NotFound, "stream %s has no consumer %s", loaded.Stream, args[0]).WithHint("it is made when its first instance starts")
		case err != nil:
			return err
		}
		return requestReplay(cmd, js, plan, who, format.Format())
	}
	return c
}

// consumerReplayReport is the output of relay consumer replay: a contract, only ever added to.
type consumerReplayReport struct {
	Stream      string             `json:"stream"`
	Server      string             `json:"server"`
	Consumer    string             `json:"consumer"`
	Messages    uint64             `json:"messages"`
	First       uint64             `json:"first_stream_seq"`
	Last        uint64             `json:"last_stream_seq"`
	Requested   bool               `json:"requested"`
	Outstanding *outstandingReplay `json:"outstanding"` // null when none goes on
}

type outstandingReplay struct {
	Actor      string `json:"actor"`
	Reason     string `json:"reason"`
	Requested  string `json:"requested_at"`
	Pending    uint64 `json:"pending"`
	AckPending int    `json:"ack_pending"`
}

func requestReplay(cmd *cobra.Command, js jetstream.JetStream, plan *consumers.ReplayPlan, who *decision, format output.Format) error {
	r := &consumerReplayReport{Stream: plan.Stream, Server: js.Conn().ConnectedUrlRedacted(), Consumer: plan.Consumer, Messages: plan.Messages, First: plan.First, Last: plan.Last}
	if o := plan.Outstanding; o != nil {
		r.Outstanding = &outstandingReplay{o.Actor, o.Reason, output.Time(o.Requested), o.Pending, o.AckPending}
	}
	if !who.apply || plan.Messages == 0 {
		return r.write(cmd.OutOrStdout(), format, who.apply)
	}
	if plan.Outstanding != nil {
		return exit.Errorf(exit.No, "%w", consumers.ErrReplayOutstanding).WithHint("wait for its end: without --apply this shows how far it is")
	}
	if format == output.Text {
		if err := r.write(cmd.OutOrStdout(), format, true); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Deliver %s of stream %s to %s again?", output.Count(int64(plan.Messages), "message"), plan.Stream, plan.Consumer)
	if err := confirm(cmd, question, who.yes, format, "leave --apply out to see the plan only"); err != nil {
		return err
	}
	if err := plan.Request(cmd.Context(), js, who.actor, who.reason); err != nil {
		return err
	}
	r.Requested = true
	if format == output.JSON {
		return output.WriteJSON(cmd.OutOrStdout(), format, r)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\nRequested: the instances of %s begin within seconds.\n", plan.Consumer)
	return err
}

func (r *consumerReplayReport) write(w io.Writer, format output.Format, applying bool) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	verdict := fmt.Sprintf("Replay would deliver %s to %s again.", output.Count(int64(r.Messages), "message"), r.Consumer)
	if r.Messages == 0 {
		verdict = "Nothing to replay: no message is chosen."
	}
	table := output.Table{}
	table.Add("stream", r.Stream+" on "+r.Server)
	if r.Messages > 0 {
		table.Add("sequences", fmt.Sprintf("%d to %d", r.First, r.Last))
	}
	if o := r.Outstanding; o != nil {
		table.Add("going on", fmt.Sprintf("since %s by %s: %d to deliver, %d to settle", o.Requested, plain(o.Actor), o.Pending, o.AckPending))
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", verdict); err != nil {
		return err
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if !applying && r.Messages > 0 {
		_, err := fmt.Fprintln(w, "\nNothing was requested: add --apply and --reason.")
		return err
	}
	return nil
}
