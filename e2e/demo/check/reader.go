package check

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// Read begins to read the stream of the shop, from its first message on, with a connection of
// its own.
func Read(ctx context.Context, url, stream string) (*history.Follower, error) {
	return history.Follow(ctx, history.Source{Servers: url, Stream: stream, Prefix: "events", Version: version})
}

// version is in the payload of every event of the shop. A payload that is none has another
// digest than was staged, too.
func version(payload []byte) int {
	var body struct{ Version int }
	if json.Unmarshal(payload, &body) != nil {
		return 0
	}
	return body.Version
}
