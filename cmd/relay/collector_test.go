package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP collector over HTTP that keeps what it gets.
type collector struct {
	t   *testing.T
	url string

	mu       sync.Mutex // guards what follows
	spans    []*tracepb.Span
	metrics  map[string]bool   // names
	resource map[string]string // of the last request
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, metrics: map[string]bool{}, resource: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.takeTraces)
	mux.HandleFunc("POST /v1/metrics", c.takeMetrics)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) decode(r *http.Request, into proto.Message) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil {
		c.t.Errorf("decode what was pushed: %v", err)
	}
	return err == nil
}

func (c *collector) takeTraces(_ http.ResponseWriter, r *http.Request) {
	var pushed collectortrace.ExportTraceServiceRequest
	if !c.decode(r, &pushed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range pushed.GetResourceSpans() {
		c.describe(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

func (c *collector) takeMetrics(_ http.ResponseWriter, r *http.Request) {
	var pushed collectormetrics.ExportMetricsServiceRequest
	if !c.decode(r, &pushed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range pushed.GetResourceMetrics() {
		c.describe(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				c.metrics[m.GetName()] = true
			}
		}
	}
}

func (c *collector) describe(attributes []*common.KeyValue) {
	for _, a := range attributes {
		c.resource[a.GetKey()] = a.GetValue().GetStringValue()
	}
}

// named returns the spans with a name and a kind.
func (c *collector) named(name string, kind tracepb.Span_SpanKind) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.spans {
		if s.GetName() == name && s.GetKind() == kind {
			found = append(found, s)
		}
	}
	return found
}

// attribute returns an attribute of a span as text, "" when it has none.
func attribute(s *tracepb.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() != name {
			continue
		}
		if text, ok := a.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
			return text.StringValue
		}
		return strconv.FormatInt(a.GetValue().GetIntValue(), 10)
	}
	return ""
}

// silent is an address that takes connections and never says a word.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var taken []net.Conn // closed when accepted has ended
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			taken = append(taken, conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-accepted
		for _, conn := range taken {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}

// refusing is an address that nobody listens on.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it was only to find a port
	return listener.Addr().String()
}

var sampleLine = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{([^}]*)\})? (\S+)$`)

// samples are the series of a scrape, by their names and labels as they are written.
type samples map[string]float64

// scrape asks a relay for its metrics.
func (p *process) scrape() samples {
	p.t.Helper()
	code, body := p.get("/metrics", "")
	if code != http.StatusOK {
		p.t.Fatalf("/metrics: %d", code)
	}
	all := samples{}
	for _, m := range sampleLine.FindAllStringSubmatch(body, -1) {
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			p.t.Fatalf("%s: %v", m[0], err)
		}
		all[fmt.Sprintf("%s{%s}", m[1], m[2])] = value
	}
	return all
}

// sum adds the series of a metric whose labels have all of these; found says that there is one.
func (s samples) sum(name string, labels ...string) (total float64, found bool) {
series:
	for series, value := range s {
		if !strings.HasPrefix(series, name+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(series, label) {
				continue series
			}
		}
		total, found = total+value, true
	}
	return total, found
}

// awaitMetric waits until a metric is what it should be.
func (p *process) awaitMetric(what string, is func(float64) bool, name string, labels ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%s: %s%v", what, name, labels), func() bool {
		value, found := p.scrape().sum(name, labels...)
		return found && is(value)
	})
}

func above(limit float64) func(float64) bool { return func(v float64) bool { return v > limit } }

func exactly(want float64) func(float64) bool { return func(v float64) bool { return v == want } }
