// Package telemetry is where logs and metrics of the daemon go: slog on stderr, and the
// OpenTelemetry SDK with a Prometheus endpoint. The libraries know only the API.
//
// It sends nothing anywhere by itself: somebody must ask for the metrics.
package telemetry
