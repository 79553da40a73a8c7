package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
)

// The headings, in the order of help.
const (
	commonFlags     = grammar.CommonFlags
	connectionFlags = grammar.ConnectionFlags
	outputFlags     = grammar.OutputFlags
)

func flagGroups() []string {
	return []string{commonFlags, mappingFlags, connectionFlags, outputFlags}
}

const configVariable = "OUTBOX_GEN_CONFIG"

// configFlag gives a command --config, and returns where the configuration is once the
// flags are parsed.
func configFlag(c *cobra.Command, p Process) func() string {
	path := c.Flags().StringP("config", "c", "", "Configuration, "+config.FileName+" if not set ("+configVariable+")")
	inGroup(c, commonFlags, "config")
	return func() string {
		switch {
		case *path != "":
			return *path
		case p.Getenv(configVariable) != "":
			return p.Getenv(configVariable)
		default:
			return config.FileName
		}
	}
}

// dryFlag gives a command --dry-run.
func dryFlag(c *cobra.Command) *bool {
	dry := c.Flags().BoolP("dry-run", "n", false, "Write nothing, and show what would be written")
	inGroup(c, commonFlags, "dry-run")
	return dry
}

// flagError makes an error of the flag parser one that people can use.
func flagError(c *cobra.Command, err error) error {
	wrong, _ := grammar.FlagError(c, err)
	return wrong
}
