package settings

import (
	"fmt"
	"strings"
)

// titles of the sections in the environment file.
var titles = map[Section]string{
	Database:  "Database",
	NATS:      "NATS",
	Stream:    "Stream and subjects",
	Drain:     "Draining",
	Retention: "Retention",
	HTTP:      "HTTP",
	Holds:     "Control surface of holds",
	Log:       "Log",
}

const envFileHead = `# Settings of the relay, one variable each. Remove the # before those that you change.
# A flag beats a variable, a variable beats the default. A value is taken as it is: nothing
# is expanded in it, and quotes are part of it. Unknown RELAY_ variables are refused.
# Check with: relay config validate
`

// EnvFile returns a commented environment file with every variable, as docker, systemd and
// most tools read it.
func EnvFile() string {
	var out strings.Builder
	out.WriteString(envFileHead)
	section := Section("")
	for _, v := range variables() {
		if v.Section != section {
			section = v.Section
			fmt.Fprintf(&out, "\n# ---- %s ----\n", titles[section])
		}
		out.WriteByte('\n')
		for _, line := range wrap(describe(v), 96) {
			fmt.Fprintf(&out, "# %s\n", line)
		}
		switch {
		case v.Default != "":
			fmt.Fprintf(&out, "# Default: %s\n#%s=%s\n", v.Default, v.Name, v.Default)
		case v.Example != "":
			fmt.Fprintf(&out, "# No default. Example:\n#%s=%s\n", v.Name, v.Example)
		default:
			fmt.Fprintf(&out, "# No default.\n#%s=\n", v.Name)
		}
	}
	return out.String()
}

// describe is all about a variable but its default, in one paragraph.
func describe(v Variable) string {
	sentences := []string{v.Doc}
	add := func(format string, args ...any) { sentences = append(sentences, fmt.Sprintf(format, args...)) }
	if v.Secret {
		add("Secret: %s%s is the better way.", v.Name, fileSuffix)
	}
	if v.Values != nil {
		add("One of %s.", strings.Join(v.Values, ", "))
	}
	if v.Kind == "duration" {
		add("A duration, in ms, s, m or h.")
	}
	if v.Kind == "size" {
		add("In bytes, KiB, MiB or GiB.")
	}
	if v.Fallback != "" {
		add("%s is used when it is not set.", v.Fallback)
	}
	return strings.Join(sentences, " ")
}

// wrap breaks a paragraph into lines of at most width bytes, unless a word is longer.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
