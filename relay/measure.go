package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Measuring has a bound in every direction: each count stops at its limit, the server ends a
// statement after statement_timeout in session_measure.sql, and the pause after a
// measurement is restFactor times as long as it took, though never longer than restPeriods
// periods, so that measuring takes a small share of one connection, whatever the database
// holds, and one slow measurement does not blind the metrics for long.
const (
	measureLanes   = 10_000  // events a lane
	measureHeld    = 100_000 // held events
	measureWaiting = 10_000  // events that wait for a retry, and dead letters
	measureTimeout = 20 * time.Second
	restFactor     = 20
	restPeriods    = 10
)

// measurement is what the database had at a time.
type measurement struct {
	at time.Time
	// until is when it is too old to be shown.
	until time.Time

	lanes   []LaneStatus
	unowned int64

	held       int64
	oldestHeld time.Duration

	waiting, dead          int64
	oldestWaiting, overdue time.Duration

	retainedRows, retainedBytes int64
	oldestRetained              time.Duration

	horizonAge   int64  // in transactions
	horizonXmin  string // what keeps the rows; "" when nothing does
	horizonSince time.Time
}

// measurements keeps the last one. Only measure writes it.
type measurements struct{ last atomic.Pointer[measurement] }

// measure looks at the database from time to time, for the gauges. Every pod does it: a pod that
// measured for all would take the numbers with it when it dies. It looks with a pooled
// connection and takes no part in anything else: when it fails, the numbers go
// away and nothing more.
func (r *Relay) measure(soft context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-soft.Done():
			return nil
		case <-timer.C:
		}
		start := time.Now()
		m, err := r.measureOnce(soft)
		took := time.Since(start)
		if soft.Err() != nil {
			return nil
		}
		outcome := measured
		if err != nil {
			outcome = notMeasured
		}
		r.metrics.measured(soft, outcome, took)
		pause := min(max(r.cfg.MeasureEvery, restFactor*took), restPeriods*r.cfg.MeasureEvery)
		if err == nil {
			m.until = time.Now().Add(4 * pause)
			r.measured.last.Store(m)
		} else if !failing {
			r.log.Warn("measure the database: its metrics are left out", "error", err)
		}
		failing = err != nil
		timer.Reset(pause + rand.N(pause/10)) // pods that started together drift apart
	}
}

func (r *Relay) measureOnce(ctx context.Context) (*measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	m := &measurement{at: time.Now()}
	var heldAge, waitingAge, overdue, retainedAge float64
	var clock time.Time // of the database; ages come with it
	var b pgx.Batch
	b.Queue(r.db.sql.sessionMeasure)
	b.Queue(r.db.sql.statusLanes, r.cfg.Group, measureLanes).Query(func(rows pgx.Rows) error {
		return collect(rows, m.lane)
	})
	b.Queue(r.db.sql.statusHeld, measureHeld).QueryRow(func(row pgx.Row) error { return row.Scan(&m.held, &heldAge, &clock) })
	b.Queue(r.db.sql.waitingRows, r.cfg.Group, measureWaiting).QueryRow(func(row pgx.Row) error {
		return row.Scan(&m.waiting, &waitingAge, &overdue, &m.dead)
	})
	b.Queue(r.db.sql.retained, r.cfg.Group).QueryRow(func(row pgx.Row) error {
		return row.Scan(&m.retainedRows, &m.retainedBytes, &retainedAge)
	})
	b.Queue(r.db.sql.horizon).QueryRow(func(row pgx.Row) error { return row.Scan(&m.horizonAge, &m.horizonXmin) })
	// Not through database.with, which drops every connection when one is slow: a slow
	// measurement is no reason to.
	if err := r.db.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	m.oldestHeld, m.oldestRetained = seconds(heldAge), seconds(retainedAge)
	m.oldestWaiting, m.overdue = seconds(waitingAge), seconds(overdue)
	m.pin(r.measured.last.Load())
	return m, nil
}

func (m *measurement) lane(rows pgx.Rows) error {
	l, err := scanLane(rows)
	if err != nil {
		return err
	}
	m.lanes = append(m.lanes, l)
	if !l.Live {
		m.unowned++
	}
	return nil
}

// pin says since when the same transaction has kept dead rows. One that nothing came after
// keeps none.
func (m *measurement) pin(before *measurement) {
	m.horizonSince = m.at
	if before != nil && m.horizonAge > 0 && m.horizonXmin == before.horizonXmin {
		m.horizonSince = before.horizonSince
	}
}
