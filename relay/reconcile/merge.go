package reconcile

import "slices"

// merge compares both sides, id by id. It leaves in each event what became of it.
func (r *run) merge(events []event, messages []message) {
	slices.SortFunc(events, compareEvents)
	slices.SortFunc(messages, compareMessages)
	for len(events) > 0 || len(messages) > 0 {
		id := nextID(events, messages)
		e, m := 0, 0
		for e < len(events) && events[e].id() == id {
			e++
		}
		for m < len(messages) && messages[m].id() == id {
			m++
		}
		r.judge(events[:e], messages[:m])
		events, messages = events[e:], messages[m:]
	}
}

func nextID(events []event, messages []message) key {
	if len(events) == 0 || len(messages) > 0 && compareKeys(messages[0].id(), events[0].id()) < 0 {
		return messages[0].id()
	}
	return events[0].id()
}

// judge compares the events and the messages of one id. There is one of each, as a rule; nothing forbids
// staging an id twice, and then the stream may have one message or two.
func (r *run) judge(events []event, messages []message) {
	if len(events) == 0 {
		r.judgeForeign(messages)
		return
	}
	wanted := 0
	for i := range events {
		if events[i].state == expected {
			wanted++
		}
	}
	first := &events[0]
	switch {
	case wanted == 0 && len(messages) > 0 && !slices.ContainsFunc(events, func(e event) bool { return e.state != held }):
		r.note(Held, first, messages[0].seq)
	case wanted == 0:
	case len(messages) == 0:
		r.judgeMissing(events)
	default:
		r.judgePresent(events, messages, wanted)
	}
}

func (r *run) judgeMissing(events []event) {
	for i := range events {
		e := &events[i]
		if e.state != expected {
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

func (r *run) judgePresent(events []event, messages []message, wanted int) {
	r.report.Settled += int64(wanted)
	r.report.Present += int64(wanted)
	for i := len(events); i < len(messages); i++ {
		r.note(Duplicated, &events[0], messages[i].seq)
	}
	same := func(m *message) bool {
		return slices.ContainsFunc(events, func(e event) bool { return e.digest == 0 || m.marks&unreadable == 0 && e.digest == m.digest })
	}
	for i := range messages {
		if !same(&messages[i]) {
			r.note(Changed, &events[0], messages[i].seq)
			break
		}
	}
	if len(events) == 1 && events[0].key != 0 {
		events[0].state, events[0].digest = placed, messages[0].seq
	}
}

func (r *run) judgeForeign(messages []message) {
	for i := range messages {
		m := &messages[i]
		class := Foreign
		_, known := r.sources[m.source]
		switch {
		case m.marks&(forgotten|younger) != 0:
			continue
		case m.marks&judged == 0:
			class = Unjudged
		case m.marks&unreadable != 0 || !known:
			class = Other
		}
		r.report.note(r.cfg.Examples, Example{Class: class, StreamSeq: m.seq})
	}
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
				r.disorder = append(r.disorder, place{e.lane, e.seq, e.digest})
			}
			highest = max(highest, e.seq)
		}
		first = end
	}
	rest = slices.DeleteFunc(rest, func(e event) bool { return e.state != missing })
	slices.SortFunc(rest, func(a, b event) int { return sign(a.seq < b.seq) })
	return rest
}
