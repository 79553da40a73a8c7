package exit_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

func TestOf(t *testing.T) {
	t.Parallel()
	denied := exit.Errorf(exit.Denied, "not you")
	for _, c := range []struct {
		err  error
		want exit.Code
	}{
		{nil, exit.OK},
		{io.EOF, exit.No},
		{denied, exit.Denied},
		{fmt.Errorf("read status: %w", denied.WithHint("log in")), exit.Denied},
		{exit.Answer(exit.Interrupted), exit.Interrupted},
		{exit.Answer(exit.OK), exit.OK},
	} {
		if got := exit.Of(c.err); got != c.want {
			t.Errorf("Of(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	several := &exit.Error{Code: exit.Usage, Kind: "configuration", Err: errors.New("2 problems"),
		Problems: []exit.Problem{{Message: "a < b", Hint: "swap them"}, {Message: "c"}}}
	for _, c := range []struct {
		err    error
		asJSON bool
		want   string
	}{
		{nil, false, ""},
		{exit.Answer(exit.No), false, ""},
		{exit.Answer(exit.No), true, ""},
		{exit.Errorf(exit.Unavailable, "connect:\n\ta\n\tb").WithHint("try %s", "again"), false, "error: connect: a b\nhint: try again\n"},
		{exit.Errorf(exit.Unavailable, "away"), true, `{"error":{"code":"unavailable","message":"away","hint":""}}` + "\n"},
		{io.EOF, true, `{"error":{"code":"no","message":"EOF","hint":""}}` + "\n"},
		{several, false, "error: 2 problems\n  - a < b\n    hint: swap them\n  - c\n"},
		{several, true, `{"error":{"code":"configuration","message":"2 problems","hint":"","problems":[{"message":"a < b","hint":"swap them"},{"message":"c"}]}}` + "\n"},
	} {
		var out strings.Builder
		exit.Report(&out, c.err, c.asJSON)
		if out.String() != c.want {
			t.Errorf("Report(%v, %t) wrote %q, want %q", c.err, c.asJSON, out.String(), c.want)
		}
	}
}
