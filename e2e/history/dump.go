package history

import (
	"encoding/json"
	"fmt"
	"io"
)

// Dump writes the record for people to search: one JSON object a line, with its kind.
func (h *History) Dump(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, err := range []error{
		dump(e, "stage", h.Stages), dump(e, "decision", h.Decisions), dump(e, "publication", h.Publications), dump(e, "ack", h.Acks),
		dump(e, "move", h.Moves), dump(e, "wait", h.Waits), dump(e, "row", h.Rows), dump(e, "message", h.Stream), dump(e, "rollback", h.Rollbacks), dump(e, "read", h.Reads), dump(e, "effect", h.Effects),
		dump(e, "counter", h.Counters), dump(e, "limits", []Limits{h.Limits}),
	} {
		if err != nil {
			return fmt.Errorf("dump the history: %w", err)
		}
	}
	return nil
}

func dump[T any](e *json.Encoder, kind string, list []T) error {
	for i := range list {
		if err := e.Encode(map[string]any{kind: list[i]}); err != nil {
			return err
		}
	}
	return nil
}
