package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Terminal writes reports for people.
type Terminal struct {
	w     io.Writer
	paint func(Verdict, string) string
}

// NewTerminal writes to w, with colours when w is a terminal that has them and
// colours are wanted.
func NewTerminal(w io.Writer, colours bool) *Terminal {
	t := &Terminal{w: w, paint: func(_ Verdict, s string) string { return s }}
	if colours {
		t.paint = newPainter(lipgloss.NewRenderer(w))
	}
	return t
}

func newPainter(r *lipgloss.Renderer) func(Verdict, string) string {
	colour := map[Verdict]string{Pass: "2", Warn: "3", KnownFail: "3", Fail: "1", Stale: "1", Flaky: "1", NotTestable: "1", HarnessError: "5", NotApplicable: "8"}
	return func(v Verdict, s string) string {
		return r.NewStyle().Foreground(lipgloss.Color(colour[v])).Render(s)
	}
}

// Run writes what failed, then the table of areas, then one line that sums up.
func (t *Terminal) Run(r *Run) {
	for _, res := range r.Results {
		t.writeResult(res)
	}
	t.writeAreas(r.Summary.Areas)
	if r.Guard != "" {
		t.writeLine(HarnessError, "guard: %s", r.Guard)
	}
	t.writeLine(r.Summary.Verdict, "%s: %d results of %d requirements (%s)", strings.ToUpper(string(r.Summary.Verdict)), len(r.Results),
		len(r.Set.Requirements), r.Summary.Counts)
}

// writeResult prints a result that is not a pass, and its findings.
func (t *Terminal) writeResult(res Result) {
	for _, f := range res.Findings {
		t.writeFinding(res.Case, f)
	}
	if len(res.Findings) == 0 && res.Verdict.severityRank() > Pass.severityRank() {
		name := strings.TrimSpace(cmp.Or(res.Check, res.Requirement) + "  " + res.Case)
		t.writeLine(res.Verdict, "%-14s %s", res.Verdict, name)
		t.writeDetail("", res.Reason)
	}
}

// Checked writes what was found in each recording, then the table and a sum.
func (t *Terminal) Checked(c *Checked) {
	for _, r := range c.Recordings {
		for _, f := range r.Findings {
			t.writeFinding(r.Path, f)
		}
		if r.Reason != "" && (r.notJudged || r.Verdict != NotTestable) {
			t.writeLine(r.Verdict, "%-14s %s", r.Verdict, r.reasonWithPath())
		}
		for _, s := range r.Skipped {
			fmt.Fprintf(t.w, "%-14s %s  exchange %d, %s: %s\n", "skipped", r.Path, s.Exchange, s.What, s.Reason)
		}
	}
	t.writeSilent(c)
	if n := len(c.PassedOver); n > 0 {
		fmt.Fprintf(t.w, "%-14s %d files that are no recordings, first %s\n", "passed over", n, c.PassedOver[0])
	}
	t.writeAreas(c.Summary.Areas)
	t.writeLine(c.Summary.Verdict, "%s: %d recordings (%s)", strings.ToUpper(string(c.Summary.Verdict)), len(c.Recordings), c.Summary.Counts)
}

// maxNamed is how many recordings that show nothing are named one by one.
const maxNamed = 5

// writeSilent lists recordings that were read and show nothing; many of them, as in a
// directory of single answers, are counted.
func (t *Terminal) writeSilent(c *Checked) {
	var quiet []Recording
	for _, r := range c.Recordings {
		if r.Verdict == NotTestable && !r.notJudged {
			quiet = append(quiet, r)
		}
	}
	for _, r := range quiet[:min(maxNamed, len(quiet))] {
		t.writeLine(NotTestable, "%-14s %s", NotTestable, r.reasonWithPath())
	}
	if more := len(quiet) - maxNamed; more > 0 {
		t.writeLine(NotTestable, "%-14s %d more recordings that show nothing; --json lists them", NotTestable, more)
	}
}

// writeFinding prints what is wrong, where, and how to fix it.
func (t *Terminal) writeFinding(where string, f Finding) {
	verdict := Warn
	if f.Consequence.IsFailure() {
		verdict = Fail
	}
	t.writeLine(verdict, "%-14s %s  %s", verdict, f.Check, where)
	t.writeDetail("at", f.Place())
	t.writeDetail("", f.Message)
	t.writeDetail("fix", f.Fix)
}

func (t *Terminal) writeDetail(label, text string) {
	if label != "" {
		label += ": "
	}
	if text != "" {
		fmt.Fprintf(t.w, "    %s%s\n", label, text)
	}
}

func (t *Terminal) writeLine(v Verdict, format string, args ...any) {
	fmt.Fprintln(t.w, t.paint(v, fmt.Sprintf(format, args...)))
}

// Place says where a finding is: exchange, event, byte, path and rule, as far
// as they apply.
func (f Finding) Place() string {
	parts := []string{fmt.Sprintf("exchange %d", f.Exchange)}
	if f.Event >= 0 {
		parts = append(parts, fmt.Sprintf("event %d", f.Event))
	}
	if f.Offset >= 0 {
		parts = append(parts, fmt.Sprintf("byte %d", f.Offset))
	}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	if f.Rule != "" {
		parts = append(parts, "rule "+f.Rule)
	}
	return strings.Join(parts, ", ")
}

// String lists the counts that are not zero, worst first.
func (c Counts) String() string {
	var parts []string
	for _, v := range slices.Backward(Verdicts) {
		if c[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[v], v))
		}
	}
	return strings.Join(parts, ", ")
}
