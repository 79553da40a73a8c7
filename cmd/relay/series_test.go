package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// stageDistinct stages n events, each with a type, a subject, a source and a key of its own.
func stageDistinct(t *testing.T, db *outboxtest.Database, from, n int) {
	t.Helper()
	const sql = `select outbox.publish_events(array_agg('id-' || i), array_agg('/source/' || i), array_agg('type.t' || i), array_agg('subject-' || i),
	               null, null, null, array_agg('key-' || i), null, null) from generate_series($1::int, $1::int + $2::int - 1) as i`
	if _, err := db.Pool.Exec(t.Context(), sql, from, n); err != nil {
		t.Fatal(err)
	}
}

// allowedLabels are the labels of the relay's own metrics. The conventions for messaging have
// theirs, of constant value but for the type of an error, which is a class.
var (
	allowedLabels   = []string{"lane", "class", "outcome", "holdfast_group", "le"}
	messagingLabels = []string{"messaging_system", "messaging_operation_name", "error_type"}
	buildLabels     = []string{"version", "commit", "go"}
	labelName       = regexp.MustCompile(`([a-z_]+)="`)
)

// TestSeriesDoNotDependOnWhatIsPublished: labels without a bound eat the memory of the relay and
// of whoever collects.
func TestSeriesDoNotDependOnWhatIsPublished(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	p := startRelay(t, os.Args[0], "RELAY_DATABASE_URL="+db.URL, "RELAY_NATS_URL="+broker.URL(), "RELAY_MEASURE_EVERY=100ms")
	series := func() []string {
		var names []string
		for name := range p.scrape() {
			if strings.HasPrefix(name, "holdfast_") || strings.HasPrefix(name, "messaging_") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	// 2,000 keys have events in every lane.
	stageDistinct(t, db, 1, 2000)
	stored(t, js, 2000)
	p.awaitMetric("the database is measured", exactly(0), "holdfast_relay_backlog")
	p.awaitMetric("every lane has settled", func(float64) bool {
		lanes := 0
		for name := range p.scrape() {
			if strings.HasPrefix(name, "holdfast_relay_batches_total{") {
				lanes++
			}
		}
		return lanes == 16
	}, "holdfast_relay_batches_total")
	p.awaitMetric("retention has had a look", exactly(0), "holdfast_retention_records_pruned_total")
	before := series()

	const total = 100_000
	for from := 2001; from <= total; from += 14_000 {
		stageDistinct(t, db, from, 14_000)
		stored(t, js, uint64(from-1+14_000))
	}
	p.awaitMetric("every event is counted", exactly(total), "holdfast_relay_events_published_total")
	if diff := cmp.Diff(before, series()); diff != "" {
		t.Errorf("%d distinct types, subjects, sources and keys changed the series (-before +after):\n%s", total, diff)
	}
	for _, name := range before {
		allowed := allowedLabels
		switch metric, _, _ := strings.Cut(name, "{"); {
		case strings.HasPrefix(metric, "messaging_"):
			allowed = slices.Concat(allowedLabels, messagingLabels)
		case metric == "holdfast_build_info":
			allowed = slices.Concat(allowedLabels, buildLabels)
		}
		for _, m := range labelName.FindAllStringSubmatch(name, -1) {
			if !slices.Contains(allowed, m[1]) {
				t.Errorf("%s has the label %s", name, m[1])
			}
		}
		if strings.Contains(name, "overflow") {
			t.Errorf("series are folded: %s", name)
		}
	}
	perMetric := map[string]int{}
	for _, name := range before {
		metric, _, _ := strings.Cut(name, "{")
		perMetric[metric]++
	}
	for _, metric := range slices.Sorted(maps.Keys(perMetric)) {
		if n := perMetric[metric]; n > 200 {
			t.Errorf("%s has %d series: near the limit of 2000 at which the SDK folds them, with 256 lanes", metric, n)
		}
	}
	t.Logf("%d series of %d metrics", len(before), len(perMetric))
}
