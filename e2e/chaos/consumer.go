package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

//go:embed sql/write_effect.sql
var writeEffectSQL string

// consumerEnv makes this program a consumer, in a process of its own that can be killed.
const consumerEnv = "HOLDFAST_CHAOS_CONSUMER"

// consumerName is the durable name of the consumers on the stream, and factType what they claim.
const (
	consumerName = "effects"
	factType     = "happened"
)

// consumerSettings are what a consumer is told.
type consumerSettings struct {
	Database, NATS, Stream string
	Batch                  int
}

// isConsumer says whether this process was started to be a consumer.
func isConsumer() bool { return os.Getenv(consumerEnv) != "" }

// runConsumer is the main function of a process for which isConsumer is true.
func runConsumer(stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var s consumerSettings
	err := json.Unmarshal([]byte(os.Getenv(consumerEnv)), &s)
	if err == nil {
		err = s.consume(ctx, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "consumer:", err)
		return exitNo
	}
	return exitOK
}

func (s consumerSettings) consume(ctx context.Context, stderr io.Writer) error {
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	pool, err := pgxpool.New(ctx, s.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	nc, err := nats.Connect(s.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	defer nc.Close()
	c, err := consumers.New(pool, nc, apply, s.config(log))
	if err != nil {
		return err
	}
	log.Info("consumer begins")
	return c.Run(ctx)
}

// config has pauses that fit a trial of some seconds.
func (s consumerSettings) config(log *slog.Logger) consumers.Config {
	return consumers.Config{
		Name: consumerName, Stream: s.Stream, Batch: s.Batch, AckWait: lease, HandleTimeout: 10 * time.Second,
		RetryMin: 20 * time.Millisecond, RetryMax: 500 * time.Millisecond, OutageMax: 500 * time.Millisecond,
		FetchWait: time.Second, SettleTimeout: lease, ControlEvery: time.Second, MeasureEvery: time.Second, SilentAfter: lease,
		Effects: map[string]consumers.Effect{
			factType: {Table: "consumed.effect", Account: "key", Attributes: map[string]string{"version": "version", "digest": "digest"}},
		},
		Logger: log,
	}
}

// apply makes a fact and an effect of an event. The fact is told apart by what happened, the version
// of a key, and not by the event.
func apply(ctx context.Context, tx *facts.Tx, e event.Event) error {
	key, version := fmt.Sprint(e.Extensions()["partitionkey"]), fmt.Sprint(e.Extensions()["version"])
	sum := sha256.Sum256(e.Data())
	digest := hex.EncodeToString(sum[:])
	identity, err := facts.NewKey(facts.ID("version", version))
	if err != nil {
		return err
	}
	claimed, err := facts.Claim(ctx, tx, facts.Fact{
		Source: e.Source(), Account: key, Type: factType, Key: identity, Attributes: map[string]string{"version": version, "digest": digest},
	})
	if err != nil || claimed.Outcome != facts.Applied {
		return err
	}
	_, err = tx.Exec(ctx, writeEffectSQL, claimed.ID, key, version, digest)
	return err
}
