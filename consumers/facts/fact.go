package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Fact is an economic fact as one event tells it.
type Fact struct {
	// Source is who the fact comes from, such as the provider; 1 to 512 bytes.
	Source string
	// Account is whom it concerns: one thing of a provider may concern two accounts; 1 to 255 bytes.
	Account string
	// Type is what kind of fact it is, such as "refund"; 1 to 255 bytes. All types of events that
	// tell one fact use one type, or it is applied once for each.
	Type string
	// Key tells it from others of its source, account and type.
	Key Key
	// Attributes are what the fact is known to be, such as amount and currency; compared and never
	// part of the identity. Write each in one way, an amount as a count of its smallest unit.
	Attributes map[string]string
}

// Outcome is what a claim was.
type Outcome string

// The outcomes of a claim.
const (
	Applied  Outcome = "applied"  // the fact is new: write its effect in this transaction
	Replayed Outcome = "replayed" // it is known, and told in the same way: write nothing
	Mismatch Outcome = "mismatch" // it is known, and told in another way: write nothing
)

// Claimed is the answer to a claim.
type Claimed struct {
	Fact
	ID         int64 // of the row, also of one that was there; for the effect's foreign key
	Outcome    Outcome
	Difference Difference // of a mismatch
}

// Difference names the attributes in which two tellings differ. It has digests of their values
// and no values, so that it can be kept and logged.
type Difference map[string]Digests

// Digests are the SHA-256 of an attribute, in hex; empty where it is absent.
type Digests struct {
	Known string `json:"known"` // of the fact that is recorded
	Told  string `json:"told"`  // of the event that was refused
}

// FactError says what is wrong with a fact. Trying again cannot help.
type FactError struct{ Field, Reason string }

func (e *FactError) Error() string { return fmt.Sprintf("claim fact: %s %s", e.Field, e.Reason) }

func (f Fact) validate(told Told) error {
	for _, field := range []struct {
		name, value string
		limit       int
	}{{"source", f.Source, 512}, {"account", f.Account, 255}, {"type", f.Type, 255}, {"key", f.Key.text, maxKeyBytes}} {
		switch {
		case field.value == "":
			return &FactError{field.name, "is empty"}
		case len(field.value) > field.limit:
			return &FactError{field.name, fmt.Sprintf("has more than %d bytes", field.limit)}
		case !storable(field.value):
			return &FactError{field.name, "is not UTF-8 text without NUL"}
		}
	}
	for _, piece := range strings.Split(f.Key.text, "/") {
		if _, value, _ := strings.Cut(piece, "="); value == escape.Replace(told.ID) {
			return &FactError{"key", "contains the id of the event, which is another when the fact is told again"}
		}
	}
	for name, value := range f.Attributes {
		if !storable(name) || !storable(value) {
			return &FactError{"attributes", "are not UTF-8 text without NUL"}
		}
	}
	return nil
}

// attributesText is the attributes as JSON.
func (f Fact) attributesText() string {
	text, _ := json.Marshal(f.Attributes) // of texts: it cannot fail
	return string(text)
}

// compare returns in what the event differs from the fact that is recorded.
func compare(known, told map[string]string) Difference {
	difference := Difference{}
	for name, value := range told {
		if have, has := known[name]; !has {
			difference[name] = Digests{Told: digest(value)}
		} else if have != value {
			difference[name] = Digests{digest(have), digest(value)}
		}
	}
	for name, value := range known {
		if _, has := told[name]; !has {
			difference[name] = Digests{Known: digest(value)}
		}
	}
	return difference
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}
