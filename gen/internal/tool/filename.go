package tool

import (
	"regexp"
	"strings"
)

// digitsFirst is NUMBER_description.sql, which most tools read.
var digitsFirst = regexp.MustCompile(`^([0-9]+)_(.+)\.sql$`)

func parseDigits(file string) (Name, bool) {
	m := digitsFirst.FindStringSubmatch(file)
	if m == nil {
		return Name{}, false
	}
	return Name{Number: m[1], Description: m[2]}, true
}

func nameDigits(number, description string, _ Part) string {
	return number + "_" + description + ".sql"
}

// Describe turns words into what all tools take as a description: lower case letters, digits
// and underscores; "" when nothing of that is left.
func Describe(words string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(words), "_"), "_")
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)
