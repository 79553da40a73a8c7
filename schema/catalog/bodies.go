package catalog

import (
	"regexp"
	"strings"
)

// body is where the source of a function lies in a canonical file.
type body struct {
	function   string // its name, without the database schema
	start, end int    // of what is between the dollar quotes
}

var (
	createFunction = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?FUNCTION [^ .(]+\.([a-z0-9_]+)\(`)
	openingQuote   = regexp.MustCompile(`(?m)^AS (\$[a-z]*\$)`)
)

// findBodies finds the function bodies of a canonical file, whose style it knows: a
// function begins a line, and so does the quote that opens its body.
func findBodies(sql string) []body {
	var found []body
	for at := 0; ; {
		quote := openingQuote.FindStringSubmatchIndex(sql[at:])
		if quote == nil {
			return found
		}
		b := body{start: at + quote[1]}
		tag := sql[at+quote[2] : at+quote[3]]
		if heads := createFunction.FindAllStringSubmatch(sql[at:b.start], -1); heads != nil {
			b.function = heads[len(heads)-1][1]
		}
		length := strings.Index(sql[b.start:], tag)
		if length < 0 {
			return found
		}
		b.end = b.start + length
		found = append(found, b)
		at = b.end + len(tag)
	}
}

// skeleton returns a canonical file without function bodies and comments: what a snapshot
// depends on. Bodies are always taken from the file itself.
func skeleton(sql string) string {
	var b strings.Builder
	at := 0
	for _, body := range findBodies(sql) {
		b.WriteString(sql[at:body.start])
		at = body.end
	}
	b.WriteString(sql[at:])
	var lines []string
	for line := range strings.Lines(b.String()) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "--") {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}
