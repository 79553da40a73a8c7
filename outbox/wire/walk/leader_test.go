package walk_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// TestBesideLeader: what a server says of a consumer that is not there yet is no word of the leader.
func TestBesideLeader(t *testing.T) {
	t.Parallel()
	in := func(name, leader string) *jetstream.ClusterInfo {
		return &jetstream.ClusterInfo{Name: name, Leader: leader}
	}
	for _, c := range []struct {
		name             string
		consumer, stream *jetstream.ClusterInfo
		want             bool
	}{
		{"a server alone", nil, in("", "one"), true},
		{"a server that says nothing of clusters", nil, nil, true},
		{"beside it", in("c", "one"), in("c", "one"), true},
		{"elsewhere", in("c", "two"), in("c", "one"), false},
		{"the stream has no leader", in("c", "two"), in("c", ""), false},
		{"neither has a leader", in("c", ""), in("c", ""), false},
		{"the consumer is not there yet", nil, in("c", "one"), false},
	} {
		if got := walk.BesideLeader(&jetstream.ConsumerInfo{Cluster: c.consumer}, &jetstream.StreamInfo{Cluster: c.stream}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
