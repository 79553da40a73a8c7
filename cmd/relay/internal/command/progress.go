package command

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// progress says on stderr how far a command is: on a terminal always on the same line, otherwise
// on a new one once a period.
type progress struct {
	w      io.Writer
	every  time.Duration
	last   time.Time
	redraw bool
	shown  bool
}

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 5 * time.Second
)

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, every: lineEvery, last: time.Now()}
	if output.IsTerminal(w) {
		p.every, p.redraw = redrawEvery, true
	}
	return p
}

// say shows a line, if one is due.
func (p *progress) say(format string, args ...any) {
	if time.Since(p.last) < p.every {
		return
	}
	p.last, p.shown = time.Now(), true
	line := fmt.Sprintf(format, args...)
	if p.redraw {
		fmt.Fprint(p.w, "\r\x1b[K"+line)
		return
	}
	fmt.Fprintln(p.w, line)
}

// end takes the line away.
func (p *progress) end() {
	if p.redraw && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
