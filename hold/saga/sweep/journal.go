package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// journal is the results file of one manifest. It has one owner, who holds its lock until close.
type journal struct {
	file *os.File
	// decided is the last result of each candidate, open what was about to be committed and has no
	// result behind it that says what became of it.
	decided, open map[string]Result
}

// line is a line of the file: one of its fields is set.
type line struct {
	Run     *runLine `json:"run,omitempty"`
	Intends *Result  `json:"intends,omitempty"`
	Result  *Result  `json:"result,omitempty"`
}

// runLine is the beginning of a run.
type runLine struct {
	Manifest string    `json:"manifest"` // its seal
	Actor    string    `json:"actor"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
}

// openJournal opens or makes the file, locks it, and reads what earlier runs left. Half a line at its end is
// one that was never written.
func openJournal(path, seal string) (*journal, error) {
	_, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	j := &journal{file: file}
	if err := lock(file); err != nil {
		return nil, fmt.Errorf("open results: %w", errors.Join(err, file.Close()))
	}
	whole, err := j.read(file, seal)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err == nil && isNew {
		err = syncFolder(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open results: %w", errors.Join(err, file.Close()))
	}
	return j, nil
}

// readJournal reads the file without the lock, for those who only look. One that is not there is empty.
func readJournal(path, seal string) (*journal, error) {
	j := &journal{decided: map[string]Result{}, open: map[string]Result{}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	_, err = j.read(file, seal)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return j, nil
}

// read returns how many bytes are whole lines.
func (j *journal) read(file io.Reader, seal string) (whole int64, err error) {
	j.decided, j.open = map[string]Result{}, map[string]Result{}
	text, err := io.ReadAll(file)
	if err != nil {
		return 0, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	n := 0
	for raw := range bytes.Lines(text) {
		n++
		var l line
		if err := strict(raw, &l); err != nil || n == 1 && l.Run == nil {
			return 0, refuse(ErrResults, "Name another file, or put back the one that the earlier run wrote.", "line %d is none of a results file", n)
		}
		switch {
		case l.Run != nil && l.Run.Manifest != seal:
			return 0, refuse(ErrResults, "Each manifest has a results file of its own.", "it is of another manifest")
		case l.Intends != nil:
			j.open[l.Intends.ID] = *l.Intends
		case l.Result != nil:
			j.note(*l.Result)
		}
	}
	return int64(len(text)), nil
}

// write returns when the line is on the disk.
func (j *journal) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

func (j *journal) intend(r Result) error { return j.write(line{Intends: &r}) }

func (j *journal) decide(r Result) error {
	if err := j.write(line{Result: &r}); err != nil {
		return err
	}
	j.note(r)
	return nil
}

func (j *journal) note(r Result) {
	if r.Outcome != Unknown {
		delete(j.open, r.ID)
	}
	j.decided[r.ID] = r
}

// forget drops what was about to be committed, because it was not.
func (j *journal) forget(id string) {
	delete(j.open, id)
	delete(j.decided, id)
}

func (j *journal) close() error { return j.file.Close() }
