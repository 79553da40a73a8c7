package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/topic"
)

func explainCommand(Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "explain [TOPIC]",
		Short: "Explain a kind of drift, an error code, a component or a tool",
		Long: effects("nothing.", "reads the configuration.") +
			"\n\nWithout a topic it lists them.",
		Example:   "  outbox-gen explain edited\n  outbox-gen explain HF011",
		Args:      arguments(0, 1),
		ValidArgs: topicNames(),
	})
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return writeTopics(cmd, format.Format())
		}
		t, ok := topic.Find(args[0])
		if !ok {
			return unknown(exit.NotFound, "topic", args[0], topicNames(), "outbox-gen explain ")
		}
		w := cmd.OutOrStdout()
		switch format.Format() {
		case output.JSON:
			return output.WriteJSON(w, output.JSON, t)
		case output.Name:
			_, err := fmt.Fprintln(w, t.Name)
			return err
		default:
			_, err := fmt.Fprintf(w, "%s (%s): %s.\n\n%s\n", t.Name, t.Group, t.Summary, wrap(t.Text, 100))
			return err
		}
	}
	return c
}

func topicNames() []string {
	var names []string
	for _, t := range topic.All() {
		names = append(names, t.Name)
	}
	return names
}

func writeTopics(cmd *cobra.Command, format output.Format) error {
	w := cmd.OutOrStdout()
	switch format {
	case output.JSON:
		return output.WriteJSON(w, output.JSON, map[string]any{"topics": topic.All()})
	case output.Name:
		_, err := fmt.Fprintln(w, strings.Join(topicNames(), "\n"))
		return err
	}
	table := output.Table{Heads: []string{"TOPIC", "KIND", "IN SHORT"}}
	for _, t := range topic.All() {
		table.Add(t.Name, string(t.Group), t.Summary)
	}
	return table.Write(w)
}

// wrap breaks a text into lines at spaces.
func wrap(text string, width int) string {
	var out strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column > 0 && column+1+len(word) > width:
			out.WriteString("\n")
			column = 0
		case column > 0:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
