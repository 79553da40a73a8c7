package atlassum

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// FileName is the name of the checksum file.
const FileName = "atlas.sum"

// File is one migration of the folder.
type File struct {
	Name    string
	Content []byte
}

// Counts reports whether Atlas takes a file of that name for a migration.
func Counts(name string) bool { return strings.HasSuffix(name, ".sql") }

// Compute returns the checksum file for a folder with exactly these files, in any order.
func Compute(files []File) []byte {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	running, total := sha256.New(), sha256.New()
	var lines bytes.Buffer
	for _, f := range sorted {
		running.Write([]byte(f.Name))
		if ignored(f.Content) {
			continue
		}
		running.Write(f.Content)
		sum := base64.StdEncoding.EncodeToString(running.Sum(nil))
		total.Write([]byte(f.Name))
		total.Write([]byte(sum))
		fmt.Fprintf(&lines, "%s h1:%s\n", f.Name, sum)
	}
	return append([]byte("h1:"+base64.StdEncoding.EncodeToString(total.Sum(nil))+"\n"), lines.Bytes()...)
}

// Listed returns the names of the files that a checksum file has lines for.
func Listed(sum []byte) []string {
	var names []string
	for line := range strings.Lines(string(sum)) {
		if name, _, ok := strings.Cut(line, " h1:"); ok {
			names = append(names, name)
		}
	}
	return names
}

// The directive counts in the first line only, and only with nothing printable behind it.
var directive = regexp.MustCompile(`^[ -~]*atlas:sum +ignore(?:[^ -~]|$)`)

func ignored(content []byte) bool {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	return directive.Match(line)
}
