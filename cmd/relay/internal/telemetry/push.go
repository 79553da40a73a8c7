package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

// signal is a kind of telemetry, by the word that its variables have.
type signal string

const (
	metricsSignal signal = "METRICS"
	tracesSignal  signal = "TRACES"
)

// protocol is how a signal is pushed, by its name in OTEL_EXPORTER_OTLP_PROTOCOL.
type protocol string

const (
	nowhere  protocol = ""
	overHTTP protocol = "http/protobuf"
	overGRPC protocol = "grpc"
)

// disabled says that nobody wants telemetry.
func disabled(getenv func(string) string) bool {
	off, err := strconv.ParseBool(strings.ToLower(getenv("OTEL_SDK_DISABLED")))
	return err == nil && off
}

// choose says where a signal goes by the standard variables. The specification's default is to
// push to this machine; here nothing is pushed unless an endpoint is set or otlp asked for.
func choose(s signal, getenv func(string) string, log *slog.Logger) protocol {
	endpointName := "OTEL_EXPORTER_OTLP_" + string(s) + "_ENDPOINT"
	if getenv(endpointName) == "" {
		endpointName = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	endpoint := getenv(endpointName)
	exporterName := "OTEL_" + string(s) + "_EXPORTER"
	wanted := endpoint != ""
	if list := getenv(exporterName); list != "" {
		wanted = false
		for one := range strings.SplitSeq(list, ",") {
			switch strings.TrimSpace(one) {
			case "otlp":
				wanted = true
			case "none", "prometheus": // /metrics is always there
			default:
				log.Warn("telemetry: "+exporterName+" has a value that this program does not know", "hint", "use otlp, prometheus or none")
			}
		}
	}
	if !wanted {
		return nowhere
	}
	if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Host == "") {
		log.Warn("telemetry: "+endpointName+" is no URL: nothing is pushed", "hint", "write a URL such as http://collector:4318")
		return nowhere
	}
	switch how := protocol(cmp.Or(getenv("OTEL_EXPORTER_OTLP_"+string(s)+"_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), string(overHTTP))); how {
	case overHTTP, overGRPC:
		return how
	default:
		log.Warn("telemetry: the OTLP protocol is not one that this program knows: using http/protobuf", "hint", "use grpc or http/protobuf")
		return overHTTP
	}
}

// newMetricExporter connects to nothing yet.
func newMetricExporter(ctx context.Context, how protocol) (metric.Exporter, error) {
	if how == overGRPC {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

// newTraceExporter connects to nothing yet.
func newTraceExporter(ctx context.Context, how protocol) (trace.SpanExporter, error) {
	if how == overGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}
