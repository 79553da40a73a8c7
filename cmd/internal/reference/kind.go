package reference

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// File is a file of the reference, and what is in it.
type File struct{ Name, Text string }

// kind is a form of the reference: the verb that writes it, and where ours lies.
type kind struct {
	name, short string
	writes      string // what the verb changes
	dir         string // of the example
	files       func(program *Page) []File
}

func kinds() []kind {
	return []kind{
		{
			name: "man", short: "Write the manual pages", dir: "man/man1", files: Manual,
			writes: "files in --dir: a page of section 1 for each command.",
		},
		{
			name: "markdown", short: "Write the reference as one Markdown document", dir: "docs/reference",
			writes: "one file in --dir, named after the program.",
			files:  func(program *Page) []File { return []File{{Name: program.Name() + ".md", Text: Markdown(program)}} },
		},
	}
}

// Write puts the files into a folder, which it makes if need be, and names each.
func Write(w io.Writer, dir string, files []File) error {
	if dir == "" {
		return exit.Errorf(exit.Usage, "--dir is needed").WithHint("name the folder to write to; it is made if it does not exist")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.Errorf(exit.Usage, "make the folder: %w", err).WithHint("name another with --dir, or mend its rights")
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, []byte(f.Text), 0o644); err != nil {
			return exit.Errorf(exit.Usage, "write the reference: %w", err).WithHint("name another folder with --dir, or mend its rights")
		}
		if _, err := fmt.Fprintln(w, path); err != nil {
			return fmt.Errorf("name what was written: %w", err)
		}
	}
	return nil
}
