package registry

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// correct adds a fact to an entity: an ordinary write, of somebody who knows better.
func (s *Service) correct(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(r.PathValue("id"))
	_, entry, bad := readEntry(w, r)
	if err != nil || bad != nil || entry.Household != nil || entry.Person != nil {
		s.fail(w, r, errEntry)
		return
	}
	err = pgx.BeginFunc(r.Context(), s.db, func(tx pgx.Tx) error {
		var active bool
		err := tx.QueryRow(r.Context(), lockEntitySQL, id).Scan(&active)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !active {
			return errOwner
		}
		if err != nil {
			return err
		}
		if err := addFact(r.Context(), tx, id, entry.Data, nil); err != nil {
			return err
		}
		return s.stage(r.Context(), tx, nil, id, Entry{}, corrected)
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, map[string]string{"id": id.String()})
}

// Shown is an entity as whoever reads its event sees it.
type Shown struct {
	ID        uuid.UUID       `json:"id"`
	Kind      string          `json:"kind"`
	Household *uuid.UUID      `json:"household,omitempty"`
	Person    *uuid.UUID      `json:"person,omitempty"`
	Active    bool            `json:"active"`
	Facts     int             `json:"facts"`
	Data      json.RawMessage `json:"data,omitempty"` // left out once it is erased
}

func (s *Service) show(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		s.fail(w, r, errOwner)
		return
	}
	found := Shown{ID: id}
	var key uuid.UUID
	var secret, sealed []byte
	err = s.db.QueryRow(r.Context(), readEntitySQL, id).
		Scan(&found.Kind, &found.Household, &found.Person, &found.Active, &found.Facts, &key, &secret, &sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errOwner
	}
	if err == nil && secret != nil {
		found.Data, err = open(secret, key[:], sealed)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, found)
}
