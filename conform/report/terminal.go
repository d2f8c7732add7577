package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/internal/terminal"
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
	colour := map[Verdict]string{Pass: "2", Warn: "3", KnownFail: "3", Fail: "1", Stale: "1", Flaky: "1", NotTestable: "1", HarnessError: "5", NotApplicable: "8", Contradicted: "6"}
	return func(v Verdict, s string) string {
		return r.NewStyle().Foreground(lipgloss.Color(colour[v])).Render(s)
	}
}

// Run writes who was judged, what failed, then the table of areas, what else a reader
// has to know, and one line that sums up.
func (t *Terminal) Run(r *Run) {
	t.writePlain("%s", r.heading())
	for _, note := range r.isolationNotes() {
		t.writePlain("%s", note)
	}
	similar := newSimilarFindings()
	for _, res := range r.Results {
		if _, isExcused := r.ExcuseOf(res); !isExcused {
			similar.addCase(res.Case, res.Findings)
		}
	}
	for _, res := range r.Results {
		if !isCaseSilent(res) {
			t.writeRunResult(r, res, similar)
		}
	}
	t.writeSilentCases(r.Results)
	for _, used := range r.Baseline {
		if used.Verdict == Stale {
			t.writeLine(Stale, "%-14s %s  baseline: %s", Stale, used.Pattern, used.Problem)
		}
	}
	t.writeDifferences(r.Differences)
	t.writeMissing(r.Summary.Coverage)
	t.writeAreas(r.Summary.Areas)
	for _, note := range r.runNotes() {
		t.writePlain("%s", note)
	}
	if r.Guard != "" {
		t.writeLine(HarnessError, "guard: %s", r.Guard)
	}
	t.writeSummary(r.Summary, countOf(len(r.Results), "result"))
}

// writeRunResult prints a result that is not a pass. A known failure is one line.
func (t *Terminal) writeRunResult(r *Run, res Result, similar *similarFindings) {
	if e, ok := r.ExcuseOf(res); ok {
		t.writeLine(KnownFail, "%-14s %s  %s", KnownFail, res.Check, res.Case)
		t.writeDetail("", e.String())
		return
	}
	t.writeResult(res, similar)
}

// isCaseSilent reports whether a result only says that its whole case shows nothing.
func isCaseSilent(res Result) bool {
	return res.Verdict == NotTestable && res.Case != "" && res.Reason != "" && len(res.Findings) == 0
}

// writeSilentCases says once why cases show nothing, however many requirements they would
// have shown.
func (t *Terminal) writeSilentCases(results []Result) {
	count := map[[2]string]int{}
	for _, res := range results {
		if isCaseSilent(res) {
			count[[2]string{res.Case, res.Reason}]++
		}
	}
	cases := map[string][]string{} // by reason
	keys := slices.SortedFunc(maps.Keys(count), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		cases[key[1]] = append(cases[key[1]], key[0])
	}
	for _, key := range keys {
		same := cases[key[1]]
		if same[0] != key[0] {
			continue
		}
		t.writeLine(NotTestable, "%-14s %s  (%s)", NotTestable, key[0], countOf(count[key], "check"))
		t.writeDetail("", key[1])
		if len(same) > 1 {
			t.writeDetail("the same in", firstOf(same[1:]))
		}
	}
}

// heading names the subject and its version, and how it was asked.
func (r *Run) heading() string {
	name := strings.TrimSpace(r.Subject.Name + " " + r.Subject.Version)
	kind := r.Subject.Kind
	if r.Subject.Control != "" {
		kind += ", control " + r.Subject.Control
	}
	text := fmt.Sprintf("%s (%s), source %s, ingress %s", name, kind, strings.Join(r.Source, ","), strings.Join(r.Ingress, ","))
	if r.Policy.Strict {
		text += ", strict"
	}
	return text
}

// writeMissing names the requirements that --require names and nothing shows.
func (t *Terminal) writeMissing(c Coverage) {
	for _, id := range c.Missing {
		t.writeLine(Fail, "%-14s %s  required, and nothing shows it", Fail, id)
	}
}

// countOf is a number with its noun, which takes an s.
func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// writeSummary writes the last line: the verdict, how much was seen, how many of
// what, and the findings that no verdict counts.
func (t *Terminal) writeSummary(s Summary, counted string) {
	t.writeLine(s.Verdict, "%s", s.verdictLine(counted))
}

// writeResult prints a result that is not a pass, and its findings.
func (t *Terminal) writeResult(res Result, similar *similarFindings) {
	t.writeFindings(res.Case, res.Findings, similar)
	if isFlake := res.Verdict == Flaky; isFlake || len(res.Findings) == 0 && res.Verdict.severityRank() > Pass.severityRank() {
		name := strings.TrimSpace(cmp.Or(res.Check, res.Requirement) + "  " + res.Case)
		t.writeLine(res.Verdict, "%-14s %s", res.Verdict, name)
		t.writeDetail("", res.Reason)
	}
}

// Checked writes whose traffic was judged, what was found in each recording, then
// the table and a sum.
func (t *Terminal) Checked(c *Checked) {
	t.writePlain("%s", c.heading())
	similar := newSimilarFindings()
	for _, r := range c.Recordings {
		similar.addCase(r.Path, r.Findings)
	}
	for _, r := range c.Recordings {
		t.writeFindings(r.Path, r.Findings, similar)
		if r.Reason != "" && (r.notJudged || r.Verdict != NotTestable) {
			t.writeLine(r.Verdict, "%-14s %s", r.Verdict, r.reasonWithPath())
		}
		for _, s := range r.Skipped {
			t.writePlain("%-14s %s  exchange %d, %s: %s", "skipped", r.Path, s.Exchange, s.What, s.Reason)
		}
		for _, d := range r.Redacted {
			t.writePlain("%-14s %s  exchange %d, %s body: judged with %s%s", "redacted", r.Path, d.Exchange, d.Body, countOf(d.Values, "redacted value"), atPlaces(d.Places))
		}
	}
	t.writeSilent(c)
	for _, path := range c.PassedOver[:min(maxPassedOver, len(c.PassedOver))] {
		t.writePlain("%-14s %s: is not a recording", "passed over", path)
	}
	if more := len(c.PassedOver) - maxPassedOver; more > 0 {
		t.writePlain("%-14s %d more files; --json lists them", "passed over", more)
	}
	t.writeMissing(c.Summary.Coverage)
	t.writeAreas(c.Summary.Areas)
	for _, note := range c.foreignNote() {
		t.writePlain("%s", note)
	}
	t.writeSummary(c.Summary, c.countedFiles())
}

// countedFiles says what the counts of the summary are of. Files that were passed over have no
// verdict.
func (c *Checked) countedFiles() string {
	text := countOf(len(c.Recordings), "recording")
	if n := len(c.PassedOver); n > 0 {
		text = countOf(n, "file") + " passed over, " + text
	}
	return text
}

// atPlaces is the end of a sentence that says where.
func atPlaces(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return " at " + strings.Join(places, "; ")
}

// heading names the clients that sent the traffic, the most frequent first.
func (c *Checked) heading() string {
	count := map[string]int{}
	for _, r := range c.Recordings {
		if r.Client != "" {
			count[r.Client]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a, b))
	})
	text := "traffic of " + cmp.Or(strings.Join(names[:min(maxClients, len(names))], ", "), "an unnamed client")
	if more := len(names) - maxClients; more > 0 {
		text += fmt.Sprintf(" and %d more clients", more)
	}
	if c.Policy.Strict {
		text += ", strict"
	}
	return text
}

// maxClients is how many clients the heading names.
const maxClients = 3

// maxPassedOver is how many files that are not recordings are named one by one.
const maxPassedOver = 20

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

// writeFindings prints the findings of a case or recording that no earlier one shows.
func (t *Terminal) writeFindings(where string, findings []Finding, similar *similarFindings) {
	for _, f := range findings {
		if similar.isShownIn(where, f) {
			t.writeFinding(where, f, similar.otherCases(f))
		}
	}
}

// writeFinding prints what is wrong, where, what differs, where it came back, how to fix
// it, and the other cases that show the same.
func (t *Terminal) writeFinding(where string, f Finding, others []string) {
	t.writeLine(f.Verdict, "%-14s %s  %s  (%s)", f.Verdict, f.Check, where, f.outcomeText())
	t.writeDetail("at", f.Place())
	t.writeDetail("", f.Message)
	t.writeComparison(f.Compare)
	t.writeDetail("also at", f.otherPlaces())
	if f.Verdict == Contradicted {
		t.writeDetail("contradicted", "the provider itself accepted this request, so the rule is out of date; please report it")
	} else {
		t.writeDetail("fix", f.Fix)
	}
	t.writeDetail("similar in", firstOf(others))
}

// writeComparison writes both sides below each other and marks the first character
// that differs.
func (t *Terminal) writeComparison(c *check.Comparison) {
	if c == nil {
		return
	}
	fmt.Fprintf(t.w, "    expected: %s\n    actual:   %s\n              %s^ byte %d\n", terminal.Line(c.Expected), terminal.Line(c.Actual), strings.Repeat(" ", c.Mark), c.Differs)
}

// maxPlaces is how many of the places, or cases, where a finding came back are printed.
const maxPlaces = 4

func (f Finding) otherPlaces() string {
	var parts []string
	for _, p := range f.Places {
		parts = append(parts, p.String())
	}
	return firstOf(parts)
}

// firstOf lists the first maxPlaces of all, and how many more there are.
func firstOf(all []string) string {
	text := strings.Join(all[:min(maxPlaces, len(all))], "; ")
	if more := len(all) - maxPlaces; more > 0 {
		text += fmt.Sprintf("; %d more", more)
	}
	return text
}

func (t *Terminal) writeDetail(label, text string) {
	if label != "" {
		label += ": "
	}
	if text != "" {
		t.writePlain("    %s%s", label, text)
	}
}

func (t *Terminal) writeLine(v Verdict, format string, args ...any) {
	fmt.Fprintln(t.w, t.paint(v, terminal.Line(fmt.Sprintf(format, args...))))
}

// writePlain writes a line without colour. Control characters are shown, not obeyed: some
// of the text was written by others.
func (t *Terminal) writePlain(format string, args ...any) {
	fmt.Fprintln(t.w, terminal.Line(fmt.Sprintf(format, args...)))
}

// Place says where a finding is: exchange, event, byte, path and rule, as far
// as they apply.
func (f Finding) Place() string {
	text := Place{Exchange: f.Exchange, Event: f.Event, Offset: f.Offset, Path: f.Path}.String()
	if f.Rule != "" {
		text = strings.TrimPrefix(text+", rule "+f.Rule, ", ")
	}
	return text
}

// String names the ordinals and the path that apply.
func (p Place) String() string {
	var parts []string
	for _, n := range []struct {
		name  string
		value int64
	}{{"exchange", int64(p.Exchange)}, {"event", int64(p.Event)}, {"byte", p.Offset}} {
		if n.value >= 0 {
			parts = append(parts, fmt.Sprintf("%s %d", n.name, n.value))
		}
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
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
