package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

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
func (t *Terminal) Run(r *Run) { t.write(r.view()) }

// Checked writes whose traffic was judged, what was found in each recording, then
// the table and a sum.
func (t *Terminal) Checked(c *Checked) { t.write(c.view()) }

func (t *Terminal) write(v *view) {
	t.writePlain("%s", v.heading)
	for _, line := range v.warnings {
		t.writePlain("%s", line)
	}
	for _, i := range v.issues {
		t.writeIssue(i)
	}
	t.writeDifferences(v.differences)
	for _, line := range v.details {
		t.writePlain("%s", line)
	}
	t.writeAreas(v.summary.Areas)
	for _, note := range v.notes {
		t.writePlain("%s", note)
	}
	t.writeLine(v.summary.Verdict, "%s", v.summary.verdictLine(v.counted))
}

// writeIssue prints what is wrong and where, what differs, where it came back, how to fix it,
// what follows from it, and the other cases that show the same.
func (t *Terminal) writeIssue(i issue) {
	f := i.finding
	if f == nil {
		isWhole := i.where == "" // a sentence about the report, or about a recording, stands in one line
		switch title := i.titleLine("  "); {
		case i.file != "" && strings.HasPrefix(i.reason, i.file): // a file inside the recording
			t.writeLine(i.verdict, "%-14s %s", i.verdict, i.reason)
		case i.file != "":
			t.writeLine(i.verdict, "%-14s %s: %s", i.verdict, i.file, i.reason)
		case isWhole:
			t.writeLine(i.verdict, "%-14s %s  %s", i.verdict, title, i.reason)
		default:
			if i.checks > 0 {
				title += fmt.Sprintf("  (%s)", countOf(i.checks, "check"))
			}
			t.writeLine(i.verdict, "%-14s %s", i.verdict, title)
			t.writeDetail("", i.reason)
		}
		t.writeDetail("the same in", firstOf(i.others, i.otherCount))
		return
	}
	t.writeLine(i.verdict, "%-14s %s", i.verdict, i.titleLine("  "))
	t.writeDetail("at", f.Where())
	t.writeDetail("", f.Message)
	if c := f.Compare; c != nil { // both sides below each other, with a mark below the first difference
		fmt.Fprintf(t.w, "    expected: %s\n    actual:   %s\n              %s^ byte %d\n",
			terminal.Line(c.Expected), terminal.Line(c.Actual), strings.Repeat(" ", c.Mark), c.Differs)
	}
	t.writeDetail("also at", otherPlaces(f, i.morePlaces))
	if f.Verdict == Contradicted {
		t.writeDetail("contradicted", "the provider itself accepted this request, so the rule is out of date; please report it")
	} else {
		t.writeDetail("fix", f.Fix)
	}
	for _, line := range i.followLines() {
		t.writeDetail("so also", line)
	}
	t.writeDetail("", i.similarText())
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

// countOf is a number with its noun, which takes an s.
func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// countedFiles says what the counts of the summary are of. Files that were passed over have no
// verdict.
func (c *Checked) countedFiles() string {
	text := countOf(c.count, "recording")
	if n := len(c.PassedOver); n > 0 {
		text = countOf(n, "file") + " passed over, " + text
	}
	return text
}

// heading names the clients that sent the traffic, the most frequent first.
func (c *Checked) heading() string {
	names := slices.SortedFunc(maps.Keys(c.clients), func(a, b string) int {
		return cmp.Or(c.clients[b]-c.clients[a], cmp.Compare(a, b))
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

// maxPlaces is how many of the places, or cases, where a finding came back are printed.
const maxPlaces = 4

// otherPlaces lists where a finding came back; more counts the places that are left out of it.
func otherPlaces(f *Finding, more int) string {
	var parts []string
	for _, p := range f.Places[:min(maxPlaces, len(f.Places))] {
		parts = append(parts, p.String())
	}
	return firstOf(parts, len(f.Places)+more)
}

// firstOf lists the first maxPlaces of count texts, and how many more there are.
func firstOf(texts []string, count int) string {
	texts = texts[:min(maxPlaces, len(texts))]
	text := strings.Join(texts, "; ")
	if more := count - len(texts); more > 0 {
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
