package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// screen is where progress goes: lines that stay and, on a terminal, one line at the
// bottom that is written over. It is safe for concurrent use.
type screen struct {
	mu       sync.Mutex // held while writing
	w        io.Writer
	terminal bool
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return s
}

// say writes a line that stays.
func (s *screen) say(format string, args ...any) {
	s.write("", format+"\n", args)
}

// update replaces the line at the bottom, or writes another line.
func (s *screen) update(format string, args ...any) {
	if !s.terminal {
		format += "\n"
	}
	s.write("", format, args)
}

// clear removes the line at the bottom.
func (s *screen) clear() { s.write("", "", nil) }

func (s *screen) write(prefix, format string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		prefix = "\r\x1b[K"
	}
	fmt.Fprintf(s.w, prefix+format, args...)
}
