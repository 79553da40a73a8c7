package main

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
)

const (
	watermillTopic = "outbox"
	watermillGroup = "forwarder"
)

// watermillPeer is watermill's forwarder: a subscriber of a table whose messages say where they go.
type watermillPeer struct{}

func (watermillPeer) schema() wmsql.DefaultPostgreSQLSchema {
	return wmsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 1000}
}

func (p watermillPeer) subscriber(pool *pgxpool.Pool) (*wmsql.Subscriber, error) {
	return wmsql.NewSubscriber(wmsql.BeginnerFromPgx(pool), wmsql.SubscriberConfig{
		ConsumerGroup: watermillGroup, PollInterval: 10 * time.Millisecond,
		SchemaAdapter: p.schema(), OffsetsAdapter: wmsql.DefaultPostgreSQLOffsetsAdapter{},
	}, watermill.NopLogger{})
}

func (p watermillPeer) install(_ context.Context, pool *pgxpool.Pool) error {
	subscriber, err := p.subscriber(pool)
	if err != nil {
		return err
	}
	if err := subscriber.SubscribeInitialize(watermillTopic); err != nil {
		return err
	}
	return subscriber.Close()
}

func (p watermillPeer) stage(_ context.Context, tx pgx.Tx, events []item) error {
	table, err := wmsql.NewPublisher(wmsql.TxFromPgx(tx), wmsql.PublisherConfig{SchemaAdapter: p.schema()}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	list := make([]*message.Message, len(events))
	for i, it := range events {
		list[i] = message.NewMessage(it.id, it.data)
	}
	return forwarder.NewPublisher(table, forwarder.PublisherConfig{ForwarderTopic: watermillTopic}).Publish(subject, list...)
}

func (p watermillPeer) start(ctx context.Context, r *rig, pool *pgxpool.Pool) (func() error, error) {
	subscriber, err := p.subscriber(pool)
	if err != nil {
		return nil, err
	}
	// Its Close closes the connection, so it gets one of its own.
	publisher, err := wmnats.NewPublisher(wmnats.PublisherConfig{
		URL: r.nats.URL(), NatsOptions: []nats.Option{nats.Name("watermill")},
		Marshaler: &wmnats.NATSMarshaler{}, JetStream: wmnats.JetStreamConfig{TrackMsgId: true},
	}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	f, err := forwarder.NewForwarder(subscriber, publisher, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: watermillTopic})
	if err != nil {
		_ = publisher.Close() // nothing was sent
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(running) }()
	return func() error {
		stop()
		err := <-ended
		for _, closing := range []func() error{subscriber.Close, publisher.Close} {
			if closeErr := closing(); err == nil {
				err = closeErr
			}
		}
		return err
	}, nil
}

func (watermillPeer) left(ctx context.Context, pool *pgxpool.Pool, _ int) (n int, err error) {
	err = pool.QueryRow(ctx, `SELECT count(*) FROM watermill_outbox AS m, watermill_offsets_outbox AS o
		 WHERE o.consumer_group = $1
		   AND (m.transaction_id, m."offset") > (o.last_processed_transaction_id, o.offset_acked)`, watermillGroup).Scan(&n)
	return n, err
}
