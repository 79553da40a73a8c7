package command

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

// sweepFiles are the files that plan takes.
type sweepFiles struct{ candidates, lock, undo, manifest string }

func sweepPlanCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "plan",
		Short: "Find orphans by the service's query, and write them down for review",
		Long: effects("nothing in the database. It writes the manifest, a file that must not exist.",
			"lists what a receipt covers or what is younger than --quiet; writes more than ids.") +
			"\n\nThe three files hold one statement each: the query that finds orphans, the lock under which everybody\n" +
			"changes one, and its undo. They become part of the manifest: what is reviewed is what runs. Plan when no\n" +
			"operation is under way. The seal that it prints is what relay sweep apply wants from whoever reviewed the\n" +
			"manifest. Exit status 0 if there are no orphans, 1 if there are: all of them, or as many as --limit says. It\n" +
			"tells when there are more.",
		Example: "  relay sweep plan --candidates orphans.sql --lock lock.sql --undo undo.sql --manifest orphans.manifest",
	})
	var files sweepFiles
	f := c.Flags()
	f.StringVar(&files.candidates, "candidates", "", "File with the query that finds orphans: id, marked, made_at, entity_kind, entity_id; $1 is one id or null")
	f.StringVar(&files.lock, "lock", "", "File with the statement that locks one; $1 is its id")
	f.StringVar(&files.undo, "undo", "", "File with the statement that undoes one and returns outcome and reason; $1 is its id, $2 who does it, $3 why")
	f.StringVar(&files.manifest, "manifest", "", "File to write")
	quiet := f.Duration("quiet", 24*time.Hour, "How old an entity must be")
	limit := f.Int("limit", 10_000, "How many orphans to plan at most")
	inGroup(c, commonFlags, "candidates", "lock", "undo", "manifest", "quiet", "limit")
	open := sweepFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if *quiet <= 0 || *limit < 1 || *limit > most {
			return exit.Errorf(exit.Usage, "--quiet must be positive, and --limit 1 to %d", most)
		}
		cfg, err := files.read()
		if err != nil {
			return err
		}
		cfg.Quiet, cfg.Most = *quiet, *limit
		at, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer at.pool.Close()
		cfg.Schema = at.schema
		return sweepError(at.plan(cmd, cfg, files.manifest, format.Format()))
	}
	return c
}

func (f *sweepFiles) read() (cfg sweep.Config, err error) {
	var undo sweep.Statements
	if cfg.Candidates, err = readStatement("candidates", f.candidates); err != nil {
		return cfg, err
	}
	if undo.LockSQL, err = readStatement("lock", f.lock); err != nil {
		return cfg, err
	}
	if undo.UndoSQL, err = readStatement("undo", f.undo); err != nil {
		return cfg, err
	}
	cfg.Undo = undo
	if f.manifest == "" {
		return cfg, exit.Errorf(exit.Usage, "--manifest is missing").WithHint("name a file that does not exist yet")
	}
	return cfg, nil
}

func (at *sweeps) plan(cmd *cobra.Command, cfg sweep.Config, path string, format output.Format) error {
	s, err := sweep.New(cfg)
	if err != nil {
		return err
	}
	m, err := s.Plan(cmd.Context(), at.pool)
	if err != nil {
		return err
	}
	r := newSweepPlan(m, at.database)
	if len(m.Candidates) > 0 {
		if err := m.Write(path); err != nil {
			return err
		}
		r.Manifest, r.Seal = path, m.Seal()
	}
	if err := r.write(cmd.OutOrStdout(), format); err != nil {
		return err
	}
	if len(m.Candidates) > 0 {
		return exit.Answer(exit.No)
	}
	return nil
}

// sweepPlan is the output of relay sweep plan: a contract, only ever added to.
type sweepPlan struct {
	Database  string   `json:"database"`
	Schema    string   `json:"schema"`
	Manifest  string   `json:"manifest"` // "" when there are no orphans
	Seal      string   `json:"seal"`
	PlannedAt string   `json:"planned_at"`
	Quiet     float64  `json:"quiet_seconds"`
	Active    int64    `json:"active_generations"`
	Covered   int      `json:"covered"`
	Young     int      `json:"young"`
	More      bool     `json:"more"`
	IDs       []string `json:"ids"`
	Ambiguous []string `json:"ambiguous_ids"`

	candidates []sweep.Planned
}

func newSweepPlan(m *sweep.Manifest, database string) *sweepPlan {
	r := &sweepPlan{Database: database, Schema: m.Database.Schema, PlannedAt: output.Time(m.PlannedAt), Quiet: m.Quiet, Active: m.Active,
		Covered: m.Covered, Young: m.Young, More: m.More, IDs: []string{}, Ambiguous: []string{}, candidates: m.Candidates}
	for _, c := range m.Candidates {
		if c.Ambiguous {
			r.Ambiguous = append(r.Ambiguous, c.ID)
		} else {
			r.IDs = append(r.IDs, c.ID)
		}
	}
	return r
}

func (r *sweepPlan) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, r)
	case output.Name:
		return writeNames(w, r.candidates, func(c sweep.Planned) string { return c.ID })
	}
	so := ""
	if r.More {
		so = " so far"
	}
	left := fmt.Sprintf("Left out%s: %s with a receipt, %s younger than %s.", so, output.Number(int64(r.Covered)), output.Number(int64(r.Young)), age(r.Quiet))
	if len(r.candidates) == 0 {
		_, err := fmt.Fprintf(w, "No orphans in %s. %s\n", r.Database, left)
		return err
	}
	count := output.Count(len(r.candidates), "orphan")
	if r.More {
		count = "The first " + count
	}
	if _, err := fmt.Fprintf(w, "%s in %s, %s without the mark. %s\n\n", count, r.Database, output.Number(int64(len(r.Ambiguous))), left); err != nil {
		return err
	}
	table := output.Table{Heads: []string{"CANDIDATE", "MADE", "ENTITIES", "MARK"}, Right: []bool{false, false, true}}
	for _, c := range r.candidates[:min(len(r.candidates), sweepShown)] {
		table.Add(c.ID, output.Time(c.MadeAt), output.Number(int64(len(c.Entities))), yesNo(!c.Ambiguous))
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if n := len(r.candidates) - sweepShown; n > 0 {
		if _, err := fmt.Fprintf(w, "and %s more, in the manifest.\n", output.Number(int64(n))); err != nil {
			return err
		}
	}
	if r.More {
		if _, err := fmt.Fprintln(w, "There are more than these: plan again when they are undone, or with a larger --limit."); err != nil {
			return err
		}
	}
	active := ""
	if r.Active > 0 {
		active = fmt.Sprintf("\n%s under way: it is better to plan when none is.\n", output.Count(r.Active, "generation"))
	}
	_, err := fmt.Fprintf(w, "%s\nManifest %s\nSeal     %s\n\nReview it. Then: relay sweep apply %s --seal %s\n", active, r.Manifest, r.Seal, r.Manifest, r.Seal)
	return err
}

// sweepShown is how many ids are shown to people.
const sweepShown = 50
