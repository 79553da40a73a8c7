package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	clusterName       = "holdfast"
	clusterReadyLimit = 2 * time.Minute
	clusterPoll       = 20 * time.Millisecond
	useLimit          = 3 * time.Second // for one look at a cluster
)

// Cluster is JetStream on several nodes, each a process.
type Cluster struct{ Nodes []*Node }

// StartCluster starts a cluster of n nodes and returns when JetStream answers.
func StartCluster(ctx context.Context, n int, opts NodeOptions) (c *Cluster, err error) {
	c = &Cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	peers := make([]int, n)
	routes := make([]string, n)
	for i := range peers {
		if peers[i], err = freePort(); err != nil {
			return c, err
		}
		routes[i] = "nats://" + joinPort(peers[i])
	}
	for i := range n {
		one := opts
		one.Name, one.cluster, one.peer, one.routes = fmt.Sprintf("node-%d", i+1), clusterName, peers[i], routes
		node, err := newNode(one)
		if err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			return c, err
		}
	}
	return c, c.AwaitJetStream(ctx)
}

// URLs returns the addresses of all nodes.
func (c *Cluster) URLs() []string {
	list := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		list[i] = node.URL()
	}
	return list
}

// AwaitJetStream waits until the JetStream API answers at every node that runs.
func (c *Cluster) AwaitJetStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterReadyLimit)
	defer cancel()
	for _, node := range c.Nodes {
		if !node.Running() {
			continue
		}
		if err := await(ctx, func(ctx context.Context) error { return answers(ctx, node.URL()) }); err != nil {
			return fmt.Errorf("wait for JetStream at %s: %w", node.Name(), err)
		}
	}
	return nil
}

// AwaitStream waits until a stream has a leader and all its replicas are current.
func (c *Cluster) AwaitStream(ctx context.Context, stream string) error {
	ctx, cancel := context.WithTimeout(ctx, clusterReadyLimit)
	defer cancel()
	return await(ctx, func(ctx context.Context) error {
		return use(ctx, c.Nodes[0].URL(), func(ctx context.Context, js jetstream.JetStream) error {
			s, err := js.Stream(ctx, stream)
			if err != nil {
				return err
			}
			cluster := s.CachedInfo().Cluster
			if cluster == nil || cluster.Leader == "" {
				return errors.New("the stream has no leader")
			}
			for _, replica := range cluster.Replicas {
				if !replica.Current || replica.Offline {
					return fmt.Errorf("replica %s is not current", replica.Name)
				}
			}
			return nil
		})
	})
}

// Leader returns the node that leads a stream.
func (c *Cluster) Leader(ctx context.Context, stream string) (*Node, error) {
	var name string
	for _, node := range c.Nodes {
		if !node.Running() {
			continue
		}
		err := use(ctx, node.URL(), func(ctx context.Context, js jetstream.JetStream) error {
			s, err := js.Stream(ctx, stream)
			if err == nil && s.CachedInfo().Cluster != nil {
				name = s.CachedInfo().Cluster.Leader
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("find the leader of stream %s: %w", stream, err)
		}
		break
	}
	for _, node := range c.Nodes {
		if node.Name() == name {
			return node, nil
		}
	}
	return nil, fmt.Errorf("find the leader of stream %s: it has none", stream)
}

// StepDown has the leader of a stream give its office up. Another node takes it, or the same again.
func (c *Cluster) StepDown(ctx context.Context, stream string) error {
	leader, err := c.Leader(ctx, stream)
	if err != nil {
		return err
	}
	err = use(ctx, leader.URL(), func(ctx context.Context, js jetstream.JetStream) error {
		answer, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
		if err != nil {
			return err
		}
		var reply struct {
			Success bool `json:"success"`
		}
		if err := json.Unmarshal(answer.Data, &reply); err != nil || !reply.Success {
			return fmt.Errorf("the answer is %q: %w", answer.Data, errors.Join(err, errors.New("no success")))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("have the leader of stream %s step down: %w", stream, err)
	}
	return nil
}

// Close ends all nodes for good.
func (c *Cluster) Close() error {
	var errs []error
	for _, node := range c.Nodes {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}

func answers(ctx context.Context, url string) error {
	return use(ctx, url, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.AccountInfo(ctx)
		return err
	})
}

// use runs f with a connection of its own, and not for long: a request that came before there
// was a leader is never answered.
func use(ctx context.Context, url string, f func(context.Context, jetstream.JetStream) error) error {
	ctx, cancel := context.WithTimeout(ctx, useLimit)
	defer cancel()
	nc, err := nats.Connect(url, nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	return f(ctx, js)
}

// await repeats f until it succeeds or ctx ends.
func await(ctx context.Context, f func(context.Context) error) error {
	ticker := time.NewTicker(clusterPoll)
	defer ticker.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
