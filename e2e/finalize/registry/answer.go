package registry

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/outbox"
)

// fail answers a request that came to nothing. What the gate refuses has its own statuses.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	status := http.StatusServiceUnavailable // the outcome is unknown, and the call can be repeated
	switch {
	case holdhttp.Refuse(w, err):
		return
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errEntry):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, errOwner):
		status = http.StatusNotFound
	default:
		s.logger.WarnContext(r.Context(), "call came to nothing", "path", r.URL.Path, "error", err, "hint", outbox.Hint(err))
	}
	http.Error(w, http.StatusText(status), status)
}

func (s *Service) answer(w http.ResponseWriter, r *http.Request, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // fails only when nobody is left to be told
}
