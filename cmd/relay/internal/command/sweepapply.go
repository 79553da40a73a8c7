package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

// sweepOrder is what somebody asked for.
type sweepOrder struct {
	signature
	manifest, results, seal string
	limit                   int
	wait                    time.Duration
	apply, yes              bool
}

func sweepApplyCommand(p Process) *cobra.Command {
	c := verbWithArgs(&cobra.Command{
		Use:   "apply MANIFEST",
		Short: "Undo the orphans of a manifest that was reviewed (destroys them)",
		Long: effects("the candidates of the manifest, as its own statement of undo says: they are ERASED, each in a\n"+
			"         transaction of its own. What became of each is kept in the results file.",
			"acts on a candidate that has a receipt, an owner, other parts than were reviewed, or no mark: these are\n"+
				"         left to a person; runs as a superuser, as the owner of the schema, or as who stages events.") +
			"\n\nWithout --apply it shows what it would do: it runs the manifest's query in a read-only transaction, and\n" +
			"nothing else of the manifest. It wants the login that acts for that too. With --apply it needs --reason and\n" +
			"--seal, the seal that was reviewed, and asks; without a terminal, and with an output for programs, it needs\n" +
			"--yes. A seal that is given is compared before anything of the manifest runs. A run that was broken off goes\n" +
			"on with the same results file, and acts on nothing twice.\n\n" +
			"Exit status 0 nothing is left and all are undone; 1 refused, not confirmed, none undone, or without\n" +
			"--apply something to do; 3 no such manifest; 4 the login may not; 5 another run has not ended, or nobody\n" +
			"knows yet what became of a commit; 6 some are undone and others not.",
		Example: "  relay sweep apply orphans.manifest",
	}, 1, 1)
	var o sweepOrder
	f := c.Flags()
	f.BoolVar(&o.apply, "apply", false, "Do it")
	f.BoolVar(&o.yes, "yes", false, "Do not ask")
	f.StringVar(&o.seal, "seal", "", "Seal of the manifest that was reviewed")
	f.StringVar(&o.results, "results", "", "File with what became of each; MANIFEST.results if not given")
	f.IntVar(&o.limit, "limit", 0, "How many candidates to act on at most; all if not given")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "How long the lock of a candidate, or a transaction that a run left behind, is waited for")
	inGroup(c, commonFlags, "apply", "yes", "seal", "results", "limit", "wait")
	o.flags(c, keptInResults)
	open := sweepFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o.manifest = args[0]
		if err := o.check(cmd, p); err != nil {
			return err
		}
		m, err := sweep.ReadManifest(o.manifest)
		if err != nil {
			return sweepError(err)
		}
		at, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer at.pool.Close()
		return at.apply(cmd, m, &o, format.Format())
	}
	return c
}

// check refuses an order that cannot be meant, before anything is read.
func (o *sweepOrder) check(cmd *cobra.Command, p Process) error {
	if o.results == "" {
		o.results = o.manifest + ".results"
	}
	if o.limit < 0 || o.wait <= 0 {
		return exit.Errorf(exit.Usage, "--limit cannot be negative, and --wait must be positive")
	}
	if !o.apply {
		return nil
	}
	if o.seal == "" {
		return exit.Errorf(exit.Usage, "%s needs --seal", cmd.CommandPath()).WithHint("whoever reviewed the manifest has it: relay sweep plan printed it")
	}
	return o.signature.check(cmd, p)
}

// apply shows what would be done, asks, does it and says what was done.
func (at *sweeps) apply(cmd *cobra.Command, m *sweep.Manifest, o *sweepOrder, format output.Format) error {
	if m.Service.Undo == "" || m.Service.Lock == "" {
		return exit.Errorf(exit.Usage, "%s was planned by a program of the service, and only that can undo", o.manifest).
			WithHint("plan with relay sweep plan to undo by statements")
	}
	s, err := sweep.New(sweep.Config{Schema: at.schema, Candidates: m.Service.Candidates, Wait: o.wait,
		Quiet: time.Duration(m.Quiet * float64(time.Second)), Undo: sweep.Statements{LockSQL: m.Service.Lock, UndoSQL: m.Service.Undo}})
	if err != nil {
		return err
	}
	report, err := s.Preview(cmd.Context(), at.pool, m, o.application())
	if err != nil {
		return sweepError(err)
	}
	before := report.Count(sweep.Undone)
	r := newSweepReport(m, at.database, o, report)
	if !o.apply {
		if err := r.write(cmd.OutOrStdout(), format); err != nil {
			return err
		}
		return r.dryAnswer()
	}
	if format == output.Text {
		if err := r.write(cmd.OutOrStdout(), format); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("Undo %s in %s?", output.Count(r.planned(o.limit), "orphan"), at.database)
	if err := confirm(cmd, question, o.yes, format, "leave --apply out to see the plan only"); err != nil {
		return err
	}
	report, err = at.act(cmd.Context(), cmd, s, m, o)
	if report == nil {
		return sweepError(err)
	}
	r = newSweepReport(m, at.database, o, report)
	r.Applied = true
	if writeErr := r.write(cmd.OutOrStdout(), format); writeErr != nil {
		return writeErr
	}
	return r.answer(err, before)
}

func (at *sweeps) act(ctx context.Context, cmd *cobra.Command, s *sweep.Sweep, m *sweep.Manifest, o *sweepOrder) (*sweep.Report, error) {
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.end()
	a := o.application()
	a.Progress = func(done, of int) {
		progress.say("%s of %s have an outcome", output.Number(int64(done)), output.Count(of, "candidate"))
	}
	return s.Apply(ctx, at.pool, m, a)
}

func (o *sweepOrder) application() sweep.Application {
	return sweep.Application{Order: sweep.Order{Actor: o.actor, Reason: o.reason}, Seal: o.seal, Results: o.results, Limit: o.limit}
}

// dryAnswer is the status of a dry run: whether a sweep has something to do.
func (r *sweepReport) dryAnswer() error {
	if r.Pending > 0 {
		return exit.Answer(exit.No)
	}
	return nil
}

// answer is how a run ends: with what stopped it, or with what is not undone.
func (r *sweepReport) answer(err error, before int) error {
	undone := r.Undone
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil && undone > before:
		e := &exit.Error{Code: exit.Partial, Err: fmt.Errorf("%s, then: %w", output.Count(undone-before, "orphan")+" undone", err),
			Hint: "what was done is in the results file: run it again for the rest"}
		return e
	case err != nil:
		return sweepError(err)
	case undone == len(r.Results) && r.Pending == 0:
		return nil
	case undone == 0:
		return exit.Answer(exit.No)
	}
	return exit.Answer(exit.Partial)
}
