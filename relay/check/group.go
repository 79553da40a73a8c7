package check

func lanesFinding(f *facts) Finding {
	l, group := f.db.lanes, f.t.Relay.Group
	if err := f.db.refused["lanes"]; err != nil {
		return refusedFinding(err)
	}
	switch {
	case l.Lanes == 0:
		return ok("group %s is new: its first relay makes its lanes", group)
	case l.Relays == 0:
		return warn("start a relay: relay run", "no relay of group %s is alive: nobody drains its %s", group, plural(l.Lanes, "lane"))
	case l.Owned < l.Lanes:
		return warn("after a relay was killed its lanes wait for one lease; longer than that, see the logs of the relays",
			"%d of %s of group %s have no live owner", l.Lanes-l.Owned, plural(l.Lanes, "lane"), group)
	}
	return ok("%s of group %s have live owners", plural(l.Lanes, "lane"), group)
}

func ownerFinding(f *facts) Finding {
	owner := f.t.Relay.Owner
	if err := f.db.refused["lanes"]; err != nil {
		return refusedFinding(err)
	}
	switch {
	case owner == "":
		return ok("this pod gets a name of its own at its start")
	case f.db.lanes.Taken:
		return warn("if that is not this pod, give each a name of its own: leave RELAY_OWNER out",
			"a live relay of group %s is called %q already", f.t.Relay.Group, owner)
	}
	return ok("no live relay of group %s is called %q", f.t.Relay.Group, owner)
}

func waitingFinding(f *facts) Finding {
	if err := f.db.refused["waiting-events"]; err != nil {
		return refusedFinding(err)
	}
	rows := f.db.unsound
	if len(rows) == 0 {
		return ok("no waiting event is unsound")
	}
	count := plural(len(rows), "waiting event")
	if len(rows) == maxUnsound {
		count = "at least " + count
	}
	return fail("find out who wrote it, and mend or delete the row: no relay tries it, and its key waits behind it",
		"%s cannot be tried: id %d, event %s %s", count, rows[0].ID, rows[0].EventID, rows[0].Problem)
}
