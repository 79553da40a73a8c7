package hold

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// releaseSeconds is how long a release took that made the change, also the wait for writers
// that were open.
var releaseSeconds, releaseSecondsErr = otel.Meter("github.com/holdfast-dev/holdfast/hold").Float64Histogram(
	"holdfast.hold.release.duration", metric.WithUnit("s"),
	metric.WithDescription("How long the release of a generation took, with the wait for open writers."),
	metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30))

func countRelease(ctx context.Context, took time.Duration) {
	if releaseSecondsErr == nil {
		releaseSeconds.Record(ctx, took.Seconds())
	}
}
