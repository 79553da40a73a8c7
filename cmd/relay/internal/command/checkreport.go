package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// checkReport is the output of relay check: a contract, only ever added to.
type checkReport struct {
	Verdict string      `json:"verdict"`
	Healthy bool        `json:"healthy"`
	At      string      `json:"at"`
	Seconds float64     `json:"seconds"`
	Failed  int         `json:"failed"`
	Warned  int         `json:"warned"`
	Skipped int         `json:"skipped"`
	Checks  []checkFact `json:"checks"`

	report check.Report
}

// checkFact is one check.
type checkFact struct {
	Name     string         `json:"name"`
	Severity check.Severity `json:"severity"` // ok, warn, fail or skip
	Text     string         `json:"text"`
	Hint     string         `json:"hint"`
}

func newCheckReport(r check.Report, at time.Time, took time.Duration) *checkReport {
	c := &checkReport{
		Healthy: r.Healthy(), At: output.Time(at), Seconds: output.Seconds(took), report: r,
		Failed: r.Count(check.Fail), Warned: r.Count(check.Warn), Skipped: r.Count(check.Skip), Checks: []checkFact{},
	}
	for _, f := range r.Findings {
		c.Checks = append(c.Checks, checkFact{f.Check, f.Severity, f.Text, f.Hint})
	}
	c.Verdict = c.verdict()
	return c
}

// verdict is the whole in a sentence.
func (c *checkReport) verdict() string {
	made := len(c.Checks) - c.Skipped
	text := fmt.Sprintf("Healthy: %s made", output.Count(int64(made), "check"))
	switch {
	case c.report.Away():
		text = fmt.Sprintf("Unavailable: %s", namesOf(c.report.Of(check.Fail)))
	case c.Failed > 0:
		text = fmt.Sprintf("Not healthy: %s of %d failed (%s)", output.Count(int64(c.Failed), "check"), made, namesOf(c.report.Of(check.Fail)))
	}
	if c.Warned > 0 {
		text += fmt.Sprintf(", %s (%s)", output.Count(int64(c.Warned), "warning"), namesOf(c.report.Of(check.Warn)))
	}
	if c.Skipped > 0 {
		text += fmt.Sprintf(", %d not made", c.Skipped)
	}
	return text + "."
}

// status is what the command ends with.
func (c *checkReport) status(format output.Format) exit.Code {
	if format == nagiosFormat {
		return c.nagiosStatus()
	}
	switch {
	case c.Healthy:
		return exit.OK
	case c.report.Away():
		return exit.Unavailable
	}
	return exit.No
}

func (c *checkReport) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, c)
	case nagiosFormat:
		return c.writeNagios(w)
	case prometheusFormat:
		return c.writePrometheus(w)
	}
	return c.writeText(w)
}

// writeText writes one line per fact, and what to do below those that are not well.
func (c *checkReport) writeText(w io.Writer) error {
	colours := map[check.Severity]output.Colour{check.OK: output.Green, check.Warn: output.Yellow, check.Fail: output.Red}
	whole := check.OK
	if c.Warned > 0 {
		whole = check.Warn
	}
	if c.Failed > 0 {
		whole = check.Fail
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", output.Paint(w, colours[whole], c.Verdict))
	width := 0
	for _, f := range c.Checks {
		width = max(width, len(f.Name))
	}
	for _, f := range c.Checks {
		mark := fmt.Sprintf("%-4s", f.Severity)
		if colour, has := colours[f.Severity]; has {
			mark = output.Paint(w, colour, mark)
		}
		fmt.Fprintf(&out, "%s  %-*s  %s\n", mark, width, f.Name, f.Text)
		if f.Hint != "" && (f.Severity == check.Warn || f.Severity == check.Fail) {
			fmt.Fprintf(&out, "      %-*s  hint: %s\n", width, "", f.Hint)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
