package output

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is the value of a flag that is one of some words. The first is the default.
type Choice struct {
	allowed []string
	chosen  string
}

// NewChoice makes the flag.
func NewChoice(allowed ...string) *Choice { return &Choice{allowed: allowed, chosen: allowed[0]} }

// Value returns the word that was chosen.
func (c *Choice) Value() string { return c.chosen }

// Allowed returns the words.
func (c *Choice) Allowed() []string { return c.allowed }

// String implements pflag.Value.
func (c *Choice) String() string { return c.chosen }

// Type implements pflag.Value: it names the value in help.
func (c *Choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("the words are %s", strings.Join(c.allowed, ", "))
	}
	c.chosen = text
	return nil
}
