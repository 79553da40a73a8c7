package reconcile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// content is what an event says, whatever the mode in which it travels.
type content struct {
	source, id, key string
	digest          uint64 // of all attributes and of the data
}

// digester computes contents. It is not safe for concurrent use.
type digester struct {
	encoder *wire.Encoder
	hash    hash.Hash
}

func newDigester() (*digester, error) {
	encoder, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		return nil, err
	}
	return &digester{encoder: encoder, hash: sha256.New()}, nil
}

// ofMessage reads a message of the stream.
func (d *digester) ofMessage(header nats.Header, data []byte) (content, error) {
	return d.of(header, data, nil)
}

// ofRecord reads an event of the log, of whose data it has the SHA-256 only. It takes the way over
// the wire, so that both sides write every value alike.
func (d *digester) ofRecord(r *outbox.Record, data []byte) (content, error) {
	msg, err := d.encoder.Encode(r)
	if err != nil {
		return content{}, err
	}
	return d.of(msg.Header, nil, data)
}

// of decodes an event. sum is the digest of its data when that is not at hand.
func (d *digester) of(header nats.Header, data, sum []byte) (content, error) {
	e, err := wire.Decode(header, data)
	if err != nil {
		return content{}, err
	}
	if sum == nil {
		full := sha256.Sum256(e.Data())
		sum = full[:]
	}
	c := content{source: e.Source(), id: e.ID()}
	extensions := e.Extensions()
	c.key = text(extensions["partitionkey"])
	d.hash.Reset()
	d.add(c.id, c.source, e.Type(), e.Subject(), e.DataContentType(), e.DataSchema())
	if at := e.Time(); !at.IsZero() {
		d.add(at.UTC().Format(time.RFC3339Nano))
	} else {
		d.add("")
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		d.add(name, text(extensions[name]))
	}
	d.hash.Write(sum)
	var out [sha256.Size]byte
	c.digest = binary.BigEndian.Uint64(d.hash.Sum(out[:0]))
	return c, nil
}

// add digests texts so that none can run into the next.
func (d *digester) add(texts ...string) {
	var length [4]byte
	for _, t := range texts {
		binary.BigEndian.PutUint32(length[:], uint32(len(t)))
		d.hash.Write(length[:])
		d.hash.Write([]byte(t))
	}
}

// text is an extension value: a string, a boolean or an integer.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// key is a message id of ours, cut to what fits an entry: 96 bits of a SHA-256.
type key struct {
	head uint64
	tail uint32
}

// parseID reads a Nats-Msg-Id. A replay has the id of its event and an epoch; ours says that it has the
// form of an event's id.
func parseID(id string) (k key, replayed, ours bool) {
	base, epoch, replayed := strings.Cut(id, ".r")
	if replayed && (epoch == "" || strings.Trim(epoch, "0123456789") != "") {
		return key{}, false, false
	}
	var sum [sha256.Size]byte
	if base64.RawURLEncoding.DecodedLen(len(base)) != len(sum) {
		return key{}, false, false
	}
	if _, err := base64.RawURLEncoding.Decode(sum[:], []byte(base)); err != nil {
		return key{}, false, false
	}
	return key{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint32(sum[8:12])}, replayed, true
}
