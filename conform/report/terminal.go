package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	colour := map[Verdict]int{Pass: 32, Warn: 33, KnownFail: 33, Fail: 31, Stale: 31, Flaky: 31, NotTestable: 36,
		HarnessError: 35, NotApplicable: 90, Contradicted: 36}
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
	text := fmt.Sprintf("%s (%s), source %s, ingress %s", name, kind, strings.Join(r.Source, ","),
		strings.Join(r.Ingress, ","))
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
		text = "replies of " + cmp.Or(c.clientNames(), "an unnamed server")
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

// firstOf lists the first maxPlaces of count texts, and how many more there are.
func firstOf(texts []string, count int) string {
	texts = texts[:min(maxPlaces, len(texts))]
	text := strings.Join(texts, "; ")
	if more := count - len(texts); more > 0 {
		text += fmt.Sprintf("; %d more", more)
	}
	return text
}

// MarkdownCode is text of others as inline code of GitHub's Markdown: it makes no link,
// mention, image, table cell or HTML.
func MarkdownCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range terminal.Line(text) {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune("-/,;()", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// workflowMessage escapes the text of a workflow command of GitHub Actions.
var workflowMessage = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// workflowProperty escapes a property of a workflow command.
var workflowProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")

// cutText shortens text to at most limit bytes, at the border of a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}

// columns of the table of areas; the rare verdicts get one only where they
// occur.
var (
	commonColumns = []Verdict{Pass, Fail, Warn, NotApplicable, NotTestable}
	rareColumns   = []Verdict{Contradicted, KnownFail, Stale, Flaky, HarnessError}
	shortHeadings = map[Verdict]string{NotApplicable: "n/a"}
)

// writeAreas writes one row an area: how many of its requirements got which verdict,
// and in how many places the rules could have been broken.
func (t *Terminal) writeAreas(areas []Area) {
	if len(areas) == 0 {
		return
	}
	columns := areaColumns(areas)
	fmt.Fprintf(t.w, "\n%-*s", areaWidth, "area")
	for _, v := range columns {
		fmt.Fprintf(t.w, "  %*s", columnWidth(v), columnHeading(v))
	}
	fmt.Fprintln(t.w, "  observed")
	for _, a := range areas {
		name := fmt.Sprintf("%-4s %s", terminal.Line(a.Area), specs.AreaName(a.Area))
		fmt.Fprint(t.w, t.paint(a.Verdict, fmt.Sprintf("%-*s", areaWidth, name)))
		for _, v := range columns {
			fmt.Fprint(t.w, t.tableCell(v, a.Counts[v]))
		}
		fmt.Fprintf(t.w, "  %8d\n", a.Observed)
	}
	fmt.Fprintln(t.w)
}

// areaWidth is that of the longest id and name of an area.
const areaWidth = 24

// tableCell pads before it paints: escape codes have no width. Zeros stay plain.
func (t *Terminal) tableCell(v Verdict, n int) string {
	if n == 0 {
		return fmt.Sprintf("  %*s", columnWidth(v), "·")
	}
	return "  " + t.paint(v, fmt.Sprintf("%*d", columnWidth(v), n))
}

func columnHeading(v Verdict) string {
	if s, ok := shortHeadings[v]; ok {
		return s
	}
	return strings.ReplaceAll(string(v), "-", " ")
}

func columnWidth(v Verdict) int { return max(5, len(columnHeading(v))) }
