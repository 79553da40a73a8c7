// Package probe answers over HTTP how the daemon is:
//
//	/livez    200 while the process can answer at all. It looks at nothing else: restarting a
//	          healthy relay does not bring a database or a broker back.
//	/readyz   200 while the relay can do its work, 503 with the reason, what relay check found
//	          lately and what to do when not; JSON if the request accepts application/json
//	/metrics  what Prometheus scrapes
//
// It changes nothing and needs no login, so it listens on loopback unless it is
// told otherwise. Every request has deadlines.
package probe
