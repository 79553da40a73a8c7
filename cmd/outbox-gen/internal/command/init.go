package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

func initCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "init",
		Short: "Propose a configuration for the services of a repository",
		Long: effects("writes the configuration, outbox-gen.yaml.",
			"replaces a configuration; looks into hidden folders, symbolic links or other people's code.") +
			"\n\nIt looks for folders of migrations below the one that the configuration will be in, and recognises the\n" +
			"tool by its files. Exit status 1: there are no migrations.",
		Example: "  outbox-gen init --dry-run\n  outbox-gen init",
	})
	path, dry := configFlag(c, p), dryFlag(c)
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		found, err := gen.Discover(filepath.Dir(path()))
		if err != nil {
			return err
		}
		for _, dir := range found.Unreadable {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: can't look into %s\n", dir)
		}
		if len(found.Folders) == 0 {
			return exit.Errorf(exit.No, "no folder of migrations in %s", filepath.Dir(path())).
				WithHint("go to the root of the repository, or make the first folder, such as services/orders/migrations")
		}
		text := propose(found.Folders)
		if !*dry {
			if err := create(path(), text); err != nil {
				return err
			}
		}
		return writeProposal(cmd, format.Format(), path(), *dry, found.Folders, text)
	}
	return c
}

// create writes a new file whole, or none.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exit.Errorf(exit.Usage, "%s exists", path).WithHint("outbox-gen init --dry-run prints the proposal beside it")
	}
	if err != nil {
		return exit.Errorf(exit.Usage, "write configuration: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(exit.Errorf(exit.Usage, "write configuration: %w", err), os.Remove(path))
	}
	return nil
}

func writeProposal(cmd *cobra.Command, format output.Format, path string, dry bool, folders []gen.Found, text []byte) error {
	w := cmd.OutOrStdout()
	switch {
	case format == output.JSON:
		type folder struct {
			Name       string `json:"name"`
			Dir        string `json:"dir"`
			Tool       string `json:"tool"`
			Migrations int    `json:"migrations"`
		}
		all := make([]folder, 0, len(folders))
		for _, f := range folders {
			all = append(all, folder{f.Name, f.Dir, string(f.Tool), f.Migrations})
		}
		return output.WriteJSON(w, output.JSON, map[string]any{"path": path, "dry_run": dry, "folders": all})
	case format == output.Name:
		_, err := fmt.Fprintln(w, path)
		return err
	case dry:
		_, err := w.Write(text)
		return err
	}
	table := output.Table{Heads: []string{"SERVICE", "TOOL", "MIGRATIONS", "FOLDER"}, Right: []bool{false, false, true}}
	for _, f := range folders {
		tool := string(f.Tool)
		if tool == "" {
			tool = "?"
		}
		table.Add(f.Name, tool, fmt.Sprint(f.Migrations), f.Dir)
	}
	if err := table.Write(w); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; look it over, then: outbox-gen write --dry-run\n", path)
	return nil
}
