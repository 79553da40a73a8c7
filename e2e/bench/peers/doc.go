// Command peers sends the same events from Postgres to a JetStream stream with Holdfast and with public
// alternatives, interleaved on the same machine, and prints one line a figure:
//
//	BENCH peer_<name>_rate <median> events/s     from the first one in the stream until all are in it, and on
//	                                             record as delivered
//	BENCH peer_<name>_ratio <median> ratio       Holdfast's rate divided by this one, within each run
//	BENCH peer_<name>_cpu <median> s/1000        processor time of everything: peer, broker, Postgres
//	BENCH peer_<name>_disorder <median> events   that came after a later event of their key
//
// A run makes an empty stream and an empty database, stages the events with the peer's own way of
// staging, 1,000 to a transaction, and then starts the peer: staging is not measured, nor is the start, but
// for its processor time. After each run the whole stream is read, and the run fails unless every event
// is there once with its bytes. It promises no absolute speed and asserts nothing else.
//
//	name            what it is, and the settings for throughput, from its documentation where that names any
//	holdfast        the relay with its defaults, which here choose fast-ingest batches
//	holdfast_async  the relay without them, as on servers before 2.14
//	watermill       watermill-sql v4 and its forwarder, JetStream publisher of watermill-nats v2; 1,000 messages
//	                to a read instead of 100 (SubscribeBatchSize), ids tracked (TrackMsgId). One message is
//	                in flight, whatever the batch: the subscriber waits for each acknowledgement
//	river           a job an event, inserted with InsertManyFastTx; 500 workers (MaxWorkers) and
//	                a fetch every 2 ms (FetchCooldown, "throughput is limited by this value"), since a
//	                publishing worker waits and computes nothing
//	gue             a job an event, EnqueueBatchTx; 32 workers, each with the transaction that gue holds
//	                open around a job, in a pool of as many connections (its documentation names no number)
//	textbook        SELECT .. FOR UPDATE SKIP LOCKED LIMIT 100, publish one by one, DELETE, COMMIT, as articles
//	                about the outbox pattern show it; one worker, which keeps the order
//	skiplocked      the same made fast: four workers, 1,000 rows to a transaction, all of them in flight
//	                at once. It gives up the order of a key
//
// It is a module of its own, because the peers bring modules that no user of Holdfast should see.
package main
