package fault

import (
	"encoding/json"
	"strings"
	"time"
)

// NATSPoint is where a [NATSRule] acts.
type NATSPoint string

// The points. A publication is a message with a reply subject that a client sends to
// anything but the server's own subjects, which begin with $: what JetStream acknowledges.
const (
	OnPublication NATSPoint = "publication" // before the server gets it
	OnAck         NATSPoint = "ack"         // before the client gets the answer to a publication
	OnRequest     NATSPoint = "request"     // to the server itself, such as the JetStream API, before it gets it
	OnResponse    NATSPoint = "response"    // before the client gets the first answer to a request
)

// NATSMessage is what a [NATSRule] judges.
type NATSMessage struct {
	Point   NATSPoint
	Client  string // the client's name for itself
	Subject string // of the publication or request, also at its answer
	ID      string // Nats-Msg-Id of the publication, also at its ack; or ""
	Payload []byte // must not be changed
}

// NATSRule is a rule of a [NATSProxy].
type NATSRule = Rule[*NATSMessage, NATSAction]

// natsKind is what an action does.
type natsKind int

const (
	natsSwallow natsKind = iota
	natsDuplicate
	natsDelay
	natsCut
	natsAnswer
)

// NATSAction is what a [NATSRule] does. Make one with the functions below.
type NATSAction struct {
	kind  natsKind
	times int
	delay time.Duration
	reply Reply
}

// Swallow lets a message vanish.
func Swallow() NATSAction { return NATSAction{kind: natsSwallow} }

// Duplicate delivers a message n more times.
func Duplicate(n int) NATSAction { return NATSAction{kind: natsDuplicate, times: n} }

// Delay delivers a message later. What the server sent after it overtakes it; what
// the client sent after it waits behind it.
func Delay(d time.Duration) NATSAction { return NATSAction{kind: natsDelay, delay: d} }

// Cut cuts the connection in place of delivering the message.
func Cut() NATSAction { return NATSAction{kind: natsCut} }

// Answer gives the client this answer. At a publication or a request the server does not
// get it; at an ack or a response the server has acted, and its own answer is lost.
func Answer(r Reply) NATSAction { return NATSAction{kind: natsAnswer, reply: r} }

// At matches everything at a point.
func At(point NATSPoint) func(*NATSMessage) bool {
	return func(m *NATSMessage) bool { return m.Point == point }
}

// AtSubject matches what concerns subjects that begin with a prefix.
func AtSubject(point NATSPoint, prefix string) func(*NATSMessage) bool {
	return func(m *NATSMessage) bool { return m.Point == point && strings.HasPrefix(m.Subject, prefix) }
}

// AtID matches what concerns one Nats-Msg-Id.
func AtID(point NATSPoint, id string) func(*NATSMessage) bool {
	return func(m *NATSMessage) bool { return m.Point == point && m.ID == id }
}

// NATSEvent is what an observer of a [NATSProxy] is told: a publication that the server was
// given, or an answer to one.
type NATSEvent struct {
	At     time.Time
	Client string
	ID     string
	Ack    bool // an answer, else a publication

	// Of an answer: what it says, and whether the client got it.
	Stream    string
	Sequence  uint64
	Upto      uint64 // in place of Sequence when a batch was acknowledged as a whole: of its last message
	Duplicate bool
	Code      int // err_code, or the status of an answer without a body; 0 for an acknowledgement
	Delivered bool
	Forged    bool // a rule made it
}

// parseAck reads an answer to a publication.
func parseAck(f *frame, e *NATSEvent) {
	var ack struct {
		Stream    string `json:"stream"`
		Sequence  uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
		Error     *struct {
			Code int `json:"err_code"`
		} `json:"error"`
	}
	payload := f.body[f.header:]
	switch err := json.Unmarshal(payload, &ack); {
	case err != nil:
		e.Code = 503 // a status: nobody listens
	case ack.Error != nil:
		e.Code = ack.Error.Code
	default:
		e.Stream, e.Sequence, e.Duplicate = ack.Stream, ack.Sequence, ack.Duplicate
	}
}
