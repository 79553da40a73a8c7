package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// judge gives each key its class, in the order of keys.
func (c *comparison) judge() {
	byKey := map[string][]place{} // those that the database has and the truth does not
	for p, e := range c.keys {
		if !e.told {
			byKey[p.key] = append(byKey[p.key], p)
		}
	}
	places := slices.SortedFunc(maps.Keys(c.keys), func(a, b place) int {
		return cmp.Or(strings.Compare(a.account, b.account), strings.Compare(a.key, b.key))
	})
	explains := map[place]bool{}
	for _, p := range places {
		e := c.keys[p]
		class := c.class(e)
		if others := byKey[p.key]; class == Missing && len(others) > 0 {
			class = CrossAccount
			for _, other := range others {
				explains[other] = true
			}
		}
		if e.told {
			c.report.note(c.cfg.Examples, class, p, e)
		}
	}
	for _, p := range places {
		e := c.keys[p]
		if e.told || explains[p] {
			continue
		}
		// A duplicate and a split are wrong by themselves; all else is foreign if the truth could know it.
		if class := c.class(e); class == Duplicate || class == Split || e.inWindow {
			if class != Duplicate && class != Split {
				class = Foreign
			}
			c.report.note(c.cfg.Examples, class, p, e)
		}
	}
}

func (c *comparison) class(e *entry) Class {
	differs := e.told && (len(e.texts) > 1 || e.texts[0] != e.factText) || e.factText != e.effect
	switch {
	case e.count > 1:
		return Duplicate
	case e.factID == 0 && e.count == 0:
		return Missing
	case e.factID == 0 || e.count == 0 || !e.linked:
		return Split
	case differs && c.resolved[e.factID]:
		return Decided
	case differs:
		return Mismatch
	}
	return Clean
}
