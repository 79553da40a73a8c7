package command

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// propose writes the configuration for what was found. The tool that most services have is
// the default.
func propose(folders []gen.Found) []byte {
	usual := usualTool(folders)
	d := canonical.DefaultParams()
	var out bytes.Buffer
	fmt.Fprintf(&out, `# Which services have which parts of the outbox schema. To change what is in a service: edit this
# file, then outbox-gen write. The parameters are fixed once a database has them.
version: 1
defaults: {tool: %s, schema: %s, lanes: %d, retention: {slots: %d, period: %dh}, max_event_bytes: %d}
services:
`, usual, d.Schema, d.Lanes, d.Slots, int(d.Period.Hours()), d.MaxEventBytes)
	allEmpty := !slices.ContainsFunc(folders, func(f gen.Found) bool { return f.Tool != "" })
	for _, f := range folders {
		sign, tool := "-", ""
		switch f.Tool {
		case usual:
		case "":
			fmt.Fprintln(&out, "  # This folder is empty, so the tool is a guess.")
			tool = ", tool: " + string(usual)
			if !allEmpty {
				sign = "# -"
			}
		default:
			tool = ", tool: " + string(f.Tool)
		}
		fmt.Fprintf(&out, "  %s {name: %s, dir: %s%s, components: [outbox, relay]}\n", sign, scalar(f.Name), scalar(f.Dir), tool)
	}
	return out.Bytes()
}

func usualTool(folders []gen.Found) gen.Tool {
	usual, most := gen.Goose, 0
	counts := map[gen.Tool]int{}
	for _, f := range folders {
		if f.Tool == "" {
			continue
		}
		counts[f.Tool]++
		if counts[f.Tool] > most {
			usual, most = f.Tool, counts[f.Tool]
		}
	}
	return usual
}

var plainScalar = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_/.-]*$`)

// scalar quotes a text for YAML when it needs that.
func scalar(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plainScalar.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
