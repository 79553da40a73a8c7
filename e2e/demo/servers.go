package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/demo/shop"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	database = "shop"
	stream   = "SHOP"

	// maxConns leaves room for the relays and for people who look around: the
	// harness's Postgres takes 200 connections.
	maxConns = 150
)

// servers is what the relays stand between, and the relay itself.
type servers struct {
	pg    *harness.Postgres
	nats  *harness.NATS
	db    *pgxpool.Pool
	dir   string // holds the relay's binary and the logs
	relay string // the relay's binary
}

// startServers starts Postgres with the shop's tables beside the outbox, and NATS, and
// builds the relay.
func startServers(ctx context.Context, scr *screen, conns int) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "holdfast-demo-"); err != nil {
		return s, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.startPostgres(groupCtx, scr, conns) })
	group.Go(func() error { return s.buildRelay(groupCtx) })
	group.Go(func() (err error) {
		s.nats, err = harness.StartNATS(harness.NATSOptions{})
		return err
	})
	return s, group.Wait()
}

func (s *servers) startPostgres(ctx context.Context, scr *screen, conns int) (err error) {
	if s.pg, err = harness.StartPostgres(ctx, harness.PostgresOptions{Durable: true, Log: scr.w}); err != nil {
		return err
	}
	if err = s.pg.CreateDatabase(ctx, database, ""); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(s.pg.URL(database))
	if err != nil {
		return err
	}
	config.MaxConns = int32(min(conns, maxConns))
	if s.db, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = gen.Install(ctx, conn.Conn(), canonical.DefaultParams(), canonical.Outbox, canonical.Hold, canonical.Relay)
	if err != nil {
		return err
	}
	return shop.Install(ctx, conn)
}

// buildRelay builds the binary that users run.
func (s *servers) buildRelay(ctx context.Context) error {
	s.relay = filepath.Join(s.dir, "relay")
	build := exec.CommandContext(ctx, "go", "build", "-o", s.relay, "github.com/holdfast-dev/holdfast/cmd/relay")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the relay, which needs the go command and this repository as the working directory: %w\n%s", err, output)
	}
	return nil
}

// close ends everything and leaves nothing behind.
func (s *servers) close() error {
	var errs []error
	if s.db != nil {
		s.db.Close()
	}
	if s.nats != nil {
		errs = append(errs, s.nats.Close())
	}
	if s.pg != nil {
		errs = append(errs, s.pg.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
