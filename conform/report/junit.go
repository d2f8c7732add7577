package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The shapes of JUnit XML that continuous integration systems agree on.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Skipped  int           `xml:"skipped,attr"`
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
		Class      string          `xml:"classname,attr"`
		Name       string          `xml:"name,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Failure    *junitProblem   `xml:"failure,omitempty"`
		Error      *junitProblem   `xml:"error,omitempty"`
		Skipped    *junitProblem   `xml:"skipped,omitempty"`
		SystemOut  string          `xml:"system-out,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes r as JUnit XML: a suite per area, a test case per result,
// with the requirement and its consequence as properties. What was not testable is a
// failure, and so is a requirement that had to be seen and was not: a skip would
// read as green.
func WriteJUnit(w io.Writer, r *Run) error {
	all := junitSuites{Name: "conform", Time: secondsText(r.DurationMS)}
	byArea := map[string]*junitSuite{}
	results := slices.Clone(r.Results)
	for _, id := range r.Summary.Coverage.Missing {
		results = append(results, Result{Requirement: id, Verdict: Fail, Reason: "required, and nothing shows it"})
	}
	for _, res := range results {
		suite := byArea[res.Area()]
		if suite == nil {
			suite = &junitSuite{Name: res.Area()}
			byArea[res.Area()] = suite
			all.Suites = append(all.Suites, suite)
		}
		suite.addCase(res)
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
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

func (s *junitSuite) addCase(res Result) {
	c := junitCase{
		Class: "conform." + res.Area(), Name: strings.TrimSpace(cmp.Or(res.Check, res.Requirement) + " " + res.Case), Time: secondsText(res.DurationMS),
		Properties: res.junitProperties(),
	}
	problem := &junitProblem{Type: string(res.Verdict), Message: firstMessage(res), Text: findingTexts(res)}
	s.Tests++
	switch res.Verdict {
	case Pass:
	case Warn, Contradicted:
		c.SystemOut = problem.Text
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

func (r Result) junitProperties() []junitProperty {
	list := []junitProperty{{"requirement", r.Requirement}, {"consequence", string(r.Consequence)}, {"verdict", string(r.Verdict)}}
	for _, p := range []junitProperty{{"provider", r.Provider}, {"evidence", r.Evidence}} {
		if p.Value != "" {
			list = append(list, p)
		}
	}
	return list
}

func firstMessage(res Result) string {
	if len(res.Findings) > 0 {
		return res.Findings[0].Message
	}
	return res.Reason
}

func findingTexts(res Result) string {
	var b strings.Builder
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "%s: %s\n  at: %s\n", f.Check, f.Message, f.Place())
		if also := f.otherPlaces(); also != "" {
			fmt.Fprintf(&b, "  also at: %s\n", also)
		}
		if f.Fix != "" {
			fmt.Fprintf(&b, "  fix: %s\n", f.Fix)
		}
	}
	return b.String()
}

func secondsText(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
