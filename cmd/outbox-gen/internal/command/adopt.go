package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/report"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/gen/adopt"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func adoptCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "adopt",
		Short: "Take over an outbox that a service wrote itself",
		Long: effects("nothing; with --write, adds a migration to the service, and renews atlas.sum.",
			"changes a database: the migration does, when the tool of the service runs it. It drops nothing without --drop-old.") +
			"\n\nIt looks at the table, and knows: a published_at flag, a status column, the Debezium outbox event router,\n" +
			"watermill-sql, and a hand copy of our table. The migration moves what was not published into event_outbox,\n" +
			"in order, under a lock: writers wait meanwhile, and are forwarded by a trigger afterwards. Payloads keep\n" +
			"their bytes; of jsonb, those are the text that the server writes. The old table stays.\n\n" +
			"Exit status: 0 it is understood, 1 there is no such table, 2 it is refused, or the service has the migration\n" +
			"already; nothing is written then.",
		Example: "  outbox-gen adopt --database-url-file database.url --service orders --source /orders\n" +
			"  outbox-gen adopt --database-url-file database.url --service orders --source /orders --write\n" +
			"  outbox-gen adopt --database-url-file database.url --service orders --drop-old",
	})
	path, name := configFlag(c, p), serviceFlag(c)
	flags := addAdoptFlags(c)
	write := c.Flags().Bool("write", false, "Write the migration, and not only show it")
	drop := c.Flags().Bool("drop-old", false, "The migration that drops the old table, once nobody writes there any more")
	inGroup(c, commonFlags, "write", "drop-old")
	databases := addDatabaseFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		opts, err := flags.read()
		if err != nil {
			return err
		}
		file, err := load(p, path())
		if err != nil {
			return err
		}
		s, err := onlyService(file, *name)
		if err != nil {
			return err
		}
		opts.Params = file.Config.Effective(s).Params
		if err := opts.Validate(); err != nil {
			return exit.Errorf(exit.Usage, "%w", err).WithHint("outbox-gen adopt --help")
		}
		a := adopting{cmd: cmd, p: p, file: file, service: s, opts: opts, write: *write, drop: *drop}
		return a.run(databases, format.Format())
	}
	return c
}

// onlyService finds the service, which need not be named when it is the only one.
func onlyService(file *config.File, name string) (gen.Service, error) {
	if name == "" && len(file.Config.Services) == 1 {
		return file.Config.Services[0], nil
	}
	if name == "" {
		return gen.Service{}, exit.Errorf(exit.Usage, "the configuration has several services").WithHint("name one with --service: %v", file.ServiceNames())
	}
	return service(file, name)
}

// adopting is one run of the command.
type adopting struct {
	cmd         *cobra.Command
	p           Process
	file        *config.File
	service     gen.Service
	opts        adopt.Options
	write, drop bool
}

func (a adopting) run(databases databaseFlags, format output.Format) error {
	targets, err := databases.targets()
	if err == nil && len(targets) != 1 {
		err = exit.Errorf(exit.Usage, "adopt looks at one database, and %d are named", len(targets))
	}
	if err != nil {
		return err
	}
	if err := a.hasCanonical(); err != nil {
		return err
	}
	found, err := a.look(databases, targets[0])
	if err != nil {
		return err
	}
	migration, err := a.migration(found)
	if err != nil {
		return err
	}
	plan := gen.PlanMigration
	if a.write {
		plan = func(c gen.Config, m gen.Migration) (gen.Report, error) {
			return gen.AddMigration(a.cmd.Context(), c, m)
		}
	}
	done, err := plan(a.file.Config, migration)
	if err != nil {
		return a.file.Explain(err)
	}
	result := report.Adoption{
		Adoption: found, Service: a.service.Name, Drop: a.drop,
		Changes: report.Changes{Report: done, Dry: !a.write, Place: place(a.file)},
	}
	w := a.cmd.OutOrStdout()
	if format == output.JSON {
		return result.JSON(w)
	}
	if err := result.Text(w, output.NewPainter(w, a.p.Getenv)); err != nil {
		return err
	}
	fmt.Fprintln(a.cmd.ErrOrStderr(), result.Summary())
	return nil
}

func (a adopting) migration(found *adopt.Adoption) (gen.Migration, error) {
	if a.drop {
		return found.DropMigration(a.service.Name)
	}
	return found.Migration(a.service.Name)
}

// hasCanonical wants the files of the outbox in the folder: the migration needs what they make.
func (a adopting) hasCanonical() error {
	if a.drop {
		return nil
	}
	c := a.file.Config
	c.Services = []gen.Service{a.service}
	planned, err := gen.Plan(c)
	if err != nil {
		return a.file.Explain(err)
	}
	missing := slices.ContainsFunc(planned.Changes, func(one gen.Change) bool { return one.Component == canonical.Outbox })
	if missing {
		return exit.Errorf(exit.Usage, "service %s does not have the canonical schema yet, into which the events would go", a.service.Name).
			WithHint("outbox-gen write")
	}
	return nil
}

func (a adopting) look(databases databaseFlags, t target) (*adopt.Adoption, error) {
	ctx, cancel := context.WithTimeout(a.cmd.Context(), *databases.timeout)
	defer cancel()
	look := adopt.Look
	if a.drop {
		look = adopt.LookToDrop
	}
	var found *adopt.Adoption
	err := t.connected(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var err error
		found, err = look(ctx, conn, a.opts)
		return err
	})
	var refused *adopt.RefusedError
	var missing *adopt.NotFoundError
	switch {
	case errors.As(err, &refused):
		return nil, refusal(t, refused)
	case errors.As(err, &missing):
		code := exit.Usage
		if len(missing.Tables) == 0 {
			code = exit.No
		}
		return nil, exit.Errorf(code, "%s: %w", t.name, missing).WithHint("%s", missing.Hint())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, exit.Errorf(exit.Usage, "%s did not answer within %s", t.name, *databases.timeout).WithHint("give it more with --timeout")
	}
	return found, err
}

// refusal lists every reason with what to do about it.
func refusal(t target, refused *adopt.RefusedError) error {
	err := &exit.Error{Code: exit.Usage, Err: fmt.Errorf("table %s of %s is not adopted, and nothing was changed", refused.Table, t.name)}
	for _, r := range refused.Reasons {
		err.Problems = append(err.Problems, exit.Problem{Message: r.Message, Hint: r.Hint})
	}
	return err
}
