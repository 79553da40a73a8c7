package holdhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// readBody reads the whole body, which may be none, within the time of the call.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, problem(wire.RequestTooLarge)
	}
	controller := http.NewResponseController(w)
	if end, limited := r.Context().Deadline(); limited {
		if err := controller.SetReadDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, &fault{wire.NewProblem(wire.Internal), err}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problem(wire.RequestTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem(wire.RequestTooSlow)
	case err != nil:
		return nil, invalid("body")
	}
	// The server reads on in the background, to see whether the caller goes away.
	if err := controller.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, &fault{wire.NewProblem(wire.Internal), err}
	}
	if len(body) == 0 {
		return nil, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.JSONType {
		return nil, problem(wire.MediaType)
	}
	return body, nil
}

// parse reads a body into a struct; no body leaves it as it is. It refuses members that the
// struct does not have: a misspelt expiry is not one that is left out.
func parse(body []byte, into any) error {
	if body == nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalid("body")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("body")
	}
	return nil
}
