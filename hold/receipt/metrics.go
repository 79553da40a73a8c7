package receipt

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// refusedSteps counts calls that came too late, or too early. Its label is one of four states.
var refusedSteps, refusedStepsErr = otel.Meter("github.com/holdfast-dev/holdfast/hold/receipt").Int64Counter(
	"holdfast.hold.refused", metric.WithUnit("{step}"),
	metric.WithDescription("Steps that the gate refused, by the state of their generation: unknown, cancelled, released or superseded."))

func countRefused(ctx context.Context, state string) {
	if refusedStepsErr == nil {
		refusedSteps.Add(ctx, 1, metric.WithAttributes(attribute.String("state", state)))
	}
}
