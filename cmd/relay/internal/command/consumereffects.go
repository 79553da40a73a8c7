package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/effectfile"
	description "github.com/holdfast-dev/holdfast/consumers/effects"
)

// effectsFlag gives a command the file that describes tables of effects.
func effectsFlag(c *cobra.Command) *string {
	file := c.Flags().String("effects", "", "File that describes the tables of effects: docs/effects.md")
	inGroup(c, commonFlags, "effects")
	return file
}

// readEffects reads the file.
func readEffects(cmd *cobra.Command, file string) ([]description.Table, error) {
	tables, err := effectfile.Read(file)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: fmt.Errorf("%s: %w", cmd.CommandPath(), err), Hint: "docs/effects.md has every field with an example"}
	}
	return tables, nil
}

// chosenEffects is a file that describes tables of effects, and what chooses one of them.
type chosenEffects struct{ file, table, kind, source *string }

func chosenEffectsFlags(c *cobra.Command) *chosenEffects {
	f := c.Flags()
	e := &chosenEffects{
		file:   effectsFlag(c),
		table:  f.String("table", "", "Only the description of this table, when the file has several"),
		kind:   f.String("type", "", "Only the description of facts of this type, when the file has several"),
		source: f.String("source", "", "Only the description of facts of this source, when the file has several"),
	}
	inGroup(c, commonFlags, "table", "type", "source")
	e.complete(c, "table", e.table, func(t description.Table) string { return t.Table })
	e.complete(c, "type", e.kind, func(t description.Table) string { return t.Type })
	e.complete(c, "source", e.source, func(t description.Table) string { return t.Source })
	return e
}

// complete offers what the file has, of those descriptions that the other flags mean.
func (e *chosenEffects) complete(c *cobra.Command, flag string, typed *string, of func(description.Table) string) {
	// Fails as in complete of every command.
	_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		*typed = ""
		tables, _ := effectfile.Read(*e.file) // without a file there is nothing to offer
		var values []cobra.Completion
		for _, t := range tables {
			if e.means(t) && !slices.Contains(values, of(t)) {
				values = append(values, of(t))
			}
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	})
}

func (e *chosenEffects) means(t description.Table) bool {
	is := func(given, has string) bool { return given == "" || given == has }
	return is(*e.table, t.Table) && is(*e.kind, t.Type) && is(*e.source, t.Source)
}

// one returns the description that is meant. Of several none is: a command that took the first would compare,
// or repair, another thing than somebody thinks.
func (e *chosenEffects) one(cmd *cobra.Command) (description.Table, error) {
	if *e.file == "" {
		return description.Table{}, exit.Errorf(exit.Usage, "%s needs --effects", cmd.CommandPath()).WithHint("docs/effects.md says how to describe a table of effects")
	}
	tables, err := readEffects(cmd, *e.file)
	if err != nil {
		return description.Table{}, err
	}
	var meant []description.Table
	for _, t := range tables {
		if e.means(t) {
			meant = append(meant, t)
		}
	}
	switch len(meant) {
	case 1:
		return meant[0], nil
	case 0:
		return description.Table{}, exit.Errorf(exit.Usage, "%s: no description is meant", *e.file).
			WithHint("choose by --table, --type or --source: %s", identities(tables))
	}
	wrong := exit.Errorf(exit.Usage, "%s: %d descriptions are meant, and one is needed", *e.file, len(meant))
	var left []string
	for _, flag := range []struct{ name, given string }{{"--table", *e.table}, {"--type", *e.kind}, {"--source", *e.source}} {
		if flag.given == "" {
			left = append(left, flag.name)
		}
	}
	if len(left) == 0 {
		return description.Table{}, wrong.WithHint("they have one table, type and source: keep one of them, or put them into files of their own")
	}
	last := len(left) - 1
	how := left[last]
	if last > 0 {
		how = strings.Join(left[:last], ", ") + " or " + how
	}
	return description.Table{}, wrong.WithHint("choose by %s: %s", how, identities(meant))
}

// identities says what tells descriptions apart.
func identities(tables []description.Table) string {
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = t.Table + " " + t.Type + " " + t.Source
	}
	return strings.Join(all, "; ")
}
