package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
)

// help prints what package reference has to say about a command.
func help(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), layout().Page(c).Help()) }

// layout is how help, the Markdown document and the manual pages show flags.
func layout() reference.Layout { return reference.Layout{Key: grammar.GroupKey, Groups: flagGroups()} }
