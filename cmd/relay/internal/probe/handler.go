package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reason says why the relay cannot do its work.
type Reason struct {
	Code    string    `json:"code"` // "start", "database", "broker" or "stopping"
	Message string    `json:"message"`
	Hint    string    `json:"hint"`
	Since   time.Time `json:"since,omitzero"`
	// Findings are what relay check found lately, in part or not at all for the first probes.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is what one check of relay check found.
type Finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // warn or fail
	Text     string `json:"text"`
	Hint     string `json:"hint"`
}

// Handler answers the three paths. ready returns nil while the relay can work; it is called
// for /readyz only, from many goroutines.
func Handler(ready func() *Reason, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) { answer(w, r, nil, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, r, ready(), "ready") })
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "/livez\n/readyz\n/metrics") // a client that went away
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, reason *Reason, good string) {
	status := http.StatusOK
	if reason != nil {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		body := map[string]any{"status": good}
		if reason != nil {
			body = map[string]any{"status": "not " + good, "error": reason}
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(body) // a client that went away
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	text := good + "\n"
	if reason != nil {
		text = fmt.Sprintf("not %s: %s\n", good, reason.Message)
		if reason.Hint != "" {
			text += "hint: " + reason.Hint + "\n"
		}
		for _, f := range reason.Findings {
			text += fmt.Sprintf("%s %s: %s\n  hint: %s\n", f.Severity, f.Check, f.Text, f.Hint)
		}
	}
	_, _ = w.Write([]byte(text)) // a client that went away
}
