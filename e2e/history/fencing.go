package history

// Fencing wants every change of a lane to be made by whoever has it. A cursor is moved only by
// the session of the lease's owner, under the same claim, while the lease lasts. A
// claim takes only what is free. Sessions carry the name of their relay.
func Fencing(h *History) []Violation {
	var v verdict
	for _, m := range h.Moves {
		claim := m.After.Token != "" && m.After.Token != m.Before.Token
		// The statement judges the lease after it began and before it made the change.
		live := m.Began.Before(m.Before.Until)
		taken := m.At.Before(m.Before.Until)
		cursor := m.Before.moved(m.After)
		switch {
		case claim && cursor:
			v.add("lane %d at %s: a claim by %s moved the cursor", m.Number, clock(m.At), m.Session)
		case claim && taken:
			v.add("lane %d at %s: %s claimed it, and %s had it until %s", m.Number, clock(m.At), m.Session, m.Before.Owner, clock(m.Before.Until))
		case claim && m.After.Owner != m.Session:
			v.add("lane %d at %s: %s claimed it for %s", m.Number, clock(m.At), m.Session, m.After.Owner)
		case cursor && m.Before.Owner != m.Session:
			v.add("lane %d at %s: %s moved the cursor, and %q has the lane", m.Number, clock(m.At), m.Session, m.Before.Owner)
		case cursor && !live:
			v.add("lane %d at %s: %s moved the cursor, and its lease was over at %s, before the statement began at %s", m.Number, clock(m.At), m.Session, clock(m.Before.Until), clock(m.Began))
		case !claim && m.Before.Owner != m.Session:
			v.add("lane %d at %s: %s renewed or ended the lease of %q", m.Number, clock(m.At), m.Session, m.Before.Owner)
		case m.After.Token == m.Before.Token && m.After.Until.After(m.At) && !live:
			v.add("lane %d at %s: %s renewed a lease that was over at %s, in a statement that began at %s", m.Number, clock(m.At), m.Session, clock(m.Before.Until), clock(m.Began))
		}
	}
	return v
}
