package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/audit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

func auditCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "audit",
		Short: "Show what people and services decided",
		Long: effects("nothing.", "shows a payload.") +
			"\n\nIt reads what the components of this database record: relay, hold, saga and consumer. One that is not\n" +
			"installed is named. The role auditor is enough.",
		Example: "  relay audit list --since 24h",
	}, auditListCommand(p), auditExportCommand(p))
}

// auditFlags gives a command the flags that choose decisions, and returns how to judge them.
func auditFlags(c *cobra.Command) func() (audit.Filter, error) {
	var f audit.Filter
	var since, until moment
	flags := c.Flags()
	flags.Var(&since, "since", "Only what was decided at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	flags.Var(&until, "until", "Only what was decided before this time")
	flags.StringVar(&f.Actor, "actor", "", "Only what this person or service decided")
	flags.StringSliceVar(&f.What, "what", nil, "Only this kind, may be repeated: hold.release, or hold for all about holds")
	flags.BoolVar(&f.Newest, "newest", false, "The newest first, and not the oldest")
	inGroup(c, commonFlags, "since", "until", "actor", "what", "newest")
	complete(c, "what", auditWords())
	return func() (audit.Filter, error) {
		if err := checkWindow(since, until); err != nil {
			return f, err
		}
		f.Since, f.Until = since.at, until.at
		return f, checkWords("what", auditWords(), f.What...)
	}
}

// auditWords are the kinds of decisions, and their nouns.
func auditWords() []string {
	words := audit.Whats()
	for _, what := range audit.Whats() {
		noun, _, _ := strings.Cut(what, ".")
		words = append(words, noun)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// auditLog gives a command the flags of the database, and returns how to read its decisions once they
// are parsed. What is not installed is named on stderr.
func auditLog(c *cobra.Command, p Process) func(ctx context.Context, f audit.Filter, do func(audit.Decision) error) ([]string, error) {
	load := settingFlags(c, p, settings.Database)
	timeout := c.Flags().Duration("timeout", 10*time.Second, "How long connecting and looking at the schema may take")
	inGroup(c, connectionFlags, "timeout")
	return func(ctx context.Context, f audit.Filter, do func(audit.Decision) error) ([]string, error) {
		pool, loaded, err := openLoaded(ctx, load)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		opening, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		log, err := audit.Open(opening, pool, loaded.Schema)
		if errors.Is(err, audit.ErrNothing) {
			return nil, exit.Errorf(exit.Usage, "check the database: %w", err).WithHint("name the right schema in RELAY_SCHEMA, or install a component: relay version shows them")
		}
		if err != nil {
			return nil, fmt.Errorf("check the database: %w", err)
		}
		missing := []string{}
		for _, c := range log.Missing {
			missing = append(missing, string(c))
		}
		if len(missing) > 0 {
			_, _ = fmt.Fprintf(p.Stderr, "not installed here: %s\n", strings.Join(missing, ", ")) // no one else to tell
		}
		return missing, auditDenied(log.Each(ctx, f, do))
	}
}

// auditDenied says which roles may read every record.
func auditDenied(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == "42501" {
		return &exit.Error{Code: exit.Denied, Err: err, Hint: "log in with the role auditor or operator: outbox-gen roles prints what they may do"}
	}
	return err
}
