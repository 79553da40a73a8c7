package fault

import (
	"encoding/json"
	"strconv"
	"strings"
)

// inBatch splits the reply subject of a message of a fast batch, BATCH.SEQ.OPERATION.$FI, into that of
// the batch and the message's number in it. ok is false for other subjects.
func inBatch(reply string) (batch string, number uint64, ok bool) {
	tokens := strings.Split(reply, ".")
	n := len(tokens)
	if n < 4 || tokens[n-1] != "$FI" {
		return "", 0, false
	}
	number, err := strconv.ParseUint(tokens[n-3], 10, 64)
	return strings.Join(tokens[:n-3], ".") + ".", number, err == nil
}

// withoutMessage reports whether a client only asks something about its fast batch: operation 4 asks how far
// the server is, 3 ends the batch. Neither brings a message.
func withoutMessage(reply string) bool {
	tokens := strings.Split(reply, ".")
	if _, _, ok := inBatch(reply); !ok {
		return false
	}
	operation := tokens[len(tokens)-2]
	return operation == "3" || operation == "4"
}

// aboutMessage reports whether an answer to a publication is about that message. Within a fast batch
// it is only if it acknowledges the batch up to there: the server also answers with flow control, and
// with what it has stored of a batch that ended early.
func aboutMessage(f *frame) bool {
	_, number, ok := inBatch(f.subject)
	if !ok {
		return true
	}
	var ack struct {
		Type  string `json:"type"`
		Count uint64 `json:"count"`
	}
	return json.Unmarshal(f.body[f.header:], &ack) == nil && ack.Type == "" && ack.Count == number
}

// expected returns what an answer is about, and forgets it if there is no other answer to come.
func (c *natsConn) expected(reply string) (*NATSMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	about, ok := c.waiting[reply]
	if _, _, batch := inBatch(reply); !batch {
		delete(c.waiting, reply)
	}
	return about, ok
}

// others takes the other messages of a batch that a final answer is about; none for another answer.
func (c *natsConn) others(reply string) []*NATSMessage {
	batch, _, ok := inBatch(reply)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*NATSMessage
	for subject, m := range c.waiting {
		if !strings.HasPrefix(subject, batch) {
			continue
		}
		delete(c.waiting, subject)
		if subject != reply {
			list = append(list, m)
		}
	}
	return list
}

// tellAll tells of an answer for each of the messages that it is about. A batch of ids that the stream
// has already is acknowledged at sequence 0.
func (c *natsConn) tellAll(e NATSEvent, others []*NATSMessage) {
	e.Duplicate = e.Duplicate || len(others) > 0 && e.Code == 0 && e.Sequence == 0
	c.proxy.tell(e)
	e.Upto, e.Sequence = e.Sequence, 0
	for _, m := range others {
		e.ID = m.ID
		c.proxy.tell(e)
	}
}
