package holdclient_test

import (
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// docs/errors.md says of each type of problem what it is to a client.
func TestPageOfErrorsNamesTheSentinels(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(urn:holdfast:problem:[a-z-]+)` \\|.*\\| `((?:holdclient|outbox)\\.[A-Za-z]+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	sentinels := map[string]error{
		"outbox.ErrGenerationCancelled": outbox.ErrGenerationCancelled, "outbox.ErrGenerationReleased": outbox.ErrGenerationReleased,
		"outbox.ErrGenerationUnknown": outbox.ErrGenerationUnknown, "outbox.ErrGenerationSuperseded": outbox.ErrGenerationSuperseded,
		"holdclient.ErrNotFound": holdclient.ErrNotFound, "holdclient.ErrAddress": holdclient.ErrAddress, "holdclient.ErrInvalid": holdclient.ErrInvalid,
		"holdclient.ErrStepConflict": holdclient.ErrStepConflict, "holdclient.ErrUnauthenticated": holdclient.ErrUnauthenticated,
		"holdclient.ErrForbidden": holdclient.ErrForbidden, "holdclient.ErrNotPrincipal": holdclient.ErrNotPrincipal, "holdclient.ErrRateLimited": holdclient.ErrRateLimited,
	}
	for _, kind := range wire.ProblemTypes() {
		k, _ := kind.Kind()
		problem := &holdclient.ProblemError{Status: k.Status, Type: kind}
		switch named := rows[string(kind)]; {
		case named == "holdclient.ErrUnknownOutcome": // after every attempt
			if !problem.Retryable() {
				t.Errorf("the page says that the outcome of %s is unknown, and it is not repeated", kind)
			}
		case sentinels[named] == nil || !errors.Is(problem, sentinels[named]):
			t.Errorf("the page says that %s is %q", kind, named)
		}
	}
}
