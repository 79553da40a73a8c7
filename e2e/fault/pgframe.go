package fault

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// pgFrame is one message between a Postgres client and its server: a type, except for
// the first ones of a client, and a body.
type pgFrame struct {
	kind byte // 0 for what begins a connection
	body []byte
}

// Codes of what begins a connection, in place of a protocol version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

var errPGProtocol = errors.New("not the Postgres protocol")

// readPGFrame reads one message. Its body is its own.
func readPGFrame(r *bufio.Reader, typed bool) (*pgFrame, error) {
	f := &pgFrame{}
	if typed {
		var err error
		if f.kind, err = r.ReadByte(); err != nil {
			return nil, err
		}
	}
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:])) - 4
	if n < 0 || n > 1<<30 {
		return nil, fmt.Errorf("%w: a message of %d bytes", errPGProtocol, n)
	}
	f.body = make([]byte, n)
	_, err := io.ReadFull(r, f.body)
	return f, err
}

// append writes the frame as it goes over the wire.
func (f *pgFrame) append(out []byte) []byte {
	if f.kind != 0 {
		out = append(out, f.kind)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(f.body)+4))
	return append(out, f.body...)
}

// code returns what an untyped frame asks for.
func (f *pgFrame) code() int {
	if f.kind != 0 || len(f.body) < 4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(f.body))
}

// strings returns the texts that the body begins with; "" for those that it has not.
func (f *pgFrame) strings(n int) []string {
	list := make([]string, n)
	rest := f.body
	for i := range list {
		text, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		list[i], rest = string(text), after
	}
	return list
}

// startupName returns the application name of a start-up message.
func (f *pgFrame) startupName() string {
	pairs := bytes.Split(f.body[min(4, len(f.body)):], []byte{0})
	for i := 0; i+1 < len(pairs); i += 2 {
		if string(pairs[i]) == "application_name" {
			return string(pairs[i+1])
		}
	}
	return ""
}

// pgQuery makes a simple query.
func pgQuery(sql string) *pgFrame { return &pgFrame{kind: 'Q', body: append([]byte(sql), 0)} }

// pgError makes an ErrorResponse.
func pgError(severity, sqlstate, message string) *pgFrame {
	var b bytes.Buffer
	for _, field := range []struct{ code, text string }{{"S", severity}, {"V", severity}, {"C", sqlstate}, {"M", message}} {
		b.WriteString(field.code + field.text + "\x00")
	}
	b.WriteByte(0)
	return &pgFrame{kind: 'E', body: b.Bytes()}
}

// raise is a statement with which the server itself makes the error, so that it knows that the
// transaction has failed.
func raise(sqlstate, message string) *pgFrame {
	quote := strings.NewReplacer("'", "''", "%", "%%")
	return pgQuery(fmt.Sprintf("DO $fault$ BEGIN RAISE EXCEPTION '%s' USING ERRCODE = '%s'; END $fault$",
		quote.Replace(message), quote.Replace(sqlstate)))
}
