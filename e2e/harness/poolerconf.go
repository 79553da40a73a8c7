package harness

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// poolerConf is what a pooler runs with, save for where it is.
type poolerConf struct {
	server   *url.URL
	settings map[string]string
	keeps    bool // prepared statements outlive a transaction
}

// poolerSettings are ours and the caller's.
func poolerSettings(server *url.URL, opts PoolerOptions, minor int) poolerConf {
	all := map[string]string{
		"pool_mode":         "transaction",
		"default_pool_size": "20",
		"max_client_conn":   "500",
		// As pgbouncer has it by default: what one client leaves in a session meets the next.
		"server_reset_query_always": "0",
		// Events of a megabyte pass in pieces of this size.
		"pkt_buf": "65536",
		// The default of 15 s would have every test of an outage wait.
		"server_login_retry": "0.1",
	}
	if minor >= tracksStatements {
		all["max_prepared_statements"] = "200" // the default of later versions
	}
	maps.Copy(all, opts.Settings)
	keeps := all["pool_mode"] == "session" || all["max_prepared_statements"] != "" && all["max_prepared_statements"] != "0"
	if minor < tracksStatements {
		delete(all, "max_prepared_statements") // not known to it, and none is what it keeps
		keeps = all["pool_mode"] == "session"
	}
	return poolerConf{server: server, settings: all, keeps: keeps}
}

// text is the content of pgbouncer.ini. A role that is not in the file of users is looked up in
// the server, so that each logs in as itself.
func (c poolerConf) text(dir string, port int) string {
	all := maps.Clone(c.settings)
	maps.Copy(all, map[string]string{
		"listen_addr":     loopback,
		"listen_port":     strconv.Itoa(port),
		"unix_socket_dir": "",
		"auth_type":       "trust",
		"admin_users":     superuser,
		"auth_file":       filepath.Join(dir, "users"),
	})
	var text strings.Builder
	fmt.Fprintf(&text, "[databases]\n* = host=%s port=%s auth_user=%s\n[pgbouncer]\n", c.server.Hostname(), c.server.Port(), superuser)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = %s\n", name, all[name])
	}
	return text.String()
}
