package perdiem

import (
	"encoding/json"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// The types of events that the service wants.
const (
	Activated = "placement.activated"
	Ended     = "placement.ended"
	RateSet   = "rate.set"
)

// The types of facts.
const (
	allowance = "allowance"
	end       = "placement_end"
)

// Placement is the payload of activations and ends. An end has neither region nor days.
type Placement struct {
	Placement string `json:"placement"`
	Start     string `json:"start"` // as 2006-01-02
	Worker    string `json:"worker"`
	Region    string `json:"region,omitempty"`
	Days      int    `json:"days,omitempty"`
}

// Rate is the payload of rate.set.
type Rate struct {
	Region  string `json:"region"`
	Version int64  `json:"version"`
	Cents   int64  `json:"cents"`
}

// fact is the one mapper of placements. Of the same placement there may be a later one with another
// start; the placement alone would be too coarse, and the month of processing would be too fine.
func (p Placement) fact(factType string) (facts.Fact, error) {
	key, err := facts.NewKey(facts.ID("placement", p.Placement), facts.Date("start", p.Start))
	f := facts.Fact{Source: "agency", Account: p.Worker, Type: factType, Key: key}
	if factType == allowance {
		f.Attributes = map[string]string{"days": strconv.Itoa(p.Days)}
	}
	return f, err
}

// probe tells the fact of an activation without its amount, which a rate decides.
func probe(e event.Event) (facts.Fact, bool) {
	p, err := decode[Placement](e)
	if e.Type() != Activated || err != nil {
		return facts.Fact{}, false
	}
	f, err := p.fact(allowance)
	return f, err == nil
}

func decode[T any](e event.Event) (payload T, err error) {
	err = consumers.Permanent(json.Unmarshal(e.Data(), &payload)) // what is no JSON never will be
	return payload, err
}
