package command

import (
	"encoding/hex"
	"strconv"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// deadLetter is a dead letter as JSON has it: a contract, only ever added to, and never with the
// payload.
type deadLetter struct {
	ID           string `json:"id"`
	EventID      string `json:"event_id"`
	Source       string `json:"source"`
	Type         string `json:"type"`
	Subject      string `json:"subject"`
	ContentType  string `json:"datacontenttype"`
	Key          string `json:"partitionkey"`
	Operation    string `json:"operation"`
	Generation   int32  `json:"generation"`
	Reason       string `json:"reason"`
	DetailSHA256 string `json:"detail_sha256"`
	Attempts     int32  `json:"attempts"`
	Epoch        int32  `json:"requeue_epoch"`
	DeadAt       string `json:"dead_at"`
	StagedAt     string `json:"staged_at"`
	DataBytes    int32  `json:"data_bytes"`
	Lane         int16  `json:"lane"`
	Seq          string `json:"seq"`
}

func deadLetterOf(l retry.DeadLetter) deadLetter {
	return deadLetter{
		ID: strconv.FormatInt(l.ID, 10), EventID: l.EventID, Source: l.Source, Type: l.Type, Subject: l.Subject,
		ContentType: l.ContentType, Key: l.Key, Operation: l.Operation, Generation: l.Generation,
		Reason: string(l.Reason), DetailSHA256: hex.EncodeToString(l.DetailSHA256), Attempts: l.Attempts, Epoch: l.Epoch,
		DeadAt: output.Time(l.DeadAt), StagedAt: output.Time(l.StagedAt), DataBytes: l.Bytes,
		Lane: l.Lane, Seq: strconv.FormatInt(l.Seq, 10),
	}
}

func deadLettersOf(list []retry.DeadLetter) []deadLetter {
	all := make([]deadLetter, 0, len(list))
	for _, l := range list {
		all = append(all, deadLetterOf(l))
	}
	return all
}

// deadLetterAct is a line of history as JSON has it.
type deadLetterAct struct {
	At           string `json:"at"`
	DeadLetterID string `json:"dead_letter_id"`
	Action       string `json:"action"`
	Actor        string `json:"actor"`
	Reason       string `json:"reason"`
	Attempts     int32  `json:"attempts"`
	Epoch        int32  `json:"requeue_epoch"`
}

func deadLetterActOf(a retry.Act) deadLetterAct {
	return deadLetterAct{output.Time(a.At), strconv.FormatInt(a.DeadLetterID, 10), a.Action, a.Actor, a.Reason, a.Attempts, a.Epoch}
}
