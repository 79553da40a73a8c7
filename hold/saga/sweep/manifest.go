package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// format names the form of the file.
const format = "holdfast-sweep/1"

// Database is where a manifest belongs.
type Database struct {
	Cluster string `json:"cluster"` // its system identifier
	OID     string `json:"oid"`
	Name    string `json:"name"`
	Schema  string `json:"schema"`
}

// Service are the statements that the service gave. Lock and Undo are empty when a Go program
// undoes.
type Service struct {
	Candidates string `json:"candidates"`
	Lock       string `json:"lock,omitempty"`
	Undo       string `json:"undo,omitempty"`
}

// Header is the first line of a manifest.
type Header struct {
	Format    string    `json:"format"`
	Database  Database  `json:"database"`
	PlannedAt time.Time `json:"planned_at"`
	Quiet     float64   `json:"quiet_seconds"`
	// Active are the generations that were undecided then.
	Active int64 `json:"active_generations"`
	// Covered and Young are candidates that were left out. More says that there are orphans beyond the
	// limit; the two are then counted as far as the plan has come.
	Covered int     `json:"covered"`
	Young   int     `json:"young"`
	More    bool    `json:"more"`
	Service Service `json:"service"`
}

// Planned is a candidate of a manifest.
type Planned struct {
	Candidate
	// Ambiguous says that it lacks the mark: it is left to a person.
	Ambiguous bool `json:"ambiguous"`
}

// Manifest is what a sweep may act on. It is not changed after it was made.
type Manifest struct {
	Header
	Candidates []Planned
}

// Seal returns the digest of the manifest, "sha256:" and 64 hexadecimal digits.
func (m *Manifest) Seal() string {
	sum := sha256.Sum256(m.lines())
	return "sha256:" + hex.EncodeToString(sum[:])
}

type sealLine struct {
	Seal string `json:"seal"`
}

// lines is all but the seal.
func (m *Manifest) lines() []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(m.Header) // to memory, of types that have a JSON
	for _, c := range m.Candidates {
		_ = enc.Encode(c)
	}
	return out.Bytes()
}

// Write makes the file, which must not exist, and returns when it is on the disk. Nobody may write it
// afterwards.
func (m *Manifest) Write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s{\"seal\":%q}\n", m.lines(), m.Seal())
	if err = errors.Join(err, f.Sync(), f.Close(), syncFolder(path)); err != nil {
		return fmt.Errorf("write manifest: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// ReadManifest reads a file that [Manifest.Write] made, and proves its seal. Errors: [ErrSeal], and those
// of the file.
func ReadManifest(path string) (*Manifest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if info.Size() > maxManifest {
		return nil, fmt.Errorf("read manifest: %w", refuse(ErrSeal, sealHint, "the file is larger than %d bytes", maxManifest))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return m, nil
}

const (
	maxManifest = 256 << 20 // bytes
	sealHint    = "A manifest is never edited: plan anew, and review that."
)

// parseManifest wants every byte to be one that a manifest with this content has.
func parseManifest(text []byte) (*Manifest, error) {
	body := text[:bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1]
	var seal sealLine
	if err := strict(text[len(body):], &seal); err != nil {
		return nil, refuse(ErrSeal, sealHint, "its last line is no seal")
	}
	m := &Manifest{}
	for i, line := range bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n")) {
		var err error
		if i == 0 {
			err = strict(line, &m.Header)
		} else {
			var c Planned
			err = strict(line, &c)
			m.Candidates = append(m.Candidates, c)
		}
		if err != nil {
			return nil, refuse(ErrSeal, sealHint, "line %d cannot be read", i+1)
		}
	}
	if m.Format != format {
		return nil, refuse(ErrSeal, "Use the version of this program that planned it.", "its format is not %s", format)
	}
	if got := m.Seal(); got != seal.Seal || !bytes.Equal(body, m.lines()) {
		return nil, refuse(ErrSeal, sealHint, "its lines have the digest %s, the seal says %s", got, clip(seal.Seal))
	}
	return m, nil
}

// strict reads one value, and knows all its fields.
func strict(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one value")
	}
	return nil
}

// clip is a text of a file that somebody may have written anything into.
func clip(text string) string {
	if !strings.HasPrefix(text, "sha256:") || !plainID.MatchString(text) {
		return "something else"
	}
	return text
}

// syncFolder makes the name of a new file last.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
