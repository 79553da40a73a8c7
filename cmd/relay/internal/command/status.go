package command

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func statusCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "status",
		Short: "Say who drains the outbox and what waits",
		Long: effects("nothing.", "counts beyond 100,000 events of a lane, so that looking at a large backlog stays cheap.") +
			"\n\nIt asks the database, and if RELAY_STREAM is set the broker, which publisher a relay with these settings\n" +
			"uses now, and says so when the broker cannot be reached or has no such stream. Exit status 0, or 1 when events wait and nobody\n" +
			"drains, or the broker does not take them; with --watch it goes on until it is interrupted, also while the database cannot be reached.",
		Example: "  relay status\n  relay status -o json",
	})
	load := settingFlags(c, p, settings.Database, settings.NATS, settings.Stream)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL)
	watch := c.Flags().Bool("watch", false, "Repeat until interrupted")
	interval := c.Flags().Duration("interval", 2*time.Second, "Pause between two looks with --watch")
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long one look may take")
	inGroup(c, commonFlags, "watch", "interval")
	inGroup(c, connectionFlags, "timeout")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *watch && format.Format() == output.JSON:
			return exit.Errorf(exit.Usage, "--watch writes a stream, and json is one document").WithHint("use -o jsonl")
		case *interval <= 0:
			return exit.Errorf(exit.Usage, "--interval must be positive").WithHint("write a duration such as 500ms or 2s")
		}
		pool, loaded, err := openLoaded(cmd.Context(), load)
		if err != nil {
			return err
		}
		defer pool.Close()
		look := statusLook{pool: pool, schema: loaded.Schema, group: loaded.Group, timeout: *timeout, keep: loaded.Retention, settings: &loaded.Settings}
		defer look.close()
		if *watch {
			return look.watch(cmd, format.Format(), *interval)
		}
		return look.once(cmd, format.Format())
	}
	return c
}

// statusLook reads the status of one group.
type statusLook struct {
	pool          *pgxpool.Pool
	schema, group string
	timeout, keep time.Duration
	settings      *settings.Settings
	js            jetstream.JetStream // nil until the broker is needed and can be reached
}

func (l *statusLook) once(cmd *cobra.Command, format output.Format) error {
	report, err := l.read(cmd.Context())
	if err != nil {
		return err
	}
	if err := report.write(cmd.OutOrStdout(), format); err != nil {
		return err
	}
	if !report.Healthy {
		return exit.Answer(exit.No)
	}
	return nil
}

// watch repeats the look until ctx ends. A failure that may pass is reported and does not end it.
func (l *statusLook) watch(cmd *cobra.Command, format output.Format, interval time.Duration) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		report, err := l.read(cmd.Context())
		if err == nil {
			err = report.redraw(cmd.OutOrStdout(), format)
		}
		found := classify(cmd.Context(), err)
		switch exit.Of(found) {
		case exit.OK:
		case exit.Unavailable:
			exit.Report(cmd.ErrOrStderr(), found, format != output.Text)
		case exit.Interrupted: // the way to end it: nothing to explain
			return exit.Answer(exit.Interrupted)
		default:
			return found
		}
		select {
		case <-cmd.Context().Done():
			return exit.Answer(exit.Interrupted)
		case <-ticker.C:
		}
	}
}

func (l *statusLook) read(ctx context.Context) (*statusReport, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	schema, err := outbox.ReadSchema(ctx, l.pool, l.schema)
	if err == nil {
		err = schema.Check(canonical.Relay)
	}
	if err != nil {
		return nil, fmt.Errorf("check the database: %w", err)
	}
	status, err := relay.ReadStatus(ctx, l.pool, l.schema, l.group)
	if err != nil {
		return nil, err
	}
	if len(status.Lanes) == 0 {
		return nil, missingGroup(l.group)
	}
	kept, err := retention.Look(ctx, l.pool, l.schema, l.keep)
	if err != nil {
		return nil, err
	}
	report := newStatusReport(status, l.schema, l.publisher(ctx))
	report.retain(kept)
	return report, nil
}
