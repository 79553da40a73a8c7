package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const maxKeyBytes = 512

// Key is the part of a fact's identity that tells it from others of its type and account. The
// zero value is no key. Make one with [NewKey] or [ReversalKey].
type Key struct{ text string }

// String returns the key as it is stored, such as "refund=re_1/date=2026-01-31".
func (k Key) String() string { return k.text }

// Part is a named piece of a [Key].
type Part struct {
	name, value string
	reason      string // why it cannot be part of a key; "" if it can
}

// KeyError says why a key cannot identify a fact. It has no values and is safe to log.
type KeyError struct {
	Part   string // name of the part; empty for the key as a whole
	Reason string // completes the sentence "part ..."
}

func (e *KeyError) Error() string {
	if e.Part == "" {
		return "make fact key: it " + e.Reason
	}
	return fmt.Sprintf("make fact key: part %q %s", e.Part, e.Reason)
}

// Hint says what a person can do.
func (e *KeyError) Hint() string {
	return "Build the key from ids that the provider gave the thing itself; they are the same in every delivery and replay."
}

// ID is an id that the provider of the fact gave it, such as that of a refund.
func ID(name, value string) Part { return part(name, value) }

// Date is a calendar day of the payload, as 2006-01-02. Not the day of a delivery.
func Date(name, value string) Part {
	p := Part{name: name, value: value}
	if _, err := time.Parse(time.DateOnly, value); err != nil {
		p.reason = "is not a date as 2006-01-02"
	}
	return p
}

// NewKey makes a key of parts, in their order. Errors: [*KeyError].
func NewKey(parts ...Part) (Key, error) {
	if len(parts) == 0 {
		return Key{}, &KeyError{Reason: "has no parts"}
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		switch {
		case p.reason != "":
			return Key{}, &KeyError{p.name, p.reason}
		case !plainName(p.name):
			return Key{}, &KeyError{p.name, "has a name that is not of lower-case letters, digits and underscores"}
		case forbiddenName(p.name):
			return Key{}, &KeyError{p.name, "changes between deliveries of one fact"}
		}
		texts[i] = p.name + "=" + escape.Replace(p.value)
	}
	return newKey(strings.Join(texts, "/"))
}

// ReversalKey is the key of the entry that takes back one duplicate of a fact. The row id of
// the duplicate is in it, so that several duplicates have a reversal each.
func ReversalKey(of Key, duplicate string) (Key, error) {
	if of.text == "" || duplicate == "" {
		return Key{}, &KeyError{Reason: "needs the key of the fact and the id of the duplicate"}
	}
	return newKey("reversal_of=" + escape.Replace(of.text) + "/duplicate=" + escape.Replace(duplicate))
}

func newKey(text string) (Key, error) {
	switch {
	case len(text) > maxKeyBytes:
		return Key{}, &KeyError{Reason: fmt.Sprintf("has more than %d bytes", maxKeyBytes)}
	case !storable(text):
		return Key{}, &KeyError{Reason: "is not UTF-8 text without NUL"}
	}
	return Key{text}, nil
}

func part(name, value string) Part {
	p := Part{name: name, value: value}
	switch {
	case value == "":
		p.reason = "is empty"
	case instant(value):
		p.reason = "is a time of day"
	}
	return p
}

// instant reports whether a value is a time that a clock gave. A day may be a fact's own.
func instant(value string) bool {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.RFC1123, time.RFC1123Z} {
		if _, err := time.Parse(layout, value); err == nil {
			return true
		}
	}
	return false
}

// escape keeps two lists of parts from making one text.
var escape = strings.NewReplacer("%", "%25", "/", "%2F", "=", "%3D")

var forbidden = []string{
	"time", "timestamp", "now", "clock", "at", "attempt", "attempts", "retry", "delivery", "deliveries", "redelivery",
	"random", "rand", "nonce", "event", "message", "msg", "trace", "span", "request", "replay", "sequence", "seq", "offset",
}

// forbiddenName judges the words of a name: event_id and delivery_count are not allowed.
func forbiddenName(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "_"), func(word string) bool { return slices.Contains(forbidden, word) })
}

func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// storable reports whether the database takes s as a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
