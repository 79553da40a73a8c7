package given

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// Flags refuses a flag that was given without a value, as a shell does with a variable that is not set: a
// command would take it for one that was not given, and do more than was meant. It refuses negative
// durations too, and a timeout below a millisecond, which Postgres takes for none. Flags that others judge are skipped.
func Flags(c *cobra.Command, others func(pflag.Value) bool) error {
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		if wrong == nil && !others(f.Value) {
			wrong = judge(f)
		}
	})
	return wrong
}

func judge(f *pflag.Flag) error {
	if empty(f.Value) {
		return exit.Errorf(exit.Usage, "--%s is empty", f.Name).WithHint("leave the flag out, or give it a value: a variable of the shell may not be set")
	}
	if f.Value.Type() != "duration" {
		return nil
	}
	switch d, err := time.ParseDuration(f.Value.String()); {
	case err != nil:
		return nil // another kind of duration
	case d < 0:
		return exit.Errorf(exit.Usage, "--%s %s is negative", f.Name, d).WithHint("write a duration such as 500ms or 10s")
	case d < time.Millisecond && (f.Name == "timeout" || strings.HasSuffix(f.Name, "-timeout")):
		return exit.Errorf(exit.Usage, "--%s %s is too short: must be 1ms or more", f.Name, d).WithHint("write a duration such as 500ms or 10s")
	}
	return nil
}

func empty(v pflag.Value) bool {
	if list, is := v.(pflag.SliceValue); is {
		values := list.GetSlice()
		return len(values) == 0 || slices.ContainsFunc(values, blank)
	}
	return blank(v.String())
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
