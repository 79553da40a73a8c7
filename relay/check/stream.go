package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/internal/subject"
)

// config is that of the stream; the checks that use it need the check stream.
func (f *facts) config() *jetstream.StreamConfig { return &f.br.stream.Config }

func streamFinding(f *facts) Finding {
	name := f.t.Relay.Stream
	switch err := f.br.streamErr; {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fail("create it: relay stream apply", "stream %s does not exist", name)
	case err != nil && f.br.restricted:
		return fail(grantAPI, "the user may not ask about stream %s", name)
	case err != nil:
		return away("see whether the stream has a leader: nats stream report", "stream %s does not answer: %s", name, line(err))
	}
	if c := f.br.stream.Cluster; c != nil && c.Name != "" && c.Leader == "" {
		return away("bring its servers back: nats stream report", "stream %s has no leader", name)
	}
	return ok("stream %s exists, created %s", name, f.br.stream.Created.UTC().Format(time.RFC3339))
}

func writableFinding(f *facts) Finding {
	switch c := f.config(); {
	case c.Sealed:
		return fail("a sealed stream stays sealed: create another and set RELAY_STREAM to it", "stream %s is sealed: it takes no message", c.Name)
	case c.Mirror != nil:
		return fail("publish to the stream that it mirrors: set RELAY_STREAM to that", "stream %s is a mirror of %s: it takes no message", c.Name, c.Mirror.Name)
	case len(c.Subjects) == 0:
		return fail("give it subjects: relay stream apply", "stream %s listens to no subject", c.Name)
	}
	return ok("the stream takes messages")
}

func overlapFinding(f *facts) Finding {
	if f.br.othersErr != nil && len(f.br.others) == 0 {
		return skip("the user may not list streams: %s", line(f.br.othersErr))
	}
	for _, c := range f.br.others {
		for _, s := range c.Subjects {
			if subject.Overlaps(s, f.filter) {
				return fail("let one stream have all subjects of the relay, or narrow RELAY_SUBJECT_PREFIX and RELAY_SUBJECT_TEMPLATE; "+
					"if the types of these events never meet that subject, allow it by name",
					"stream %s captures %s, which is or meets %s", c.Name, s, f.filter)
			}
		}
	}
	return ok("no other stream captures %s", f.filter)
}

func subjectsFinding(f *facts) Finding {
	c := f.config()
	for _, s := range c.Subjects {
		if subject.Captures(s, f.filter) {
			return ok("the stream captures %s", f.filter)
		}
	}
	return fail("relay stream apply adds it; or set RELAY_SUBJECT_PREFIX and RELAY_SUBJECT_TEMPLATE to what the stream has",
		"stream %s does not capture %s: it has %s", c.Name, f.filter, strings.Join(c.Subjects, " "))
}

func ackFinding(f *facts) Finding {
	if f.config().NoAck {
		return fail("set no_ack to false: relay stream apply", "stream %s acknowledges nothing: no event would ever count as published", f.config().Name)
	}
	return ok("the stream acknowledges what it stores")
}

func retentionFinding(f *facts) Finding {
	c, consumers := f.config(), f.br.stream.State.Consumers
	if consumers > 0 || c.Retention == jetstream.LimitsPolicy {
		return ok("retention %s with %s", strings.ToLower(c.Retention.String()), plural(consumers, "consumer"))
	}
	if c.Retention == jetstream.InterestPolicy {
		return fail("create the consumers first, or give the stream limits retention",
			"stream %s keeps what a consumer wants, and there is none: events would be acknowledged and dropped", c.Name)
	}
	return warn("create its consumer; a stream with limits retention can also be reconciled", "stream %s is a work queue without a consumer", c.Name)
}

// publisherFinding says how a relay with these settings puts events into the stream.
func publisherFinding(f *facts) Finding {
	switch c := relay.ChoosePublisher(f.t.Relay.Publisher, f.br.version, f.config()); {
	case c.Denied:
		return fail("relay stream apply --allow-batches, on a server from 2.14 on; or set RELAY_PUBLISHER=auto",
			"events go one by one although RELAY_PUBLISHER is fast: %s", c.Reason)
	case c.Kind == relay.PublisherFast:
		return ok("events go as fast batches: %s", c.Reason)
	default:
		return ok("events go one by one: %s", c.Reason)
	}
}

func discardFinding(f *facts) Finding {
	c := f.config()
	var limits []string
	for name, n := range map[string]int64{"max_msgs": c.MaxMsgs, "max_bytes": c.MaxBytes, "max_msgs_per_subject": c.MaxMsgsPerSubject} {
		if n > 0 {
			limits = append(limits, fmt.Sprintf("%s %d", name, n))
		}
	}
	if c.Discard == jetstream.DiscardOld && len(limits) > 0 {
		return warn("set discard to new: then a full stream refuses, the relay waits, and nothing is lost",
			"stream %s drops its oldest messages when it is full: %s", c.Name, strings.Join(sorted(limits), ", "))
	}
	return ok("a full stream drops nothing")
}

func persistFinding(f *facts) Finding {
	if f.config().PersistMode == jetstream.AsyncPersistMode {
		return fail("create the stream with the default persist mode: it cannot be changed", "stream %s acknowledges before it writes: a crash of the server loses events", f.config().Name)
	}
	return ok("the stream writes before it acknowledges")
}

func storageFinding(f *facts) Finding {
	if f.config().Storage == jetstream.MemoryStorage {
		return warn("create the stream with file storage", "stream %s is in memory: a restart of its servers loses it", f.config().Name)
	}
	return ok("the stream is in files")
}

func replicasFinding(f *facts) Finding {
	if n := f.config().Replicas; n > 1 {
		return ok("the stream has %d replicas", n)
	}
	return warn("use 3 in a cluster: relay stream apply --replicas 3", "stream %s has one replica: its server is its only copy", f.config().Name)
}

// syncFinding says what can be told. Servers do not tell clients how often they sync.
func syncFinding(f *facts) Finding {
	if f.config().Storage == jetstream.MemoryStorage {
		return ok("a stream in memory is never synced")
	}
	copies := "its server"
	if n := f.config().Replicas; n > 1 {
		copies = fmt.Sprintf("most of its %d servers", n)
	}
	return warn("see sync_interval on the servers (always, or a few seconds where power can fail) and allow this by name; "+
		"published events stay in the database for its retention, so relay reconcile finds what a broker lost",
		"an acknowledgement is no sync to disk, by default that is every 2 minutes: a power failure of %s may lose acknowledged events; "+
			"a client cannot see the setting", copies)
}

func dedupFinding(f *facts) Finding {
	have, need := f.config().Duplicates, f.t.window()
	if have < need {
		return fail(fmt.Sprintf("relay stream apply --dedup-window %s, or shorten RELAY_LEASE or RELAY_ACK_TIMEOUT", need),
			"stream %s remembers ids for %s, and a late publication may come after %s (lease %s, ack timeout %s, pause %s and some room)",
			f.config().Name, have, need, f.t.Relay.Lease, f.t.Relay.AckTimeout, f.t.Relay.RetryMax)
	}
	return ok("the stream remembers ids for %s, and %s is needed", have, need)
}

func publishFinding(f *facts) Finding {
	u := f.br.user
	if u == nil {
		return skip("the server does not tell this user its permissions (%s)", userInfoSubject)
	}
	const hint = "permit the user to publish on the subjects"
	if u.Permissions == nil || u.Permissions.Publish == nil {
		return ok("the user may publish on every subject")
	}
	p := u.Permissions.Publish
	all, some := len(p.Allow) == 0, len(p.Allow) == 0
	for _, s := range p.Allow {
		all, some = all || subject.Captures(s, f.filter), some || subject.Overlaps(s, f.filter)
	}
	for _, s := range p.Deny {
		some, all = some && !subject.Captures(s, f.filter), all && !subject.Overlaps(s, f.filter)
	}
	switch {
	case all:
		return ok("the user may publish on %s", f.filter)
	case some:
		return warn(hint, "the user may publish on a part of %s only", f.filter)
	}
	return fail(hint, "the user may not publish on %s", f.filter)
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
