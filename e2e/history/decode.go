package history

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// message reads a message in binary mode, from the text of the CloudEvents NATS binding and
// not with the code that wrote it. The version comes from the extension "version".
func message(prefix, subject string, header map[string][]string, data []byte) Message {
	m := Message{Event: Event{Digest: sha256.Sum256(data)}}
	if ids := header["Nats-Msg-Id"]; len(ids) > 0 {
		m.MessageID = ids[0]
	}
	attributes := map[string]string{}
	for name, values := range header {
		attribute, ok := strings.CutPrefix(name, "ce-")
		if !ok {
			continue
		}
		text, err := percentDecoded(values[0])
		if err != nil || len(values) != 1 {
			m.Fault = fmt.Sprintf("has the header %s with the values %q", name, values)
			return m
		}
		attributes[attribute] = text
	}
	m.ID, m.Source, m.Type, m.Key = attributes["id"], attributes["source"], attributes["type"], attributes["partitionkey"]
	m.Fault = faultOf(m, prefix, subject, attributes)
	if version, ok := attributes["version"]; ok && m.Fault == "" {
		n, err := strconv.Atoi(version)
		if err != nil {
			m.Fault = fmt.Sprintf("has the version %q", version)
		}
		m.Version = n
	}
	return m
}

func faultOf(m Message, prefix, subject string, attributes map[string]string) string {
	switch {
	case attributes["specversion"] != "1.0":
		return "is no CloudEvent in binary mode"
	case m.ID == "" || m.Source == "" || m.Type == "":
		return "lacks its id, source or type"
	case subject != prefix+"."+m.Type:
		return fmt.Sprintf("has the subject %s and the type %s", subject, m.Type)
	}
	if _, err := time.Parse(time.RFC3339Nano, attributes["time"]); err != nil {
		return fmt.Sprintf("has the time %q", attributes["time"])
	}
	return ""
}

// percentDecoded undoes the binding's encoding of header values.
func percentDecoded(text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", fmt.Errorf("%q ends in an escape", text)
		}
		b, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", err
		}
		out.WriteByte(byte(b))
		i += 2
	}
	return out.String(), nil
}
