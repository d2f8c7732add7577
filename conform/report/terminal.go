package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
)

// Terminal writes reports for people.
type Terminal struct {
	// Width is where lines are broken at words, 0 for nowhere.
	Width int

	w     io.Writer
	paint func(Verdict, string) string
}

// NewTerminal writes to w, with colours if they are wanted.
func NewTerminal(w io.Writer, colours bool) *Terminal {
	t := &Terminal{w: w, paint: func(_ Verdict, s string) string { return s }}
	if colours {
		t.paint = paintVerdict
	}
	return t
}

// paintVerdict gives red to what fails. What shows nothing is no failure and has another colour.
func paintVerdict(v Verdict, s string) string {
	colour := map[Verdict]int{Pass: 32, Warn: 33, KnownFail: 33, Fail: 31, Stale: 31, Flaky: 31, NotTestable: 36, HarnessError: 35, NotApplicable: 90, Contradicted: 36}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour[v], s)
}

// Run writes who was judged, what failed, then the table of areas, what else a reader
// has to know, why it has its verdict, and one line that sums up.
func (t *Terminal) Run(r *Run) { t.write(r.view()) }

// Checked writes whose traffic was judged, what was found in each recording, then
// the table and a sum.
func (t *Terminal) Checked(c *Checked) { t.write(c.view()) }

func (t *Terminal) write(v *view) {
	for line := range strings.SplitSeq(v.heading, "\n") {
		t.writeText(line)
	}
	for _, line := range v.warnings {
		t.writeText(line)
	}
	side := ""
	for _, i := range v.sorted() {
		if i.side() != side {
			side = i.side()
			t.writeText(aboutServer)
		}
		t.writeIssue(i)
	}
	for _, line := range v.differenceLines() {
		t.writeLine(Warn, line)
	}
	for _, line := range v.details {
		t.writeText(line)
	}
	t.writeAreas(v.summary.Areas)
	for _, note := range v.notes {
		t.writeText(note)
	}
	if reason := v.reason(); reason != "" {
		t.writeText(reason)
	}
	t.writeLine(v.summary.Verdict, v.summary.verdictLine(v.counted))
}

// writeIssue prints a cause as one block, or what is not about a case in one line.
func (t *Terminal) writeIssue(i issue) {
	details := i.detailLines()
	title := fmt.Sprintf("%-14s %s", i.verdict, i.titleLine("  "))
	switch isWhole := i.where == "" || i.file != ""; {
	case i.finding != nil:
	case i.file != "" && strings.HasPrefix(i.reason, i.file): // a file inside the recording
		title, details = fmt.Sprintf("%-14s %s", i.verdict, i.reason), details[1:]
	case i.file != "":
		title, details = title+": "+i.reason, details[1:]
	case isWhole && i.reason != "":
		title, details = title+"  "+i.reason, details[1:]
	}
	t.writeLine(i.verdict, title)
	for _, d := range details {
		if d.isExact() {
			fmt.Fprintln(t.w, terminal.Line("    "+d.String()))
		} else {
			t.writeText("    " + d.String())
		}
	}
}

// writeLine writes a line in the colour of a verdict.
func (t *Terminal) writeLine(v Verdict, text string) {
	fmt.Fprintln(t.w, t.paint(v, t.shownLine(text)))
}

// writeText writes a line without colour.
func (t *Terminal) writeText(text string) { fmt.Fprintln(t.w, t.shownLine(text)) }

// shownLine is a line as a terminal shows it. Control characters are shown, not obeyed: some
// of the text was written by others.
func (t *Terminal) shownLine(text string) string {
	return terminal.Wrap(terminal.Line(text), t.Width, "      ")
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

// heading names the clients that sent the traffic.
func (c *Checked) heading() string {
	text := "traffic of " + cmp.Or(c.clientNames(), "an unnamed client")
	if c.Side == specs.JudgesServer {
		text = "replies of " + c.clientNames()
	}
	if c.Policy.Strict {
		text += ", strict"
	}
	return text
}

// clientNames names the clients, the most frequent first.
func (c *Checked) clientNames() string {
	names := slices.SortedFunc(maps.Keys(c.clients), func(a, b string) int {
		return cmp.Or(c.clients[b]-c.clients[a], cmp.Compare(a, b))
	})
	text := strings.Join(names[:min(maxClients, len(names))], ", ")
	if more := len(names) - maxClients; more > 0 {
		text += fmt.Sprintf(" and %d more clients", more)
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
