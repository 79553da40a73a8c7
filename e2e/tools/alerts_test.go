package tools_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// expression is a PromQL expression of a file, with the place where it stands.
type expression struct{ place, text string }

// alertRules are the rules that a Prometheus loads.
type alertRules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readRules(t *testing.T) alertRules {
	t.Helper()
	var rules alertRules
	if err := yaml.UnmarshalWithOptions(deployed(t, "deploy/prometheus/holdfast-relay.rules.yaml"), &rules, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	return rules
}

// dashboardExpressions reads the queries of the panels, with values for what Grafana fills in.
func dashboardExpressions(t *testing.T) []expression {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	if err := json.Unmarshal(deployed(t, "deploy/grafana/holdfast-relay.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$group", ".*")
	var found []expression
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found = append(found, expression{"panel " + panel.Title, fill.Replace(target.Expr)})
		}
	}
	labels := regexp.MustCompile(`^label_values\((.*), \w+\)$`)
	for _, variable := range dashboard.Templating.List {
		if m := labels.FindStringSubmatch(variable.Definition); m != nil {
			found = append(found, expression{"variable", m[1]})
		}
	}
	return found
}

// metricsOf parses an expression as Prometheus does, and returns the metrics that it asks for.
func metricsOf(t *testing.T, e expression) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(e.text)
	if err != nil {
		t.Errorf("%s: %v\n%s", e.place, err, e.text)
		return nil
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	if len(names) == 0 {
		t.Errorf("%s asks for no metric: %s", e.place, e.text)
	}
	return names
}

// TestAlertsAndDashboardAskForWhatARelayHas loads the alerts and the dashboard, and looks for every
// metric in the scrape of a relay process under load. A name that no relay has is an alert
// that never fires.
func TestAlertsAndDashboardAskForWhatARelayHas(t *testing.T) {
	t.Parallel()
	asked := dashboardExpressions(t)
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			asked = append(asked, expression{"alert " + rule.Alert, rule.Expr})
		}
	}
	if len(asked) < 50 {
		t.Errorf("%d expressions are found", len(asked))
	}
	scrape := scrapeUnderLoad(t)
	shown := map[string]bool{}
	for _, e := range asked {
		for _, name := range metricsOf(t, e) {
			shown[name] = true
			if !slices.Contains(scrape, name) {
				t.Errorf("%s: no relay has a metric %s", e.place, name)
			}
		}
	}
	for _, name := range scrape {
		ours := strings.HasPrefix(name, "holdfast_") || strings.HasPrefix(name, "messaging_")
		// A histogram is shown by its buckets.
		part := strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
		if ours && !part && !shown[name] {
			t.Errorf("neither the dashboard nor an alert asks for %s", name)
		}
	}
}

// TestEveryAlertHasARunbook and every runbook an alert; each says what is seen, what it means and
// what to do.
func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	runbooks := map[string]string{}
	for _, section := range strings.Split(string(deployed(t, "docs/runbooks.md")), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		runbooks[title] = text
	}
	var alerts []string
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			alerts = append(alerts, rule.Alert)
			text := runbooks[rule.Alert]
			for _, part := range []string{"**Symptoms.**", "**Meaning.**", "**Do.**", "`relay "} {
				if !strings.Contains(text, part) && !(part == "`relay " && strings.Contains(text, "\nrelay ")) {
					t.Errorf("the runbook of %s lacks %s", rule.Alert, part)
				}
			}
			if want := "docs/runbooks.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook"] != want {
				t.Errorf("%s: the runbook is %q, want %q", rule.Alert, rule.Annotations["runbook"], want)
			}
			if rule.Annotations["summary"] == "" || !slices.Contains([]string{"warning", "critical"}, rule.Labels["severity"]) {
				t.Errorf("%s has no summary or no severity", rule.Alert)
			}
			if _, err := time.ParseDuration(rule.For); rule.For != "" && err != nil {
				t.Errorf("%s: %v", rule.Alert, err)
			}
		}
	}
	slices.Sort(alerts)
	if diff := cmp.Diff(alerts, slices.Sorted(maps.Keys(runbooks))); diff != "" {
		t.Errorf("alerts and runbooks (-alerts +runbooks):\n%s", diff)
	}
}

// scrapeUnderLoad runs a relay, gives it events, one of which the broker refuses, and returns the
// names of its metrics.
func scrapeUnderLoad(t *testing.T) []string {
	t.Helper()
	r := relays{t: t, bin: build(t), db: outboxtest.NewDatabase(t), nats: outboxtest.NewNATS(t).URL(), stream: "WATCHED"}
	outboxtest.NewStream(t, r.nats, r.stream, "watched.>")
	const sql = `select outbox.publish_text('/test', 'test.happened', '{}', partitionkey => 'k' || n) from generate_series(1, 500) n`
	if _, err := r.db.Pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	address := startWatched(t, r)
	names := regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]`)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(drainLimit); ; <-tick.C {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was read
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		if strings.Contains(text, "holdfast_relay_retained{") && strings.Contains(text, "holdfast_relay_dedup_window_used_ratio{") &&
			strings.Contains(text, "holdfast_relay_settle_duration_seconds_bucket{") && strings.Contains(text, "holdfast_relay_lanes{") && strings.Contains(text, "holdfast_retention_records_pruned_total{") {
			found := map[string]bool{}
			for _, m := range names.FindAllStringSubmatch(text, -1) {
				found[m[1]] = true
			}
			return slices.Sorted(maps.Keys(found))
		}
		if time.Now().After(deadline) {
			t.Fatalf("the relay does not show everything:\n%s", text)
		}
	}
}

// startWatched starts a relay process that measures often, and returns the address of its metrics.
func startWatched(t *testing.T, r relays) string {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "relay.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(r.bin.relay, "run")
	cmd.Env, cmd.Stderr = append(r.env("watched"), "RELAY_MEASURE_EVERY=100ms", "RELAY_LOG_FORMAT=json"), log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended, which Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("the relay ended with %v", err)
		}
		_ = log.Close() // it was written by the child
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(drainLimit); time.Now().Before(deadline); <-tick.C {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var said struct{ Msg, Addr string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "http server listens" {
				return said.Addr
			}
		}
	}
	text, err := os.ReadFile(log.Name())
	t.Fatal(fmt.Sprintf("the relay does not listen: %v\n%s", err, text))
	return ""
}
