package outbox

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/types"
)

// member is an extension with its value as JSON text.
type member struct{ name, json string }

// extensions takes the ordering key out of the extensions of an event, adds the trace
// context of the call if there is none, and writes the rest as the text that jsonb has
// for it: so the size that is checked here is the size that the database checks.
func (c *check) extensions(attributes map[string]any, trace []member) (key string, object []byte) {
	if len(attributes) == 0 && len(trace) == 0 {
		return "", nil
	}
	before := len(c.faults)
	own := make([]member, 0, len(attributes)+len(trace))
	for name, v := range attributes {
		if name == "partitionkey" {
			key = c.partitionKey(v)
			continue
		}
		text, problem, hint := extensionJSON(name, v)
		if problem != "" {
			c.fault(extensionField(name), problem, hint)
			continue
		}
		own = append(own, member{name, text})
	}
	// The order of a map is none, that of errors should be one.
	slices.SortFunc(c.faults[before:], func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	size := objectSize(own)
	c.rule(size <= maxExtensions, "extensions", fmt.Sprintf("are longer than %d bytes together", maxExtensions))
	return key, writeObject(withTrace(own, trace, size))
}

// partitionKey takes any CloudEvents value, in its canonical string form.
func (c *check) partitionKey(v any) string {
	key, err := types.Format(v)
	c.text(err == nil && validText(key, maxName), "partitionkey", key, problemKey)
	return key
}

// extensionJSON returns the JSON of an extension's value: a boolean, a 32-bit integer, or
// a string, which for binary values, URIs and times is their canonical form.
func extensionJSON(name string, v any) (text, problem, hint string) {
	switch {
	case !validExtensionName(name):
		return "", "must be 1 to 20 characters of a to z and 0 to 9", "CloudEvents extension names have no upper case, hyphen or underscore."
	case reservedName(name):
		return "", "is an attribute of its own", "Set it with the setter of that name."
	}
	switch v := v.(type) {
	case nil:
		return "", "is a JSON null", "Use a string, a boolean or a 32-bit integer."
	case bool:
		return strconv.FormatBool(v), "", ""
	case int32:
		return strconv.Itoa(int(v)), "", ""
	case string:
		return extensionString(v)
	case []byte:
		return extensionString(base64.StdEncoding.EncodeToString(v))
	case float32:
		return extensionNumber(float64(v))
	case float64:
		return extensionNumber(v)
	case types.URI, types.URIRef, types.Timestamp:
		s, _ := types.Format(v) // these have a form
		return extensionString(s)
	}
	switch converted, err := types.Validate(v); {
	case err == nil:
		return extensionJSON(name, converted)
	case isInteger(v):
		return "", problemInteger, hintInteger
	default:
		return "", fmt.Sprintf("is a %T, which is no CloudEvents type", v), "Use a string, a boolean or a 32-bit integer."
	}
}

const (
	problemInteger = "is not a 32-bit integer"
	hintInteger    = "Send other numbers as strings."
)

func isInteger(v any) bool {
	switch v.(type) {
	case int, int64, uint, uint32, uint64, uintptr:
		return true
	}
	return false
}

func extensionString(s string) (text, problem, hint string) {
	if !utf8.ValidString(s) {
		return "", problemUTF8, "Send binary values as []byte."
	}
	if !plainText(s) {
		return "", "has control characters", "Remove them or put the value into data."
	}
	return quoteJSON(s), "", ""
}

// extensionNumber does not truncate, which the SDK would.
func extensionNumber(f float64) (text, problem, hint string) {
	if f < math.MinInt32 || f > math.MaxInt32 || f != math.Trunc(f) {
		return "", problemInteger, hintInteger
	}
	return strconv.Itoa(int(f)), "", ""
}

// extensionField is the name of an extension in an error, quoted as SQL quotes it.
func extensionField(name string) string {
	quoted := "'" + strings.ReplaceAll(shorten(name), "'", "''") + "'"
	if strings.Contains(quoted, `\`) {
		quoted = "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return "extension " + quoted
}

// jsonQuotes are all escapes that a text without control characters needs.
var jsonQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func quoteJSON(s string) string { return `"` + jsonQuotes.Replace(s) + `"` }

// memberSize is the size of "name": value, with the separator before it.
func memberSize(m member) int { return len(m.name) + len(m.json) + len(`, "": `) }

func objectSize(members []member) int {
	size := len(`{}`)
	for _, m := range members {
		size += memberSize(m)
	}
	if len(members) > 0 {
		size -= len(`, `)
	}
	return size
}

// writeObject writes the members as jsonb does: shorter names first.
func writeObject(members []member) []byte {
	if len(members) == 0 {
		return nil
	}
	slices.SortFunc(members, func(a, b member) int {
		if len(a.name) != len(b.name) {
			return len(a.name) - len(b.name)
		}
		return strings.Compare(a.name, b.name)
	})
	object := make([]byte, 0, objectSize(members))
	for i, m := range members {
		lead := `, "`
		if i == 0 {
			lead = `{"`
		}
		object = append(append(object, lead...), m.name...)
		object = append(append(object, `": `...), m.json...)
	}
	return append(object, '}')
}
