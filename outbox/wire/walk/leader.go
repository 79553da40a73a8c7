package walk

import "github.com/nats-io/nats.go/jetstream"

// BesideLeader reports whether a consumer works on the server that leads its stream, so that what it calls pending is
// all that is. Ask for the stream first. Only a server without a cluster names no leader of consumers: in a cluster one
// without a leader is not there yet, and what is said of it are defaults.
func BesideLeader(consumer *jetstream.ConsumerInfo, stream *jetstream.StreamInfo) bool {
	if consumer.Cluster == nil {
		return stream.Cluster == nil || stream.Cluster.Name == ""
	}
	return stream.Cluster != nil && consumer.Cluster.Leader != "" && consumer.Cluster.Leader == stream.Cluster.Leader
}
