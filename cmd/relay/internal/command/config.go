package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

func configCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:     "config",
		Short:   "Look at the settings",
		Long:    effects("nothing.", "connects to anything, or shows a secret."),
		Example: "  relay config env > relay.env",
	}, configPrintCommand(p), configValidateCommand(p), configEnvCommand())
}

func configPrintCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "print",
		Short: "Show each setting and where its value comes from",
		Long: effects("nothing.", "shows a secret: passwords are "+`"xxxxx"`+", also those in addresses.") +
			"\n\nIt takes the flags of relay run. Settings that cannot be read are reported as well.",
		Example: "  relay config print --batch-size 500",
	})
	load := settingFlags(c, p, settings.Sections()...)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		loaded, loadErr := load()
		if err := writeSettings(cmd, format.Format(), loaded); err != nil {
			return err
		}
		return loadErr
	}
	return c
}

func writeSettings(cmd *cobra.Command, format output.Format, loaded *settings.Loaded) error {
	if format == output.JSON {
		type setting struct {
			Name   string `json:"name"`
			Value  string `json:"value"`
			Origin string `json:"origin"`
			Secret bool   `json:"secret"`
		}
		all := make([]setting, 0, len(loaded.Values))
		for _, v := range loaded.Values {
			all = append(all, setting{v.Name, v.Shown(), v.Origin.String(), v.Secret})
		}
		return output.WriteJSON(cmd.OutOrStdout(), format, map[string]any{"settings": all})
	}
	table := output.Table{Heads: []string{"SETTING", "VALUE", "FROM"}}
	for _, v := range loaded.Values {
		table.Add(v.Name, v.Shown(), v.Origin.String())
	}
	return table.Write(cmd.OutOrStdout())
}

func configValidateCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "validate",
		Short: "Say whether relay run would accept the settings",
		Long: effects("nothing.", "connects to anything; a database that does not exist is no problem here.") +
			"\n\nIt takes the flags of relay run. Exit status 0 if they are good, 2 if not, with every problem.",
		Example: "  relay config validate --stream ORDERS",
	})
	load := settingFlags(c, p, settings.Sections()...)
	format := outputFlag(c, output.Text, output.JSON)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := load(settings.NeedRelay); err != nil {
			return err
		}
		if format.Format() == output.JSON {
			return output.WriteJSON(cmd.OutOrStdout(), output.JSON, map[string]bool{"valid": true})
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "The configuration is good.")
		return err
	}
	return c
}

func configEnvCommand() *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "env",
		Short:   "Print an environment file with every setting, explained",
		Long:    effects("nothing.", "prints a value that is set: the file has the defaults, and all its lines are comments."),
		Example: "  relay config env > relay.env",
	})
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprint(cmd.OutOrStdout(), settings.EnvFile())
		return err
	}
	return c
}
