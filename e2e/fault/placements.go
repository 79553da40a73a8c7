package fault

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Placements are where the consumers of a stream lay while it was watched, and how much of the stream those nodes had.
type Placements struct {
	nc    *nats.Conn
	stop  context.CancelFunc
	ended chan struct{} // closed when nothing is watched any more

	mu   sync.Mutex
	ends map[string]uint64 // by node: the lowest end of the stream that one of its consumers knew
}

// WatchPlacements watches the consumers of a stream that are made from then on, until Close.
func (c *Cluster) WatchPlacements(ctx context.Context, stream string) (*Placements, error) {
	nc, err := nats.Connect(strings.Join(c.URLs(), ","), nats.MaxReconnects(-1), nats.ReconnectWait(clusterPoll))
	if err != nil {
		return nil, err
	}
	made := make(chan *nats.Msg, 1000)
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = nc.ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.CREATED."+stream+".*", made)
	}
	if err == nil {
		err = nc.FlushTimeout(clusterReadyLimit)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	p := &Placements{nc: nc, ended: make(chan struct{}), ends: map[string]uint64{}}
	ctx, p.stop = context.WithCancel(ctx)
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-ctx.Done():
				return
			case m := <-made:
				p.follow(ctx, js, stream, m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
			}
		}
	}()
	return p, nil
}

// follow asks for a consumer until it is gone.
func (p *Placements) follow(ctx context.Context, js jetstream.JetStream, stream, name string) {
	for ctx.Err() == nil {
		ask, cancel := context.WithTimeout(ctx, useLimit)
		consumer, err := js.Consumer(ask, stream, name)
		cancel()
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return
		}
		if err == nil {
			p.note(consumer.CachedInfo())
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// note keeps what the node knows that the consumer lies on: it counts what it has itself.
func (p *Placements) note(info *jetstream.ConsumerInfo) {
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	end := info.Delivered.Stream + info.NumPending
	if known, is := p.ends[info.Cluster.Leader]; !is || end < known {
		p.ends[info.Cluster.Leader] = end
	}
}

// Behind reports whether a consumer lay on a node that had not got the message with a sequence. Where messages are
// deleted between those that a consumer wants, more counts as behind than is.
func (p *Placements) Behind(node *Node, seq uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, is := p.ends[node.Name()]
	return is && end < seq
}

// Close ends the watch.
func (p *Placements) Close() {
	p.stop()
	<-p.ended
	p.nc.Close()
}

// Lag stops a node that does not lead the stream, does something that it so misses, and starts it again.
func (c *Cluster) Lag(ctx context.Context, stream string, missed func()) (*Node, error) {
	if err := c.AwaitStream(ctx, stream); err != nil {
		return nil, err
	}
	leader, err := c.Leader(ctx, stream)
	if err != nil {
		return nil, err
	}
	node := c.Nodes[0]
	if node == leader {
		node = c.Nodes[1]
	}
	if err := node.Stop(); err != nil {
		return nil, err
	}
	missed()
	return node, node.Start()
}

// Current reports whether a node that follows has all of a stream, as its leader says.
func (c *Cluster) Current(ctx context.Context, stream string, node *Node) (current bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, clusterReadyLimit)
	defer cancel()
	err = await(ctx, func(ctx context.Context) error {
		leader, err := c.Leader(ctx, stream)
		if err != nil {
			return err
		}
		return use(ctx, leader.URL(), func(ctx context.Context, js jetstream.JetStream) error {
			s, err := js.Stream(ctx, stream)
			if err != nil {
				return err
			}
			if s.CachedInfo().Cluster == nil || s.CachedInfo().Cluster.Leader == "" {
				return errors.New("the stream has no leader")
			}
			current = true
			for _, replica := range s.CachedInfo().Cluster.Replicas {
				if replica.Name == node.Name() {
					current = replica.Current && !replica.Offline
				}
			}
			return nil
		})
	})
	return current, err
}
