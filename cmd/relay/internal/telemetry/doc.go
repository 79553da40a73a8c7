// Package telemetry is where logs, metrics and traces of the daemon go: slog on stderr, and the
// OpenTelemetry SDK with a Prometheus endpoint and OTLP. The libraries know only the API.
//
// # What goes where
//
//	/metrics        always there; Prometheus asks for it
//	OTLP metrics    pushed when an OTLP endpoint is set, or OTEL_METRICS_EXPORTER=otlp
//	OTLP traces     pushed when an OTLP endpoint is set, or OTEL_TRACES_EXPORTER=otlp
//
// Nothing is sent anywhere by itself: without one of those variables there is no push, and no
// tracer at all. The variables are the standard ones, read by the SDK: the endpoints, headers,
// protocols (grpc, http/protobuf), certificates and time-outs of OTLP, OTEL_TRACES_SAMPLER,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_METRIC_EXPORT_INTERVAL, OTEL_BSP_*, and
// OTEL_SDK_DISABLED. As the specification demands, a value that is not understood is a
// warning and not the end of the process.
//
// # What it promises
//
//   - The relay never waits for it. Spans go into a queue of fixed length and are dropped when
//     it is full; metrics are kept as sums; a collector that is dead, refuses or never answers
//     costs a goroutine that waits for it and nothing else.
//   - Stop has its own deadline, StopTimeout, whatever the collector does, and never fails: what
//     could not be delivered is one line in the log.
//   - Failures are logged once a minute.
//   - No header, endpoint or other value of a variable is ever logged: they may hold credentials.
package telemetry
