package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/relay"
)

// peer is a way from Postgres to JetStream.
type peer interface {
	// install makes its tables in an empty database.
	install(ctx context.Context, pool *pgxpool.Pool) error
	// stage writes events in a transaction that the caller commits.
	stage(ctx context.Context, tx pgx.Tx, events []item) error
	// start moves events into the stream until the returned function ends it and says how it went.
	start(ctx context.Context, r *rig, pool *pgxpool.Pool) (end func() error, err error)
	// left counts the events of n that are not on record as delivered.
	left(ctx context.Context, pool *pgxpool.Pool, n int) (int, error)
}

// entrant is a peer with the name of its figures and the connections that it may have.
type entrant struct {
	name        string
	connections int32
	peer        peer
}

// entrants are all peers; the first one is what the others are compared with.
func entrants() []entrant {
	return []entrant{
		{"holdfast", 8, holdfast{relay.PublisherAuto}},
		{"holdfast_async", 8, holdfast{relay.PublisherAsync}},
		{"watermill", 8, watermillPeer{}},
		{"river", 20, riverPeer{}},
		{"gue", gueWorkers + 4, guePeer{}},
		{"textbook", 8, textbook{workers: 1, limit: 100}},
		{"skiplocked", 8, textbook{workers: 4, limit: 1000, inFlight: true}},
	}
}
