package wire

import (
	"fmt"
	"strings"
)

// Defaults of [Config].
const (
	DefaultPrefix  = "events"
	DefaultSubject = "{prefix}.{type}"
)

// Mode says where the attributes of an event travel.
type Mode int

const (
	// Binary puts the attributes into headers and the data into the body.
	Binary Mode = iota
	// Structured puts the whole event into the body, as JSON.
	Structured
)

// String returns "binary" or "structured".
func (m Mode) String() string {
	switch m {
	case Binary:
		return "binary"
	case Structured:
		return "structured"
	default:
		return fmt.Sprintf("mode %d", int(m))
	}
}

// MarshalText implements [encoding.TextMarshaler].
func (m Mode) MarshalText() ([]byte, error) {
	if m != Binary && m != Structured {
		return nil, badMode(m.String())
	}
	return []byte(m.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler], so that a Mode can be
// read from configuration. It accepts what String returns.
func (m *Mode) UnmarshalText(text []byte) error {
	switch string(text) {
	case "binary":
		*m = Binary
	case "structured":
		*m = Structured
	default:
		return badMode(fmt.Sprintf("%q", text))
	}
	return nil
}

// Config describes the messages that an [Encoder] makes. The zero value is
// useful: binary mode, subjects events.<type>, any stream.
type Config struct {
	// Prefix is what {prefix} stands for in Subject: one or more subject
	// tokens. Defaults to [DefaultPrefix].
	Prefix string

	// Subject is the template of the message subject. It may use {prefix},
	// {type}, {source}, {subject} and {partitionkey}. Prefix and type are
	// inserted as they are, dots included. Each of the others becomes exactly
	// one token: every byte except A-Z, a-z, 0-9, "_" and "-" is
	// percent-encoded, and an absent value is "_". Defaults to
	// [DefaultSubject].
	Subject string

	// Stream is the name of the stream that must store the message. It travels
	// as Nats-Expected-Stream: a server where the subject belongs to another
	// stream refuses the message. Empty means that the header is not set.
	Stream string

	// Mode defaults to Binary.
	Mode Mode
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Subject == "" {
		c.Subject = DefaultSubject
	}
	return c
}

func (c Config) validate() error {
	reason := checkTokens(c.Prefix)
	if reason == "" && c.Prefix[0] == '$' {
		reason = reasonReserved
	}
	if reason != "" {
		return &ConfigError{
			Field:  "Prefix",
			Reason: reason,
			Hint:   `use subject tokens joined by dots, such as "events" or "shop.events"`,
		}
	}
	if reason := checkStream(c.Stream); reason != "" {
		return &ConfigError{
			Field:  "Stream",
			Reason: reason,
			Hint:   `use the stream's name as "nats stream ls" prints it, such as "EVENTS"`,
		}
	}
	if c.Mode != Binary && c.Mode != Structured {
		return badMode(c.Mode.String())
	}
	return nil
}

func badMode(got string) error {
	return &ConfigError{
		Field:  "Mode",
		Reason: fmt.Sprintf("is unknown: %s", got),
		Hint:   "use binary or structured",
	}
}

// checkStream applies the server's rules for stream names, and keeps anything
// that could end a header line out of them.
func checkStream(name string) string {
	if strings.ContainsAny(name, `.*>/\`) {
		return `contains one of . * > / \`
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] == 0x7f {
			return "contains white space or a control character"
		}
	}
	return ""
}
