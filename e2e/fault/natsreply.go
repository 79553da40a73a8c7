package fault

import (
	"encoding/json"
	"fmt"
)

// Reply is what a rule answers in place of the server.
type Reply struct {
	Header  string // a whole header block, or ""
	Payload string
}

// NoResponders is the server's answer when nobody listens on a subject: no stream has it, or
// it has no leader.
func NoResponders() Reply { return Reply{Header: "NATS/1.0 503\r\n\r\n"} }

// JetStreamError is an answer of the JetStream API: status is like one of HTTP, code is the
// err_code, by which clients tell errors apart.
func JetStreamError(status, code int, description string) Reply {
	return Reply{Payload: marshal(map[string]any{
		"error": map[string]any{"code": status, "err_code": code, "description": description},
	})}
}

// Stored is an acknowledgement.
func Stored(stream string, sequence uint64, duplicate bool) Reply {
	ack := map[string]any{"stream": stream, "seq": sequence}
	if duplicate {
		ack["duplicate"] = true
	}
	return Reply{Payload: marshal(ack)}
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fault: marshal a reply: %v", err)) // its values are strings and numbers
	}
	return string(text)
}
