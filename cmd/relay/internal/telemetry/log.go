package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes "text" or "json", from a level on: "debug",
// "info", "warn" or "error". Anything else counts as "text" and "info"; settings refuses it before.
func NewLogger(w io.Writer, format, level string) *slog.Logger {
	least := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}
	opts := &slog.HandlerOptions{Level: least[level]} // info is the zero value
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
