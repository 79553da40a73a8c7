package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// The statuses of a Nagios plugin. They are that protocol's and not ours, in this format only.
const (
	nagiosOK       exit.Code = 0
	nagiosWarning  exit.Code = 1
	nagiosCritical exit.Code = 2
	nagiosUnknown  exit.Code = 3
)

// unknown says that nothing could be looked at, in the words of that protocol; for people it is
// also said as everywhere else.
func unknown(cmd *cobra.Command, err error) error {
	exit.Report(cmd.ErrOrStderr(), err, false)
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "RELAY UNKNOWN - %s\n", strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "|", "/")), " ")); err != nil {
		return err
	}
	return exit.Answer(nagiosUnknown)
}

func (c *checkReport) nagiosStatus() exit.Code {
	switch {
	case c.Failed > 0:
		return nagiosCritical
	case c.Warned > 0:
		return nagiosWarning
	}
	return nagiosOK
}

// writeNagios writes a plugin's output: a line, performance data, then the details. The
// vertical bar separates, so it cannot be in a text.
func (c *checkReport) writeNagios(w io.Writer) error {
	word := map[exit.Code]string{nagiosOK: "OK", nagiosWarning: "WARNING", nagiosCritical: "CRITICAL"}[c.nagiosStatus()]
	clean := func(text string) string { return strings.ReplaceAll(text, "|", "/") }
	var out strings.Builder
	fmt.Fprintf(&out, "RELAY %s - %s | checks=%d failed=%d;;0 warned=%d;0 seconds=%.3fs\n",
		word, clean(c.Verdict), len(c.Checks)-c.Skipped, c.Failed, c.Warned, c.Seconds)
	for _, f := range c.report.Of(check.Fail, check.Warn) {
		fmt.Fprintf(&out, "%s: %s: %s", strings.ToUpper(string(f.Severity)), f.Check, clean(f.Text))
		if f.Hint != "" {
			fmt.Fprintf(&out, " (hint: %s)", clean(f.Hint))
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writePrometheus writes metrics for a textfile collector. A check that was not made has no value.
func (c *checkReport) writePrometheus(w io.Writer) error {
	var out strings.Builder
	out.WriteString("# HELP holdfast_relay_check_severity What a check found: 0 ok, 1 warn, 2 fail.\n# TYPE holdfast_relay_check_severity gauge\n")
	values := map[check.Severity]int{check.OK: 0, check.Warn: 1, check.Fail: 2}
	for _, f := range c.Checks {
		if value, made := values[f.Severity]; made {
			fmt.Fprintf(&out, "holdfast_relay_check_severity{check=%q} %d\n", f.Name, value)
		}
	}
	healthy := 0
	if c.Healthy {
		healthy = 1
	}
	fmt.Fprintf(&out, "# HELP holdfast_relay_check_healthy Whether nothing failed.\n# TYPE holdfast_relay_check_healthy gauge\nholdfast_relay_check_healthy %d\n", healthy)
	fmt.Fprintf(&out, "# HELP holdfast_relay_check_duration_seconds How long the checks took.\n# TYPE holdfast_relay_check_duration_seconds gauge\nholdfast_relay_check_duration_seconds %.3f\n", c.Seconds)
	_, err := io.WriteString(w, out.String())
	return err
}
