package output

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colour is an ANSI colour.
type Colour string

// The colours. Each goes with words or signs that say the same.
const (
	Green  Colour = "32"
	Yellow Colour = "33"
	Red    Colour = "31"
	Cyan   Colour = "36"
)

// Painter colours text, or leaves it as it is.
type Painter struct{ on bool }

// NewPainter decides whether what is written to w is coloured.
func NewPainter(w io.Writer, getenv func(string) string) Painter {
	return Painter{IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// Paint returns the text in a colour.
func (p Painter) Paint(c Colour, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Paint returns the text in a colour, if w shows colours.
func Paint(w io.Writer, c Colour, text string) string {
	return NewPainter(w, os.Getenv).Paint(c, text)
}
