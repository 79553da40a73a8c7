package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// sentinels are parameters whose values occur nowhere else in a definition.
var sentinels = canonical.Params{Lanes: 241, Slots: 31, Period: 1234567 * time.Second, MaxEventBytes: 45678901}

// makeSnapshot asks a server what the canonical schema looks like in it.
func makeSnapshot(ctx context.Context, db DB) (*snapshot, error) {
	digests, err := sources()
	if err != nil {
		return nil, err
	}
	snap := &snapshot{Sources: digests, Components: map[canonical.Component]map[string]properties{}}
	for _, c := range canonical.Components() {
		e, err := Scratch(ctx, db, sentinels, c)
		if err != nil {
			return nil, err
		}
		snap.Postgres = e.Major
		all, err := withTokens(e.facts)
		if err != nil {
			return nil, err
		}
		for _, need := range c.Needs() {
			if err := subtract(all, snap.Components[need]); err != nil {
				return nil, fmt.Errorf("component %s on %s: %w", c, need, err)
			}
		}
		own := map[string]properties{}
		for o, props := range all {
			own[o.key()] = props
		}
		snap.Components[c] = own
	}
	return snap, nil
}

// withTokens replaces what follows from the parameters, and tells one partition for all.
func withTokens(f facts) (facts, error) {
	f = f.with(func(s string) string {
		for value, token := range map[string]string{
			strconv.Itoa(sentinels.Lanes):                     lanesToken,
			strconv.Itoa(sentinels.Slots):                     slotsToken,
			strconv.Itoa(int(sentinels.Period / time.Second)): periodToken,
			strconv.Itoa(sentinels.MaxEventBytes):             bytesToken,
		} {
			s = regexp.MustCompile(`\b`+value+`\b`).ReplaceAllString(s, token)
		}
		return s
	})
	f.fold()
	slot := regexp.MustCompile(`^event_outbox_(\d+)$`)
	out, told := facts{}, map[Object]int{}
	for o, props := range f {
		props = judged(props)
		delete(props, propBody)
		match := slot.FindStringSubmatch(o.Table)
		if o.Table == "" && o.Kind == kindTable {
			match = slot.FindStringSubmatch(o.Name)
		}
		if match != nil {
			replace := func(s string) string {
				s = strings.ReplaceAll(s, "event_outbox_"+match[1], "event_outbox_"+slotToken)
				return strings.ReplaceAll(s, "('"+match[1]+"')", "('"+slotToken+"')")
			}
			o.Table, o.Name = replace(o.Table), replace(o.Name)
			for property, value := range props {
				props[property] = replace(value)
			}
			if before := out[o]; before != nil && !maps.Equal(before, props) {
				return nil, fmt.Errorf("%s differs between slots: %v, %v", o, before, props)
			}
			told[o]++
		}
		out[o] = props
	}
	for o, n := range told {
		if n != sentinels.Slots {
			return nil, fmt.Errorf("%s is in %d of %d slots", o, n, sentinels.Slots)
		}
	}
	return out, nil
}

// subtract takes away what a needed component has. A component that changed something of
// another one would need another form of snapshot.
func subtract(f facts, need map[string]properties) error {
	for key, props := range need {
		o, _ := parseKey(key)
		if !maps.Equal(f[o], props) {
			return fmt.Errorf("%s is %v, was %v", o, f[o], props)
		}
		delete(f, o)
	}
	return nil
}

// encode writes a snapshot so that a change of the schema is a readable diff.
func (s *snapshot) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(s)
	return b.Bytes(), err
}
