package gen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// repository is everything that a configuration names, open for reading.
type repository struct {
	config  Config
	root    *os.Root
	folders []*folder // one for each service, in their order
	shelf   *shelf
}

// openRepository validates the configuration and opens every folder. What is wrong with a
// folder is reported like what is wrong with the configuration: all of it, together.
func openRepository(c Config) (*repository, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		return nil, fmt.Errorf("open the root of the repository: %w", err)
	}
	r := &repository{config: c, root: root, shelf: newShelf(c)}
	var found problems
	for i, s := range c.Services {
		f, err := openFolder(root, i, c.Effective(s))
		if err != nil {
			message, hint := explainFolder(s.Dir, err)
			found.add(i, "dir", hint, "%s", message)
			continue
		}
		r.folders = append(r.folders, f)
		r.checkAlias(&found, f)
	}
	if err := found.error(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// checkAlias finds a folder that was listed before under another path.
func (r *repository) checkAlias(found *problems, f *folder) {
	for _, other := range r.folders[:len(r.folders)-1] {
		if os.SameFile(other.info, f.info) {
			found.add(f.index, "dir", "list each folder once", "dir %s is the same folder as %s of service %s", f.service.Dir, other.service.Dir, other.service.Name)
			return
		}
	}
}

func (r *repository) close() error {
	var failed []error
	for _, f := range r.folders {
		failed = append(failed, f.close())
	}
	return errors.Join(append(failed, r.root.Close())...)
}

// explainFolder turns what the system says about a folder into a sentence and a hint.
func explainFolder(dir string, err error) (message, hint string) {
	var pathErr *fs.PathError
	name := dir
	if errors.As(err, &pathErr) && pathErr.Path != "." && pathErr.Path != "" {
		name = pathErr.Path
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == dir:
		return fmt.Sprintf("folder %s does not exist", dir), "make it, or correct the path: mkdir -p " + quote(dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s is a symbolic link to nothing", name), "remove the link, or make what it leads to"
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s is not a folder", dir), "name the folder that holds the migrations"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s can't be read: permission denied", name), "let the user that runs outbox-gen read it"
	case isEscape(err):
		return fmt.Sprintf("%s leads out of the repository through a symbolic link", name), "nothing outside the folder of the configuration file is read or written: put the files inside, or move the configuration up"
	default:
		return fmt.Sprintf("folder %s can't be read: %v", dir, err), "look at the folder: ls -la " + quote(dir)
	}
}

// isEscape recognises what os.Root says of a path that leads out of it. It has no error
// value of its own, but it is none of the system's either.
func isEscape(err error) bool {
	var pathErr *fs.PathError
	if !errors.As(err, &pathErr) {
		return false
	}
	var errno syscall.Errno
	return !errors.As(pathErr.Err, &errno) && pathErr.Err.Error() == "path escapes from parent"
}
