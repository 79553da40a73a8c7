package holdhttp

import (
	"context"
	"net/http"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// The headers of a step's identity, as in package wire.
const (
	OperationHeader  = wire.OperationHeader
	GenerationHeader = wire.GenerationHeader
	StepHeader       = wire.StepHeader
)

// stepKey is where the context of a request has its step.
type stepKey struct{}

// WithStep reads the identity of a held write from its headers, for [StepOf]. A request
// without one goes on as it is; one that is malformed or incomplete is answered with 400. It
// checks no credentials: that is for the service, which knows who may write.
func WithStep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		step, present, err := wire.ReadStep(r.Header)
		if err != nil {
			Refuse(w, err)
			return
		}
		if present {
			r = r.WithContext(context.WithValue(r.Context(), stepKey{}, step))
		}
		next.ServeHTTP(w, r)
	})
}

// StepOf returns the identity that [WithStep] read, and whether the request is a step.
func StepOf(ctx context.Context) (wire.Step, bool) {
	step, ok := ctx.Value(stepKey{}).(wire.Step)
	return step, ok
}

// Refuse answers a held write whose error is a refusal: 410 for a generation that was
// cancelled, 409 for one that was released, is unknown or superseded, and for a step with
// another body, 400 for an identity that is not valid or not coherent. It returns false, and
// writes nothing, for any other error.
func Refuse(w http.ResponseWriter, err error) bool {
	p, refusal := wire.WriteRefusalOf(err)
	if !refusal {
		return false
	}
	_ = p.Write(w) // fails only when nobody is left to be told
	return true
}
