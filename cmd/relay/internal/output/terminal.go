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

// The colours. Each goes with words that say the same.
const (
	Green  Colour = "32"
	Yellow Colour = "33"
	Red    Colour = "31"
)

// Paint returns the text in a colour, if w shows colours.
func Paint(w io.Writer, c Colour, text string) string {
	if !IsTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
