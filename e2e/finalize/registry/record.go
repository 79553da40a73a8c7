package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Entry is the body of every write: what is recorded, and what it belongs to.
type Entry struct {
	Household *uuid.UUID      `json:"household,omitempty"`
	Person    *uuid.UUID      `json:"person,omitempty"`
	Data      json.RawMessage `json:"data"` // what is known about it; sealed
}

const maxBody = 64 << 10

var (
	errEntry = errors.New("the entry is not one of this kind")
	errOwner = errors.New("what it belongs to is not there any more")
)

// record takes a new entity. With the identity of a step it is a held write: it happens once, and its
// events wait for the coordinator. Without one it is a write like any other.
func (s *Service) record(w http.ResponseWriter, r *http.Request, k kind) {
	body, entry, err := readEntry(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var id string
	step, isStep := holdhttp.StepOf(r.Context())
	err = pgx.BeginFunc(r.Context(), s.db, func(tx pgx.Tx) error {
		if !isStep {
			id, err = s.create(r.Context(), tx, k, entry, nil)
			return err
		}
		if err := step.Coherent(k.step); err != nil {
			return err
		}
		digest := sha256.Sum256(body)
		result, err := receipt.Do(r.Context(), tx, receipt.Step{
			Operation: step.Operation, Generation: step.Generation, Key: step.Key,
			EntityKind: k.name, BodyDigest: digest[:],
		}, func(tx pgx.Tx) (string, error) {
			held := step.Hold()
			return s.create(r.Context(), tx, k, entry, &held)
		})
		id = result.StableID
		return err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, map[string]string{"id": id})
}

// create writes the entity and its first fact, and stages every event of the kind.
func (s *Service) create(ctx context.Context, tx pgx.Tx, k kind, entry Entry, held *outbox.Hold) (string, error) {
	if (entry.Household != nil) != k.ofHousehold || (entry.Person != nil) != k.ofPerson {
		return "", errEntry
	}
	if err := shareOwners(ctx, tx, entry); err != nil {
		return "", err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	operation, generation := originOf(held)
	if _, err := tx.Exec(ctx, insertEntitySQL, id, k.name, entry.Household, entry.Person, operation, generation); err != nil {
		return "", err
	}
	if err := addFact(ctx, tx, id, entry.Data, held); err != nil {
		return "", err
	}
	return id.String(), s.stage(ctx, tx, held, id, entry, k.events...)
}

// shareOwners keeps what the entity belongs to from being undone while it is added.
func shareOwners(ctx context.Context, tx pgx.Tx, entry Entry) error {
	want := map[string]uuid.UUID{}
	if entry.Household != nil {
		want["household"] = *entry.Household
	}
	if entry.Person != nil {
		want["person"] = *entry.Person
	}
	ids := make([]uuid.UUID, 0, len(want))
	for _, id := range want {
		ids = append(ids, id)
	}
	rows, err := tx.Query(ctx, shareOwnersSQL, ids)
	if err != nil {
		return err
	}
	var id uuid.UUID
	var kind string
	_, err = pgx.ForEachRow(rows, []any{&id, &kind}, func() error {
		if want[kind] == id {
			delete(want, kind)
		}
		return nil
	})
	if err == nil && len(want) > 0 {
		err = errOwner
	}
	return err
}

func originOf(held *outbox.Hold) (operation *uuid.UUID, generation *int) {
	if held == nil {
		return nil, nil
	}
	return &held.Operation, &held.Generation
}

// readEntry returns the body as it came, for its digest, and what it says.
func readEntry(w http.ResponseWriter, r *http.Request) ([]byte, Entry, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, Entry{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var entry Entry
	if err := decoder.Decode(&entry); err != nil || len(entry.Data) == 0 {
		return nil, Entry{}, errEntry
	}
	return body, entry, nil
}
