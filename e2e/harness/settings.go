package harness

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// confName is the file of our settings. It is included from postgresql.conf,
// so ALTER SYSTEM still wins, and it marks a cluster as made by the harness.
const confName = "holdfast.conf"

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]*$`)

// reserved settings follow from how the harness runs and finds the server.
var reserved = []string{"port", "listen_addresses", "unix_socket_directories"}

func checkSettings(settings map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		switch {
		case !settingName.MatchString(name):
			return fmt.Errorf("configure postgres: %q is not the name of a setting", name)
		case slices.Contains(reserved, name):
			return fmt.Errorf("configure postgres: the harness decides %s itself", name)
		case strings.ContainsAny(settings[name], "\n\r\x00"):
			return fmt.Errorf("configure postgres: the value of %s has more than one line", name)
		}
	}
	return nil
}

// settings returns what the cluster runs with: ours, the caller's, and the
// reserved ones.
func (p *Postgres) settings() map[string]string {
	all := map[string]string{
		"max_connections": "200",
		"timezone":        "UTC",
		"log_timezone":    "UTC",
		// Every statement that fails is in the log with its SQLSTATE, so that a
		// test can assert which errors did not happen.
		"log_min_messages":        "warning",
		"log_min_error_statement": "error",
		"log_line_prefix":         "%m [%p] sqlstate=%e db=%d ",
		// Each CREATE DATABASE would log two checkpoints.
		"log_checkpoints": "off",
	}
	if !p.opts.Durable {
		all["fsync"] = "off"
		all["full_page_writes"] = "off"
		all["max_wal_size"] = "512MB" // it may be in memory
		// In files below the data, so that Close removes it also after a kill.
		all["dynamic_shared_memory_type"] = "mmap"
	}
	maps.Copy(all, p.opts.Settings)
	all["port"] = strconv.Itoa(p.port)
	all["listen_addresses"] = loopback
	all["unix_socket_directories"] = p.socketDir()
	return all
}

// socketDir is our own directory. Without room for a socket's path in it there
// is no socket; the harness itself connects over TCP.
func (p *Postgres) socketDir() string {
	if len(filepath.Join(p.dir, ".s.PGSQL.65535.lock")) >= socketRoom {
		return ""
	}
	return p.dir
}

// include makes a new cluster read our settings. The file is created last: a
// cluster that has it is complete.
func (p *Postgres) include() error {
	f, err := os.OpenFile(filepath.Join(p.dataDir(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\ninclude '" + confName + "'\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return p.writeConf()
}

func (p *Postgres) writeConf() error {
	quote := strings.NewReplacer(`\`, `\\`, `'`, `''`)
	var conf strings.Builder
	settings := p.settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&conf, "%s = '%s'\n", name, quote.Replace(settings[name]))
	}
	return os.WriteFile(filepath.Join(p.dataDir(), confName), []byte(conf.String()), 0o644)
}
