package intake

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// basis is what is pinned with the first call. Whatever a body has beside the form comes from here, so
// that every run sends the same bytes.
type basis struct {
	Today      string `json:"today"`
	ReceivedAt string `json:"received_at"`
}

// entry is the body of a write at the registry.
type entry struct {
	Household string            `json:"household,omitempty"`
	Person    string            `json:"person,omitempty"`
	Data      map[string]string `json:"data"`
}

// plan collects the steps of an operation, in their order.
type plan struct {
	send  func(ctx context.Context, c saga.Call, path string, body entry) (id string, err error)
	steps []saga.Step
	errs  []error
}

// steps are the calls that a form needs.
func (s *Service) steps(form Form, pinned basis) ([]saga.Step, error) {
	p := &plan{send: s.send}
	p.form(form, pinned)
	return p.steps, errors.Join(p.errs...)
}

// form adds the steps of a form: the applicant, the household, the applicant's membership, the other members
// with theirs, and then the lists as they were sent.
func (p *plan) form(form Form, pinned basis) {
	for i, m := range form.Members {
		p.add("person", i, "person", "/v1/persons", func(saga.Call) entry {
			return entry{Data: map[string]string{"name": m.Name, "born": m.Born}}
		})
		if i == 0 {
			p.add("household", once, "household", "/v1/households", func(saga.Call) entry {
				return entry{Data: map[string]string{"address": form.Address, "opened": pinned.Today}}
			})
		}
		p.add("member", i, "membership", "/v1/memberships", func(c saga.Call) entry {
			return entry{Household: c.Remote["household"], Person: personOf(c, i), Data: map[string]string{"role": m.Role, "since": pinned.Today}}
		})
	}
	p.amounts("income", "/v1/incomes", form.Incomes, pinned)
	p.amounts("asset", "/v1/assets", form.Assets, pinned)
}

func (p *plan) amounts(kind, path string, list []Amount, pinned basis) {
	for i, a := range list {
		p.add(kind, i, kind, path, func(c saga.Call) entry {
			return entry{Person: personOf(c, a.Owner), Data: map[string]string{"kind": a.Kind, "amount": a.Amount, "as_of": pinned.Today}}
		})
	}
}

// personOf is the id that the registry gave a member: in this run or an earlier one, or by the receipt
// of a call whose answer was lost.
func personOf(c saga.Call, member int) string {
	key, err := receipt.Indexed("person", member)
	if err != nil {
		return ""
	}
	return c.Remote[key.String()]
}

// once is the index of a step that an operation has once.
const once = -1

func (p *plan) add(name string, index int, kind, path string, body func(saga.Call) entry) {
	key, err := receipt.Named(name)
	if index != once {
		key, err = receipt.Indexed(name, index)
	}
	p.errs = append(p.errs, err)
	p.steps = append(p.steps, saga.Step{Key: key, Kind: kind, Do: func(ctx context.Context, c saga.Call) (string, error) {
		return p.send(ctx, c, path, body(c))
	}})
}
