package intake

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

var errAnswer = errors.New("it does not speak our language")

// tell answers with what became of the operation.
func (s *Service) tell(w http.ResponseWriter, outcome saga.Outcome) {
	switch o := outcome.(type) {
	case saga.Completed:
		write(w, http.StatusOK, o.Result)
	case saga.InProgressElsewhere:
		w.Header().Set("Retry-After", strconv.Itoa(o.RetryAfterSeconds()))
		problem(w, o.HTTPStatus(), o.Name())
	default:
		problem(w, o.HTTPStatus(), o.Name())
	}
}

// fail answers a call that came to nothing: what it did stays, and the next call goes on from there.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errForm):
		problem(w, http.StatusUnprocessableEntity, "form")
		return
	case errors.Is(err, saga.ErrDigestMismatch):
		s.tell(w, saga.DigestMismatch{})
		return
	case errors.Is(err, saga.ErrSubjectGone):
		s.tell(w, saga.SubjectGone{})
		return
	}
	s.cfg.Logger.WarnContext(r.Context(), "call came to nothing", "path", r.URL.Path, "error", err, "hint", outbox.Hint(err))
	if saga.Judge(err).Final() {
		problem(w, http.StatusBadGateway, "refused")
		return
	}
	w.Header().Set("Retry-After", "1")
	problem(w, http.StatusServiceUnavailable, "unavailable")
}

func problem(w http.ResponseWriter, status int, name string) {
	body, err := json.Marshal(map[string]string{"problem": name})
	if err != nil {
		body = nil // two plain strings: it cannot fail
	}
	write(w, status, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when nobody is left to be told
}
