package relay_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay"
)

func TestPublisherIsChosenByWhatTheBrokerCan(t *testing.T) {
	t.Parallel()
	with := &jetstream.StreamConfig{Name: "S", AllowBatchPublish: true}
	without := &jetstream.StreamConfig{Name: "S", AllowAtomicPublish: true}
	for _, c := range []struct {
		want   relay.PublisherKind
		server string
		stream *jetstream.StreamConfig
		kind   relay.PublisherKind
		denied bool
	}{
		{relay.PublisherAuto, "2.15.2", with, relay.PublisherFast, false},
		{relay.PublisherAuto, "2.14.0", with, relay.PublisherFast, false},
		{relay.PublisherAuto, "2.14.0-RC.3", with, relay.PublisherFast, false},
		{relay.PublisherAuto, "3.0.1", with, relay.PublisherFast, false},
		{relay.PublisherAuto, "2.13.9", with, relay.PublisherAsync, false},
		{relay.PublisherAuto, "2.9.25", with, relay.PublisherAsync, false},
		{relay.PublisherAuto, "1.15.0", with, relay.PublisherAsync, false},
		{relay.PublisherAuto, "2.15.2", without, relay.PublisherAsync, false},
		{relay.PublisherAuto, "2.15.2", nil, relay.PublisherAsync, false},
		{relay.PublisherAuto, "", with, relay.PublisherAsync, false},
		{relay.PublisherAuto, "main", with, relay.PublisherAsync, false},
		{relay.PublisherAuto, "2", with, relay.PublisherAsync, false},
		{relay.PublisherAsync, "2.15.2", with, relay.PublisherAsync, false},
		{relay.PublisherFast, "2.15.2", with, relay.PublisherFast, false},
		{relay.PublisherFast, "2.15.2", without, relay.PublisherAsync, true},
		{relay.PublisherFast, "2.10.7", with, relay.PublisherAsync, true},
	} {
		got := relay.ChoosePublisher(c.want, c.server, c.stream)
		if got.Kind != c.kind || got.Denied != c.denied || got.Reason == "" {
			t.Errorf("%s on server %q: %+v, want %s, denied %v", c.want, c.server, got, c.kind, c.denied)
		}
	}
}

func TestPublisherKindIsOneOfThree(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"auto", "async", "fast", ""} {
		var k relay.PublisherKind
		if err := k.UnmarshalText([]byte(text)); err != nil || k.String() != text {
			t.Errorf("%s: %s, %v", text, k, err)
		}
	}
	for _, text := range []string{"Fast", "atomic", " "} {
		var k relay.PublisherKind
		if err := k.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %s", text, k)
		}
	}
}
