package harness

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the unprivileged user that Postgres runs as, because it refuses
// to run as root.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged returns the account to switch to; nil when we are not root and
// the server can run as ourselves.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("look up user %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, &Error{
		Op:   "start postgres as root",
		Err:  errors.New("there is neither a user postgres nor a user nobody"),
		Hint: "run as another user, or add one: useradd --system postgres",
	}
}

// own gives the account a directory and checks that it can get there.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(dir, int(a.uid), int(a.gid)); err != nil {
		return err
	}
	return a.canEnter(filepath.Dir(dir))
}

// canEnter checks the search permission of a directory and of all above it.
func (a *account) canEnter(dir string) error {
	if a == nil {
		return nil
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.maySearch(info) {
			return &Error{
				Op:   "start postgres as user " + a.name,
				Err:  fmt.Errorf("the user can't enter %s (%s)", dir, info.Mode()),
				Hint: "use a directory that everyone can enter: set TMPDIR, or PostgresOptions.Dir, or " + EnvBinDir,
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func (a *account) maySearch(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && stat.Uid == a.uid:
		return info.Mode()&0o100 != 0
	case ok && stat.Gid == a.gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}
