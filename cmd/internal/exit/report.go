package exit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Report writes an error for a person, or with asJSON as one line of JSON:
//
//	{"error":{"code":"unavailable","message":"...","hint":"..."}}
//
// For several faults there is also "problems", a list of places, messages and
// hints. Nothing is written for nil and for an [Answer].
func Report(w io.Writer, err error, asJSON bool) {
	var silent answered
	if err == nil || errors.As(err, &silent) {
		return
	}
	e := &Error{Code: Of(err), Err: err}
	var typed *Error
	if errors.As(err, &typed) {
		e = typed
	}
	if asJSON {
		reportJSON(w, e)
		return
	}
	reportText(w, e)
}

func reportJSON(w io.Writer, e *Error) {
	type body struct {
		Code     string    `json:"code"`
		Message  string    `json:"message"`
		Hint     string    `json:"hint"`
		Problems []Problem `json:"problems,omitempty"`
	}
	kind := e.Kind
	if kind == "" {
		kind = e.Code.String()
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// Nowhere is left to say that stderr is gone.
	_ = enc.Encode(map[string]body{"error": {Code: kind, Message: oneLine(e.Error()), Hint: e.Hint, Problems: e.Problems}})
}

func reportText(w io.Writer, e *Error) {
	var out strings.Builder
	fmt.Fprintf(&out, "error: %s\n", oneLine(e.Error()))
	for _, p := range e.Problems {
		fmt.Fprintf(&out, "  - %s\n", p)
		if p.Hint != "" {
			fmt.Fprintf(&out, "    hint: %s\n", p.Hint)
		}
	}
	if e.Hint != "" {
		fmt.Fprintf(&out, "hint: %s\n", e.Hint)
	}
	_, _ = io.WriteString(w, out.String())
}

// oneLine joins the lines of an error that lists its attempts.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
