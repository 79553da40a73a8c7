package reconcile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/holdfast-dev/holdfast/consumers/effects"
)

// export is a provider's file.
type export struct {
	name string
	from io.Reader
	t    effects.Table
	// openEnd: the last line of a CSV file may lack its line break.
	openEnd bool
	read    func(ctx context.Context, e *export, each func(Record) error) error
}

func (e *export) Name() string { return e.name }

func (e *export) Records(ctx context.Context, each func(Record) error) error {
	return e.read(ctx, e, each)
}

// CSV is an export in RFC 4180: a line of headings, then a line for each record, each with as many cells, and
// a line break at the end of the last too, unless it is [Counted]. The columns of the account and of the key's parts must be there, and
// no column that is compared twice. The line of headings alone says that there is nothing. It is read once.
func CSV(name string, from io.Reader, t effects.Table) Truth {
	return &export{name: name, from: from, t: t.WithDefaults(), read: readCSV}
}

// JSON is an export of objects: one array of them and nothing behind it, or one after the other, as in JSON
// lines. No object has a member twice. Only the empty array says that there is nothing. A file of lines that was
// cut between two of them cannot be told from a whole one, and an array can. It is read once. Numbers are compared
// as they are written.
func JSON(name string, from io.Reader, t effects.Table) Truth {
	return &export{name: name, from: from, t: t.WithDefaults(), read: readJSON}
}

// utf8Mark is the byte order mark that spreadsheets write.
const utf8Mark = "\xef\xbb\xbf"

// text leaves out the mark of UTF-8, and returns how many bytes that were. It refuses UTF-16.
func (e *export) text() (from io.Reader, skipped int64, err error) {
	b := bufio.NewReader(e.from)
	head, err := b.Peek(len(utf8Mark))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, 0, err
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, 0, &TruthError{Ref: e.name, Reason: "is UTF-16", hint: "write the export as UTF-8"}
	case string(head) == utf8Mark:
		skipped, err := b.Discard(len(utf8Mark))
		return b, int64(skipped), err
	}
	return b, 0, nil
}
