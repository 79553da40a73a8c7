package command

import (
	"fmt"
	"io"
	"strconv"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

// laneReport is a lane as JSON has it: a contract, only ever added to.
type laneReport struct {
	Lane  int16  `json:"lane"`
	Lease string `json:"lease"` // free, live, paging or expired
	Owner string `json:"owner"`
	// LeaseUntil is when the lease ends, or ended; "" when nobody owns the lane.
	LeaseUntil string     `json:"lease_until"`
	Backlog    waiting    `json:"backlog"`
	Retries    laneWaits  `json:"retries"`
	Capped     bool       `json:"counts_are_lower_bounds"`
	StreamSeq  int64      `json:"stream_seq"`
	Cursor     laneCursor `json:"cursor"`

	status relay.LaneStatus
}

// laneWaits are the events of a lane that wait for a retry.
type laneWaits struct {
	Scheduled int64  `json:"scheduled"`
	Parked    int64  `json:"parked"`
	NextAt    string `json:"next_at"` // "" when nothing is due at any time
}

// laneCursor is how far a lane is drained, in snapshots of the database.
type laneCursor struct {
	Drained string `json:"drained"`
	Target  string `json:"target"` // "" unless a backlog is paged
	Pos     string `json:"pos"`    // a seq; "" unless a backlog is paged
}

// laneCountLimit is where counting stops, see relay.ReadStatus.
const laneCountLimit = 100_000

func laneOf(s relay.LaneStatus, r relay.LaneRetries) laneReport {
	l := laneReport{
		Lane: s.Lane, Lease: lease(s), Owner: s.Owner, LeaseUntil: timeOrNone(s.LeaseUntil), StreamSeq: s.StreamSeq,
		Backlog: waiting{s.Backlog, output.Seconds(s.Oldest)}, Retries: laneWaits{Scheduled: r.Scheduled, Parked: r.Parked},
		Capped: s.Backlog >= laneCountLimit || r.Scheduled+r.Parked >= laneCountLimit,
		Cursor: laneCursor{Drained: s.Drained, Target: s.Target}, status: s,
	}
	if r.Due != nil {
		l.Retries.NextAt = output.Time(*r.Due)
	}
	if s.Paging {
		l.Cursor.Pos = strconv.FormatInt(s.Pos, 10)
	}
	return l
}

// oldest is for how long the oldest event of the backlog has waited.
func (l *laneReport) oldest() string {
	if l.Backlog.Events == 0 {
		return "-"
	}
	return output.Age(l.status.Oldest)
}

// position is the cursor for people.
func (l *laneReport) position() string {
	if l.Cursor.Target == "" {
		return "drained " + l.Cursor.Drained
	}
	return fmt.Sprintf("drained %s, paging to %s at seq %s", l.Cursor.Drained, l.Cursor.Target, l.Cursor.Pos)
}

// atLeast says that a count is a lower bound.
func atLeast(n int64) string {
	if n >= laneCountLimit {
		return output.Number(n) + "+"
	}
	return output.Number(n)
}

func (l *laneReport) write(w io.Writer) error {
	table := output.Table{}
	table.Add("lane", strconv.Itoa(int(l.Lane)))
	table.Add("owner", plain(l.Owner))
	table.Add("lease", l.leaseText())
	backlog := atLeast(l.Backlog.Events)
	if l.Backlog.Events > 0 {
		backlog += ", the oldest for " + l.oldest()
	}
	table.Add("backlog", backlog)
	retries := fmt.Sprintf("%s to be tried again, %s parked behind them", output.Number(l.Retries.Scheduled), output.Number(l.Retries.Parked))
	if l.Retries.NextAt != "" {
		retries += ", the next at " + l.Retries.NextAt
	}
	table.Add("refused", retries)
	table.Add("cursor", l.position())
	table.Add("stream seq", strconv.FormatInt(l.StreamSeq, 10))
	return table.Write(w)
}

func (l *laneReport) leaseText() string {
	switch {
	case l.LeaseUntil == "":
		return "free"
	case l.status.Live:
		return l.Lease + " until " + l.LeaseUntil
	}
	return l.Lease + " since " + l.LeaseUntil
}

// laneBatch is a settled batch as JSON has it.
type laneBatch struct {
	SettledAt      string `json:"settled_at"`
	Events         int32  `json:"events"`
	SeqFirst       string `json:"seq_first"`
	SeqLast        string `json:"seq_last"`
	Stream         string `json:"stream"`
	StreamSeqFirst int64  `json:"stream_seq_first"`
	StreamSeqLast  int64  `json:"stream_seq_last"`
}

func laneBatchesOf(list []relay.LaneBatch) []laneBatch {
	all := make([]laneBatch, 0, len(list))
	for _, b := range list {
		all = append(all, laneBatch{output.Time(b.SettledAt), b.Events, strconv.FormatInt(b.SeqFirst, 10), strconv.FormatInt(b.SeqLast, 10),
			b.Stream, b.StreamSeqFirst, b.StreamSeqLast})
	}
	return all
}

func laneBatchTable(list []laneBatch) *output.Table {
	table := &output.Table{Heads: []string{"SETTLED", "EVENTS", "SEQ", "STREAM", "STREAM SEQ"}, Right: []bool{false, true}}
	for _, b := range list {
		table.Add(b.SettledAt, output.Number(int64(b.Events)), b.SeqFirst+" to "+b.SeqLast, plain(b.Stream),
			fmt.Sprintf("%d to %d", b.StreamSeqFirst, b.StreamSeqLast))
	}
	return table
}
