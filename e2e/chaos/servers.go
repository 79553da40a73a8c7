package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	database   = "chaos"
	streamName = "CHAOS"
	subjects   = "events"

	// What must never be in a log: a part of each payload, and the database's password.
	payloadMark = "chaos-payload-mark"
	secretMark  = "chaos-secret-mark"
)

// servers are what the relays stand between.
type servers struct {
	dir      string
	relay    string // the binary
	consumer string // and that of the consumers
	pg       *harness.Postgres
	nodes    *fault.Cluster // of one node or three
	db       *pgxpool.Pool  // past the proxies

	publisher relay.PublisherKind // of the relays
}

// startServers starts everything but the relays.
func startServers(ctx context.Context, t *trial) (s *servers, err error) {
	s = &servers{publisher: t.publisher}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(false))
		}
	}()
	if s.dir, err = os.MkdirTemp("", "holdfast-chaos-"); err != nil {
		return s, err
	}
	if err := s.build(ctx, t.settings); err != nil {
		return s, err
	}
	if err := s.startPostgres(ctx); err != nil {
		return s, err
	}
	if err := s.startNodes(ctx, t.setup); err != nil {
		return s, err
	}
	return s, s.createStream(ctx, t)
}

// build builds the binary that users run, but for its clock, which can be set wrong; unless one is given.
func (s *servers) build(ctx context.Context, set settings) (err error) {
	if s.consumer = set.consumer; s.consumer == "" {
		if s.consumer, err = os.Executable(); err != nil {
			return err
		}
	}
	if set.relay != "" {
		s.relay = set.relay
		return nil
	}
	s.relay = filepath.Join(s.dir, "relay")
	replace, err := fault.SkewedClock(ctx, s.dir)
	if err != nil {
		return err
	}
	overlay, err := fault.WriteOverlay(s.dir, replace)
	if err != nil {
		return err
	}
	args := []string{"build", "-overlay", overlay, "-o", s.relay}
	if set.race {
		args = append(args, "-race")
	}
	build := exec.CommandContext(ctx, "go", append(args, "github.com/holdfast-dev/holdfast/cmd/relay")...)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the relay, which needs the go command and this repository as the working directory: %w\n%s", err, output)
	}
	return nil
}

func (s *servers) startPostgres(ctx context.Context) (err error) {
	start, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	s.pg, err = harness.StartPostgres(start, harness.PostgresOptions{
		// A crash loses what was committed without waiting for this long.
		Settings: map[string]string{"wal_writer_delay": "2s", "log_line_prefix": "%m [%p] %a sqlstate=%e db=%d "},
	})
	if err != nil {
		return err
	}
	if err := s.pg.CreateDatabase(ctx, database, ""); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.pg.URL(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := gen.Install(ctx, conn, canonical.DefaultParams(), canonical.Outbox, canonical.Hold, canonical.Relay); err != nil {
		return err
	}
	if err := history.InstallWitness(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("make the business tables: %w", err)
	}
	if err := s.makeConsumed(ctx); err != nil {
		return err
	}
	s.db, err = pgxpool.New(ctx, s.pg.URL(database)+"&application_name=chaos")
	return err
}

func (s *servers) startNodes(ctx context.Context, set setup) error {
	if set == cluster {
		var err error
		s.nodes, err = fault.StartCluster(ctx, 3, fault.NodeOptions{})
		return err
	}
	node, err := fault.StartNode(fault.NodeOptions{})
	if err != nil {
		return err
	}
	s.nodes = &fault.Cluster{Nodes: []*fault.Node{node}}
	return nil
}

func (s *servers) createStream(ctx context.Context, t *trial) error {
	js, err := s.jetStream()
	if err != nil {
		return err
	}
	defer js.Conn().Close()
	spec := relay.StreamSpec{Name: streamName, Subjects: []string{subjects + ".>"}, Window: t.window, Publisher: t.publisher}
	if t.setup == cluster {
		spec.Replicas = 3
		if t.publisher == relay.PublisherAuto {
			spec.Publisher = relay.PublisherAsync
		}
	}
	plan, err := relay.PlanStream(ctx, js, spec)
	if err != nil {
		return err
	}
	return plan.Apply(ctx, js)
}

// jetStream connects to the nodes, past the proxies. The caller closes the connection.
func (s *servers) jetStream() (jetstream.JetStream, error) {
	nc, err := nats.Connect(strings.Join(s.nodes.URLs(), ","))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
	}
	return js, err
}

// source is the stream for the checker, past the proxies.
func (s *servers) source() history.Source {
	return history.Source{Servers: strings.Join(s.nodes.URLs(), ","), Stream: streamName, Prefix: subjects}
}

// close ends everything, and keeps the directory with the logs if it is needed.
func (s *servers) close(keep bool) error {
	var errs []error
	if s.db != nil {
		s.db.Close()
	}
	if s.nodes != nil {
		for _, node := range s.nodes.Nodes {
			if keep {
				errs = append(errs, os.WriteFile(filepath.Join(s.dir, node.Name()+".log"), []byte(node.Log()), 0o644))
			}
		}
		errs = append(errs, s.nodes.Close())
	}
	if s.pg != nil {
		if log, err := s.pg.Log(); err == nil && keep {
			errs = append(errs, os.WriteFile(filepath.Join(s.dir, "postgres.log"), []byte(log), 0o644))
		}
		errs = append(errs, s.pg.Close())
	}
	if s.dir != "" && !keep {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
