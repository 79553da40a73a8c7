package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/report"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

func verifyCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "verify",
		Short: "Compare live databases with the canonical schema",
		Long: effects("nothing.", "repairs: each difference comes with the SQL that does, for you to run.") +
			"\n\nIt reads the catalog of the server, and not what the migrations recorded. Expected is what this server\n" +
			"makes of the canonical files, in a schema that is rolled back, or a snapshot of it where the role may not\n" +
			"create one. With --service the components and parameters are those of the configuration, otherwise\n" +
			"those that are recorded in the database. It works through a transaction pooler.\n\n" +
			"Exit status: 0 there is no difference, 1 there is, 2 a database could not be asked.",
		Example: "  outbox-gen verify --database-url-file database.url\n" +
			"  outbox-gen verify --database-url-file database.url --service orders --role producer=orders_app",
	})
	what := addSchemaFlags(c, p)
	roles := roleFlag(c, "Database role whose rights are compared too, ROLE=NAME")
	databases := addDatabaseFlags(c, p)
	source := output.NewChoice("auto", string(catalog.FromScratch), string(catalog.FromSnapshot))
	c.Flags().Var(source, "expect", "Where it is known from what is expected")
	inGroup(c, connectionFlags, "expect")
	complete(c, "expect", source.Allowed())
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		schema, err := what.read()
		if err != nil {
			return err
		}
		opts := gen.VerifyOptions{Schema: schema.Params.Schema, Components: schema.Components, Params: schema.Params}
		if opts.Roles, err = roles(); err != nil {
			return err
		}
		if source.Value() != "auto" {
			opts.Source = catalog.Source(source.Value())
		}
		targets, err := databases.targets()
		if err != nil {
			return err
		}
		v := verification{cmd: cmd, opts: opts, databases: databases, targets: targets}
		return v.run(p, format.Format())
	}
	return c
}

// verification is one run of the command.
type verification struct {
	cmd       *cobra.Command
	opts      gen.VerifyOptions
	databases databaseFlags
	targets   []target
}

// run asks every database, also when one could not be asked, and writes what they said.
func (v verification) run(p Process, format output.Format) error {
	var result report.Verified
	for i, t := range v.targets {
		if len(v.targets) > 1 {
			fmt.Fprintf(v.cmd.ErrOrStderr(), "verify %d of %d: %s\n", i+1, len(v.targets), t.name)
		}
		found, err := v.ask(t)
		if v.cmd.Context().Err() != nil {
			return err
		}
		result.Add(t.name, found, err, exit.HintOf(err))
	}
	w := v.cmd.OutOrStdout()
	if format == output.JSON {
		if err := result.JSON(w); err != nil {
			return err
		}
	} else {
		if err := result.Text(w, output.NewPainter(w, p.Getenv)); err != nil {
			return err
		}
		fmt.Fprintln(v.cmd.ErrOrStderr(), result.Summary())
	}
	switch {
	case result.Failed() > 0:
		return exit.Answer(exit.Usage)
	case !result.Clean():
		return exit.Answer(exit.No)
	}
	return nil
}

func (v verification) ask(t target) (*gen.Verified, error) {
	ctx, cancel := context.WithTimeout(v.cmd.Context(), *v.databases.timeout)
	defer cancel()
	var found *gen.Verified
	err := t.connected(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var err error
		found, err = gen.Verify(ctx, conn, v.opts)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = exit.Errorf(exit.Usage, "%s did not answer within %s", t.name, *v.databases.timeout).WithHint("give it more with --timeout")
	}
	return found, err
}
