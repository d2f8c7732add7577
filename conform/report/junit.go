package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/internal/terminal"
)

// The shapes of JUnit XML that continuous integration systems agree on. They are those of
// junit-10.xsd, by which the xUnit plugin of Jenkins refuses files: it knows no properties
// of a test case and no count of what was skipped in all suites.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Time     string        `xml:"time,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class     string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Time      string        `xml:"time,attr"`
		Failure   *junitProblem `xml:"failure,omitempty"`
		Error     *junitProblem `xml:"error,omitempty"`
		Skipped   *junitProblem `xml:"skipped,omitempty"`
		SystemOut string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes r as JUnit XML, a suite per area: a test case for each result that fails, and one
// for each requirement of which none does, with their properties in lines of its output. What was not
// testable is a failure, and so is a requirement that had to be seen and was not: a skip would
// read as green. Cases that were not run are skipped, stale excuses are failures. Where the
// run fails, so does a test case.
func (r *Run) WriteJUnit(w io.Writer) error {
	all := newJUnit(r.DurationMS)
	held := map[string]*Result{}
	for _, res := range r.Results {
		if e, ok := r.ExcuseOf(res); ok {
			res.Reason = e.String()
		}
		suite, known := all.suiteNamed(res.Area()), held[res.Requirement]
		switch {
		case res.isRed():
			suite.addCase(res.Area(), res)
			held[res.Requirement] = &Result{}
		case known == nil:
			held[res.Requirement] = &res
		case res.Verdict.Rank() > known.Verdict.Rank():
			*known = res
		}
	}
	for _, id := range slices.Sorted(maps.Keys(held)) {
		if res := held[id]; res.Requirement != "" {
			res.Check, res.Case, res.DurationMS = "", "", 0
			all.suiteNamed(res.Area()).addCase(res.Area(), *res)
		}
	}
	all.addAsides(r.asides())
	for _, c := range r.Cases {
		if c.Reason != "" {
			all.suiteNamed("cases").addCase("cases",
				Result{Check: "run", Case: c.Name, Verdict: c.Verdict, Reason: c.Reason})
		}
	}
	all.addVerdict(r.Summary, countOf(r.countResults(), "result"))
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// isRed reports whether a test case for the result would fail.
func (r *Result) isRed() bool {
	return !slices.Contains([]Verdict{Pass, Warn, Contradicted, NotApplicable, KnownFail}, r.Verdict)
}

// junitWriter writes what was found in recordings: a suite per recording with a test case for the
// recording and one for each check that fails, and a suite per area of the requirements of which
// none does. It counts by suite only: a sum would have to stand before the first one.
type junitWriter struct {
	w     io.Writer
	isRed bool
}

// NewJUnitWriter writes the JUnit XML of recordings.
func NewJUnitWriter(w io.Writer) (CheckedWriter, error) {
	_, err := io.WriteString(w, xml.Header+`<testsuites name="conform">`+"\n")
	return &junitWriter{w: w}, err
}

// Add writes the suite of a recording.
func (j *junitWriter) Add(r *Recording) error {
	s := &junitSuite{Name: terminal.Line(r.Path)}
	for _, res := range r.results {
		if res.isRed() {
			res.Case = r.Path
			s.addCase(res.Area(), res)
		}
	}
	whole := Result{Check: "recording", Case: r.Path, Provider: r.Provider, Observed: 1}
	if r.Reason != "" {
		whole.Verdict, whole.Reason = r.Verdict, r.Reason
	}
	whole.judgeAgain(decide.Facts{Observed: 1})
	s.addCase("recordings", whole)
	return j.writeSuite(s)
}

func (j *junitWriter) writeSuite(s *junitSuite) error {
	j.isRed = j.isRed || s.Failures+s.Errors > 0
	enc := xml.NewEncoder(j.w)
	enc.Indent("  ", "  ")
	if err := enc.EncodeElement(s, xml.StartElement{Name: xml.Name{Local: "testsuite"}}); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, "\n")
	return err
}

// Finish writes what is wrong with the whole.
func (j *junitWriter) Finish(c *Checked) error {
	all := newJUnit(0)
	for _, id := range slices.Sorted(maps.Keys(c.tallies)) {
		if res := (Result{Requirement: id, Verdict: c.tallies[id].worst}); c.tallies[id].isSeen && !res.isRed() {
			all.suiteNamed(res.Area()).addCase(res.Area(), res)
		}
	}
	all.addAsides(c.Summary.Coverage.asides())
	if !j.isRed {
		all.addVerdict(c.Summary, c.countedFiles())
	}
	for _, s := range all.Suites {
		if err := j.writeSuite(s); err != nil {
			return err
		}
	}
	_, err := io.WriteString(j.w, "</testsuites>\n")
	return err
}

func newJUnit(durationMS int64) *junitSuites {
	return &junitSuites{Name: "conform", Time: secondsText(durationMS)}
}

// suiteNamed returns the suite with a name.
func (all *junitSuites) suiteNamed(name string) *junitSuite {
	for _, s := range all.Suites {
		if s.Name == name {
			return s
		}
	}
	all.Suites = append(all.Suites, &junitSuite{Name: name})
	return all.Suites[len(all.Suites)-1]
}

func (all *junitSuites) addAsides(list []aside) {
	for _, a := range list {
		all.suiteNamed(a.suite).addCase(a.suite, a.Result)
	}
}

// addVerdict adds a failure where the report fails and no test case does: no case was run,
// or warnings count.
func (all *junitSuites) addVerdict(s Summary, counted string) {
	isRed := func(suite *junitSuite) bool { return suite.Failures+suite.Errors > 0 }
	if s.Exit != ExitOK && !slices.ContainsFunc(all.Suites, isRed) {
		verdict := newAside("run", Result{Check: "verdict"}, decide.Facts{Missing: true})
		verdict.Reason = s.verdictLine(counted)
		all.addAsides([]aside{verdict})
	}
}

func (s *junitSuite) addCase(class string, res Result) {
	c := junitCase{
		Class:     "conform." + class,
		Name:      terminal.Line(strings.TrimSpace(cmp.Or(res.Check, res.Requirement) + " " + res.Case)),
		Time:      secondsText(res.DurationMS),
		SystemOut: res.junitProperties(),
	}
	problem := &junitProblem{Type: string(res.Verdict), Message: terminal.Line(firstMessage(res)),
		Text: findingTexts(res)}
	s.Tests++
	switch res.Verdict {
	case Pass:
	case Warn, Contradicted:
		c.SystemOut += problem.Text
	case NotApplicable, KnownFail:
		s.Skipped++
		c.Skipped = &junitProblem{Message: problem.Message}
	case HarnessError:
		s.Errors++
		c.Error = problem
	default:
		s.Failures++
		c.Failure = problem
	}
	s.Cases = append(s.Cases, c)
}

// junitProperties are lines in the form in which tools read properties out of the output
// of a test case.
func (r Result) junitProperties() string {
	var b strings.Builder
	for _, p := range []struct{ name, value string }{
		{"verdict", string(r.Verdict)}, {"requirement", r.Requirement}, {"consequence", string(r.Consequence)},
		{"provider", r.Provider}, {"evidence", terminal.Line(r.Evidence)},
	} {
		if p.value != "" {
			fmt.Fprintf(&b, "[[PROPERTY|%s=%s]]\n", p.name, p.value)
		}
	}
	return b.String()
}

func firstMessage(res Result) string {
	if len(res.Findings) > 0 && res.Verdict != KnownFail {
		return res.Findings[0].Message
	}
	return res.Reason
}

func findingTexts(res Result) string {
	var b strings.Builder
	for _, f := range res.Findings {
		b.WriteString(terminal.Line(issue{check: f.Check, finding: &f}.titleLine(" ")) + "\n")
		if f.Cause != "" {
			f.Compare, f.Fix, f.Places = nil, "", nil // its cause has them
		}
		for _, d := range (issue{finding: &f}).detailLines() {
			b.WriteString("  " + terminal.Line(d.String()) + "\n")
		}
		if f.Cause != "" {
			b.WriteString("  follows from: " + f.Cause + "\n")
		}
	}
	return b.String()
}

func secondsText(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

// WriteJSON writes a report, or anything else of this package, as indented JSON
// that ends with a newline.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// marshalPlain is json.Marshal without the escapes for HTML.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
