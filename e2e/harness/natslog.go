package harness

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// natsLog writes the server's log to a file and remembers the first fatal
// entry: the server goes on after it, and expects its logger to end the
// process.
type natsLog struct {
	mu       sync.Mutex // guards the fields below; the server logs from any goroutine
	file     *os.File   // nil after close
	fatalErr error
}

func openNATSLog(path string) (*natsLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &natsLog{file: file}, nil
}

func (l *natsLog) Noticef(format string, v ...any) { l.write("INF", format, v) }
func (l *natsLog) Warnf(format string, v ...any)   { l.write("WRN", format, v) }
func (l *natsLog) Errorf(format string, v ...any)  { l.write("ERR", format, v) }
func (l *natsLog) Debugf(string, ...any)           {}
func (l *natsLog) Tracef(string, ...any)           {}

func (l *natsLog) Fatalf(format string, v ...any) {
	l.write("FTL", format, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatalErr == nil {
		l.fatalErr = fmt.Errorf(format, v...)
	}
}

func (l *natsLog) write(level, format string, v []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		fmt.Fprintf(l.file, "%s [%s] %s\n", time.Now().UTC().Format(time.RFC3339Nano), level, fmt.Sprintf(format, v...))
	}
}

func (l *natsLog) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatalErr
}

func (l *natsLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
