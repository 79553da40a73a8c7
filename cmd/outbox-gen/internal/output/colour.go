package output

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Colour is an ANSI colour.
type Colour string

// The colours. Each goes with words or signs that say the same.
const (
	Green Colour = "32"
	Red   Colour = "31"
	Cyan  Colour = "36"
)

// Painter colours text, or leaves it as it is.
type Painter struct{ on bool }

// NewPainter decides whether what is written to w is coloured.
func NewPainter(w io.Writer, getenv func(string) string) Painter {
	f, ok := w.(*os.File)
	return Painter{ok && term.IsTerminal(int(f.Fd())) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// Paint returns the text in a colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
