package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// The formats that only this command has.
const (
	nagiosFormat     output.Format = "nagios"
	prometheusFormat output.Format = "prometheus"
)

func checkCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with database, broker and stream, and what to do",
		Long: effects("nothing.", "publishes a probe, or takes a lane. It reads, as the relay's own user.") +
			"\n\nOne line per fact. --pre leaves out what must be installed first. --wait repeats until nothing fails.\n" +
			"relay run refuses to start against some of it; --allow overrides a check by name, here and there.\n\n" +
			"Exit status 0 healthy, also with warnings; 1 not healthy; 2 usage; 5 a server cannot be reached.\n" +
			"With --format nagios as that protocol wants it: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
		Example: "  relay check --stream ORDERS\n  relay check --pre\n  relay check --stream ORDERS --wait 30s --format json",
	})
	load := settingFlags(c, p, settings.Database, settings.NATS, settings.Stream, settings.Drain)
	pre := c.Flags().Bool("pre", false, "Leave out the schema and the stream, before they are there")
	wait := c.Flags().Duration("wait", 0, "Repeat until nothing fails, for this long at most")
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long one look may take")
	maxAge := c.Flags().Duration("max-transaction-age", 10*time.Minute, "How old a transaction may be without a warning")
	maxSkew := c.Flags().Duration("max-clock-skew", time.Second, "How far the clock of the database may be off without a warning")
	inGroup(c, commonFlags, "pre", "wait", "max-transaction-age", "max-clock-skew")
	inGroup(c, connectionFlags, "timeout")
	format := outputFlag(c, output.Text, output.JSON, nagiosFormat, prometheusFormat)
	c.Flags().Lookup("output").Usage += "; --format is another name"
	// --format is how this flag is called where monitoring is.
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "format" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *maxAge <= 0 || *maxSkew <= 0 {
			return exit.Errorf(exit.Usage, "--max-transaction-age and --max-clock-skew must be positive")
		}
		needs := []settings.Need{settings.NeedRelay}
		if *pre {
			needs = []settings.Need{settings.NeedDatabase, settings.NeedNATS}
		}
		report, err := func() (*checkReport, error) {
			loaded, err := load(needs...)
			if err != nil {
				return nil, err
			}
			target, err := checkTarget(&loaded.Settings)
			if err != nil {
				return nil, err
			}
			target.Before, target.MaxAge, target.MaxSkew = *pre, *maxAge, *maxSkew
			return look(cmd, target, *timeout, *wait)
		}()
		if err != nil && format.Format() == nagiosFormat {
			return unknown(cmd, classify(cmd.Context(), err))
		}
		if err != nil {
			return err
		}
		if err := report.write(cmd.OutOrStdout(), format.Format()); err != nil {
			return err
		}
		return exit.Answer(report.status(format.Format()))
	}
	return c
}

// checkTarget is what the settings mean to the engine of checks.
func checkTarget(s *settings.Settings) (check.Target, error) {
	pool, err := s.Pool(s.Workers)
	if err != nil {
		return check.Target{}, fmt.Errorf("open database: %w", err)
	}
	return check.Target{Database: pool, Servers: s.Servers(), Login: s.Login(), Relay: s.Relay(), Keep: s.Retention, Allow: s.Allowed()}, nil
}

// lookAgain is the pause between two looks.
const lookAgain = time.Second

// look looks once, and again while something fails and there is time. What it waits for is said when
// it changes.
func look(cmd *cobra.Command, target check.Target, timeout, wait time.Duration) (*checkReport, error) {
	ctx := cmd.Context()
	deadline := time.Now().Add(wait)
	told := ""
	for {
		began := time.Now()
		once, cancel := context.WithTimeout(ctx, timeout)
		r, err := check.Run(once, target)
		cancel()
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if r.Healthy() || !time.Now().Add(lookAgain).Before(deadline) {
			return newCheckReport(r, began, time.Since(began)), nil
		}
		if text := namesOf(r.Of(check.Fail)); text != told {
			told = text
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting: %s\n", text)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func namesOf(findings []check.Finding) string {
	names := make([]string, len(findings))
	for i, f := range findings {
		names[i] = f.Check
	}
	return strings.Join(names, ", ")
}
