package command

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

// statusState is the verdict for programs.
type statusState string

const (
	statusDraining   statusState = "draining"   // relays keep up
	statusBehind     statusState = "behind"     // there are relays, and events wait for long, or some lanes have no owner
	statusIdle       statusState = "idle"       // no relay, and nothing to do for one
	statusUnattended statusState = "unattended" // no relay, and events wait
	statusWaiting    statusState = "waiting"    // there are relays, and the broker does not take events
)

func (s statusState) colour() output.Colour {
	switch s {
	case statusUnattended, statusWaiting:
		return output.Red
	case statusBehind:
		return output.Yellow
	default:
		return output.Green
	}
}

// late is how long an event may wait before the verdict says that the relays are behind. A
// lane of a killed pod is taken over well within it.
const late = time.Minute

// stalled is how long an event waits at least when relays cannot reach the broker, and not only this host cannot: they
// would have published it long before.
const stalled = 10 * time.Second

// judge says how a group is, in a word and in a sentence. Publisher is what the broker said, nil if it was not asked.
func judge(s *relay.Status, liveLanes int, publisher *statusPublisher) (statusState, string) {
	events := output.Count(s.Backlog, "event")
	if s.Capped {
		events = "at least " + events
	}
	lanes := fmt.Sprintf("%d of %s owned", liveLanes, output.Count(int64(len(s.Lanes)), "lane"))
	relays := output.Count(int64(len(s.Relays)), "relay")
	wait := "waits"
	if s.Backlog != 1 {
		wait = "wait"
	}
	away, elsewhere := publisher != nil && publisher.Away, ""
	if away && publisher.fromHere && (s.Backlog == 0 || s.OldestEvent < stalled) {
		away, elsewhere = false, fmt.Sprintf(" This host cannot reach the broker: %s.", publisher.Reason)
	}
	switch {
	case liveLanes == 0 && s.Backlog > 0:
		return statusUnattended, fmt.Sprintf("Nobody drains: %s no live relay; %s %s, the oldest for %s.",
			haveNo(len(s.Lanes)), events, wait, output.Age(s.OldestEvent))
	case liveLanes == 0:
		return statusIdle, fmt.Sprintf("Nobody drains: %s no live relay; no event waits.", haveNo(len(s.Lanes)))
	case away && s.Backlog > 0:
		return statusWaiting, fmt.Sprintf("Waiting for the broker: %s; %s %s, the oldest for %s. Nothing is lost, attempts are not counted.",
			publisher.Reason, events, wait, output.Age(s.OldestEvent))
	case away:
		return statusWaiting, fmt.Sprintf("Waiting for the broker: %s; no event waits.", publisher.Reason)
	case s.Backlog > 0 && s.OldestEvent > late:
		return statusBehind, fmt.Sprintf("Behind: %s, %s; %s %s, the oldest for %s. A relay's /readyz says why.",
			relays, lanes, events, wait, output.Age(s.OldestEvent))
	case liveLanes < len(s.Lanes):
		return statusBehind, fmt.Sprintf("Taking over: %s, %s, %s behind.%s", relays, lanes, events, elsewhere)
	default:
		return statusDraining, fmt.Sprintf("Draining: %s, %s, %s behind.%s", relays, lanes, events, elsewhere)
	}
}

func haveNo(lanes int) string {
	if lanes == 1 {
		return "1 lane has"
	}
	return output.Count(int64(lanes), "lane") + " have"
}
