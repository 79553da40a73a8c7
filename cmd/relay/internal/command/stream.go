package command

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

func streamCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "stream",
		Short:   "Compare the stream with what the relay needs, and make it so",
		Long:    effects("with apply, the stream.", "deletes a stream or its messages by itself."),
		Example: "  relay stream plan --stream ORDERS",
	}, streamPlanCommand(p), streamApplyCommand(p))
}

// streamSpec are the flags that describe a stream.
type streamSpec struct {
	subjects []string
	window   time.Duration
	replicas int
	maxAge   time.Duration
	maxBytes settings.Bytes
	batches  bool
}

func (s *streamSpec) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&s.subjects, "subject", nil, "Subject that the stream must capture, may be repeated; by default what the subject template can give")
	f.DurationVar(&s.window, "dedup-window", 0, "Time in which a repeated id is not stored again; 2m on a new stream")
	f.IntVar(&s.replicas, "replicas", 0, "Copies of the stream in the cluster; 1 on a new stream")
	f.DurationVar(&s.maxAge, "max-age", 0, "Age at which the stream drops messages; never on a new stream")
	f.Var(&s.maxBytes, "max-bytes", "Size that the stream may have; unlimited on a new stream")
	f.BoolVar(&s.batches, "allow-batches", false, "Let the stream take fast batches, which need server 2.14; a new stream does if the server can, unless RELAY_PUBLISHER is async")
	inGroup(c, commonFlags, "subject", "dedup-window", "replicas", "max-age", "max-bytes", "allow-batches")
}

// spec adds what the settings say.
func (s *streamSpec) spec(l *settings.Loaded) (relay.StreamSpec, error) {
	if s.window < 0 || s.replicas < 0 || s.maxAge < 0 {
		return relay.StreamSpec{}, exit.Errorf(exit.Usage, "--dedup-window, --replicas and --max-age cannot be negative").
			WithHint("leave a flag out to keep what the stream has")
	}
	spec := relay.StreamSpec{Name: l.Stream, Subjects: s.subjects, Window: s.window, Replicas: s.replicas,
		MaxAge: s.maxAge, MaxBytes: int64(s.maxBytes), Publisher: l.Publisher}
	if s.batches {
		spec.Publisher = relay.PublisherFast
	}
	if len(spec.Subjects) > 0 {
		return spec, nil
	}
	encoder, err := wire.NewEncoder(wire.Config{Prefix: l.SubjectPrefix, Subject: l.SubjectTemplate, Stream: l.Stream})
	if err != nil {
		return relay.StreamSpec{}, &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err}
	}
	spec.Subjects = []string{encoder.Subjects()}
	return spec, nil
}

// planStream loads, connects and compares. The caller closes the connection of js.
func planStream(cmd *cobra.Command, load func(...settings.Need) (*settings.Loaded, error), s *streamSpec) (jetstream.JetStream, *streamReport, error) {
	loaded, err := load(settings.NeedNATS, settings.NeedStream)
	if err != nil {
		return nil, nil, err
	}
	spec, err := s.spec(loaded)
	if err != nil {
		return nil, nil, err
	}
	js, err := dialFor(cmd, &loaded.Settings)
	if err != nil {
		return nil, nil, err
	}
	plan, err := relay.PlanStream(cmd.Context(), js, spec)
	if err != nil {
		js.Conn().Close()
		return nil, nil, err
	}
	return js, newStreamReport(plan, js.Conn().ConnectedUrlRedacted()), nil
}

func streamPlanCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "plan",
		Short: "Show what relay stream apply would change",
		Long: effects("nothing.", "creates or changes the stream.") +
			"\n\nExit status 0 if there is nothing to do, 1 if there is.",
		Example: "  relay stream plan --stream ORDERS --replicas 3",
	})
	var spec streamSpec
	spec.flags(c)
	load := settingFlags(c, p, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		js, report, err := planStream(cmd, load, &spec)
		if err != nil {
			return err
		}
		defer js.Conn().Close()
		if err := report.write(cmd.OutOrStdout(), format.Format()); err != nil {
			return err
		}
		if len(report.Changes) > 0 {
			return exit.Answer(exit.No)
		}
		return nil
	}
	return c
}

func streamApplyCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "apply",
		Short: "Create the stream, or change it to what the relay needs",
		Long: effects("the stream: what relay stream plan shows, after asking.",
			"deletes a stream, removes a subject, or touches a field without a flag. The server drops messages\n"+
				"         that are over a lower --max-age or --max-bytes.") +
			"\n\nWithout a terminal, and with -o json, it needs --yes.",
		Example: "  relay stream apply --stream ORDERS --yes",
	})
	var spec streamSpec
	spec.flags(c)
	load := settingFlags(c, p, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON)
	dryRun := c.Flags().Bool("dry-run", false, "Show the plan and change nothing")
	yes := c.Flags().Bool("yes", false, "Do not ask")
	inGroup(c, commonFlags, "dry-run", "yes")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		js, report, err := planStream(cmd, load, &spec)
		if err != nil {
			return err
		}
		defer js.Conn().Close()
		if *dryRun || len(report.Changes) == 0 {
			return report.write(cmd.OutOrStdout(), format.Format())
		}
		if format.Format() == output.Text {
			if err := report.write(cmd.OutOrStdout(), output.Text); err != nil {
				return err
			}
		}
		question := fmt.Sprintf("Apply this to stream %s?", report.Stream)
		if err := confirm(cmd, question, *yes, format.Format(), "--dry-run to see the plan only"); err != nil {
			return err
		}
		if err := report.plan.Apply(cmd.Context(), js); err != nil {
			return err
		}
		report.Applied = true
		return report.writeApplied(cmd.OutOrStdout(), format.Format())
	}
	return c
}
