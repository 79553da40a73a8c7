package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Form is what an applicant sends: about whom, where, and what they have. Amounts are texts, as they
// were typed.
type Form struct {
	Address string   `json:"address"`
	Members []Member `json:"members"` // the applicant is the first
	Incomes []Amount `json:"incomes"`
	Assets  []Amount `json:"assets"`
	Consent bool     `json:"consent"`
}

// Member is a person of the household.
type Member struct {
	Name string `json:"name"`
	Born string `json:"born"`
	Role string `json:"role"`
}

// Amount is an income or an asset of a member.
type Amount struct {
	Owner  int    `json:"owner"` // an index of Members
	Kind   string `json:"kind"`
	Amount string `json:"amount"`
}

const (
	maxForm = 64 << 10
	maxList = 50
)

var errForm = errors.New("the form cannot be meant")

// readForm returns the form and the document that came, of which the digest is made.
func readForm(w http.ResponseWriter, r *http.Request) (Form, json.RawMessage, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return Form{}, nil, errForm
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var form Form
	if err := decoder.Decode(&form); err != nil || !form.good() {
		return Form{}, nil, errForm
	}
	return form, text, nil
}

func (f Form) good() bool {
	if !f.Consent || f.Address == "" || len(f.Members) == 0 || max(len(f.Members), len(f.Incomes), len(f.Assets)) > maxList {
		return false
	}
	for _, list := range [][]Amount{f.Incomes, f.Assets} {
		for _, amount := range list {
			if amount.Owner < 0 || amount.Owner >= len(f.Members) {
				return false
			}
		}
	}
	return true
}
