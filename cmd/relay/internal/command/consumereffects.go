package command

import (
	"fmt"
	"slices"

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

// oneTable reads a file that must describe one table, or one with the name.
func oneTable(cmd *cobra.Command, file, name string) (description.Table, error) {
	if file == "" {
		return description.Table{}, exit.Errorf(exit.Usage, "%s needs --effects", cmd.CommandPath()).WithHint("docs/effects.md says how to describe a table of effects")
	}
	tables, err := readEffects(cmd, file)
	if err != nil {
		return description.Table{}, err
	}
	if name == "" && len(tables) == 1 {
		return tables[0], nil
	}
	i := slices.IndexFunc(tables, func(t description.Table) bool { return t.Table == name })
	if i < 0 {
		return description.Table{}, exit.Errorf(exit.Usage, "%s describes %d tables, and none is chosen", file, len(tables)).WithHint("choose one with --table")
	}
	return tables[i], nil
}
