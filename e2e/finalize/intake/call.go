package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

const maxAnswer = 64 << 10

// send makes a held write at the registry, and returns the id of the entity: that of the first time,
// however often it is sent.
func (s *Service) send(ctx context.Context, c saga.Call, path string, body entry) (string, error) {
	text, err := json.Marshal(body) // the fields in their order, the map by its keys: always the same bytes
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.RegistryURL+path, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.cfg.Registry.Do(request, wire.Step{Operation: c.Hold.Operation, Generation: c.Hold.Generation, Key: c.Key})
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // what was needed of it has been read
	var answer struct {
		ID uuid.UUID `json:"id"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil || answer.ID == uuid.Nil {
		return "", fmt.Errorf("the registry's answer has no id: %w", errAnswer)
	}
	return answer.ID.String(), nil
}
