package command

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// deadLetterFilter are the flags that choose dead letters.
type deadLetterFilter struct {
	reason, kind, key string
	events            []string
	since, before     moment
	limit             int
}

// reasonCodes are all there are.
func reasonCodes() []string {
	return wordsOf([]retry.Code{retry.MessageTooLarge, retry.HeaderTooLarge, retry.Malformed, retry.Rejected})
}

func (d *deadLetterFilter) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.reason, "reason-code", "", "Only those with this reason: "+strings.Join(reasonCodes(), ", "))
	f.StringVar(&d.kind, "type", "", "Only events of this type")
	f.StringVar(&d.key, "key", "", "Only events of this ordering key")
	f.StringArrayVar(&d.events, "event-id", nil, "Only the event with this id, may be repeated")
	f.Var(&d.since, "since", "Only those that died at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&d.before, "before", "Only those that died before this time")
	f.IntVar(&d.limit, "limit", 1000, "How many at most, oldest first")
	inGroup(c, commonFlags, "reason-code", "type", "key", "event-id", "since", "before", "limit")
	complete(c, "reason-code", reasonCodes())
}

// filter judges the flags.
func (d *deadLetterFilter) filter() (retry.Filter, error) {
	f := retry.Filter{EventIDs: d.events, Reason: retry.Code(d.reason), Type: d.kind, Key: d.key,
		Since: d.since.at, Before: d.before.at, Limit: d.limit}
	if err := checkLimit(d.limit); err != nil {
		return f, err
	}
	return f, checkWords("reason-code", reasonCodes(), d.reason)
}

// chosen reports whether any flag narrows the choice.
func (d *deadLetterFilter) chosen() bool {
	return d.reason != "" || d.kind != "" || d.key != "" || len(d.events) > 0 || !d.since.at.IsZero() || !d.before.at.IsZero()
}

// splitIDs tells ids of dead letters, which are numbers, from ids of events.
func splitIDs(args []string) (ids []int64, events []string) {
	for _, arg := range args {
		if id, err := strconv.ParseInt(arg, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		} else {
			events = append(events, arg)
		}
	}
	return ids, events
}
