//go:build !pooler

package relay_test

// route is how the relays of a test get to their database: straight.
type route struct{}

func (*route) to(s *setup) string { return s.db.URL }

// pooled says that what the server answers to a login may come to a relay with another SQLSTATE.
func (s *setup) pooled() bool { return false }

// prepares says whether the relays prepare statements. Without them results come as text, in which
// a payload is twice as long.
func (s *setup) prepares() bool { return true }

// otherQueryModes are those that work beside the default one.
var otherQueryModes = []string{"exec", "cache_describe", "describe_exec"}

// killBackends ends the sessions of a pod that is killed.
const killBackends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"

// renewSessions gives the relays new sessions, where somebody else keeps the old ones.
func (s *setup) renewSessions() {}
