package reconcile

import "slices"

// see compares a message with the events of its id. There is one, as a rule; nothing forbids staging an
// id twice, and then the stream may have one message or two. The first event keeps count.
func (r *run) see(events []event, m *message) {
	group := withID(events, m.id)
	if len(group) == 0 {
		r.judgeForeign(m)
		return
	}
	e := &group[0]
	if e.copies < 255 {
		e.copies++
	}
	if e.copies == 1 {
		e.stream = m.seq
	}
	if !slices.ContainsFunc(group, func(e event) bool { return e.isExpected() }) {
		if e.copies == 1 && !slices.ContainsFunc(group, func(e event) bool { return e.state != held }) {
			r.note(Held, e, m.seq)
		}
		return
	}
	if int(e.copies) > len(group) {
		r.note(Duplicated, e, m.seq)
	}
	same := slices.ContainsFunc(group, func(e event) bool { return e.digest == 0 || m.marks&unreadable == 0 && e.digest == m.digest })
	if !same && e.state != altered {
		r.note(Changed, e, m.seq)
		if e.state == expected {
			e.state = altered
		}
	}
}

// conclude says what became of each event once the stream has been read.
func (r *run) conclude(events []event) {
	for len(events) > 0 {
		group := withID(events[:min(len(events), groupLimit)], events[0].id())
		events = events[len(group):]
		wanted := int64(0)
		for i := range group {
			if group[i].isExpected() {
				wanted++
			}
		}
		first := &group[0]
		switch {
		case wanted == 0:
		case first.copies == 0:
			r.judgeMissing(group)
		default:
			r.report.Settled += wanted
			r.report.Present += wanted
			if len(group) == 1 && first.key != 0 {
				first.state = placed
			}
		}
	}
}

// groupLimit is how far to look for the events of one id.
const groupLimit = 1 << 10

func (r *run) judgeMissing(events []event) {
	for i := range events {
		e := &events[i]
		if !e.isExpected() {
			continue
		}
		r.report.Settled++
		if e.seq < r.expired {
			r.note(Expired, e, 0)
			continue
		}
		e.state = missing
		r.note(Missing, e, 0)
	}
}

func (r *run) judgeForeign(m *message) {
	class := Foreign
	_, known := r.sources[m.source]
	switch {
	case m.marks&(forgotten|younger) != 0:
		return
	case m.marks&judged == 0:
		class = Unjudged
	case m.marks&unreadable != 0 || !known:
		class = Other
	}
	r.report.note(r.cfg.Examples, Example{Class: class, StreamSeq: m.seq})
}

func (r *run) note(class Class, e *event, stream uint64) {
	r.report.note(r.cfg.Examples, Example{Class: class, Lane: e.lane, Seq: e.seq, StreamSeq: stream})
}

// order finds events that stand behind later ones of their keys, and returns the places of those
// that are missing. It uses up the list.
func (r *run) order(events []event) (gone []event) {
	n := 0
	for i := range events {
		if events[i].state == placed {
			events[n], events[i] = events[i], events[n]
			n++
		}
	}
	found, rest := events[:n], events[n:]
	slices.SortFunc(found, compareByKey)
	for first := 0; first < len(found); {
		highest := found[first].seq
		end := first + 1
		for ; end < len(found) && found[end].key == found[first].key; end++ {
			e := &found[end]
			if e.seq < highest {
				r.disorder = append(r.disorder, place{e.lane, e.seq, e.stream})
			}
			highest = max(highest, e.seq)
		}
		first = end
	}
	rest = slices.DeleteFunc(rest, func(e event) bool { return e.state != missing })
	slices.SortFunc(rest, func(a, b event) int { return sign(a.seq < b.seq) })
	return rest
}
