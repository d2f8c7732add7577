package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// junitElements are the elements of JUnit XML as Jenkins' junit-10.xsd has them, as far as
// we write them: their attributes, of which those before a bar must be there, and their
// children. Text stands in those without children only.
var junitElements = map[string]struct{ attributes, children string }{
	"":           {"|", "testsuites"},
	"testsuites": {"|name time tests failures errors", "testsuite"},
	"testsuite": {"name tests failures errors|skipped time timestamp hostname id package file log url group",
		"testcase system-out system-err properties testsuite"},
	"testcase":   {"name|time classname group", "skipped error failure system-out system-err"},
	"failure":    {"|type message", ""},
	"error":      {"|type message", ""},
	"skipped":    {"|type message", ""},
	"system-out": {"|", ""},
}

// checkJUnit says where a document is not JUnit XML, and how many elements it has by name.
func checkJUnit(t *testing.T, document []byte) map[string]int {
	t.Helper()
	count, stack := map[string]int{}, []string{""}
	for dec := xml.NewDecoder(bytes.NewReader(document)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		parent := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if !slices.Contains(strings.Fields(junitElements[parent].children), name) {
				t.Fatalf("<%s> must not stand in <%s>", name, parent)
			}
			checkJUnitAttributes(t, token)
			count[name]++
			stack = append(stack, name)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if junitElements[parent].children != "" && len(bytes.TrimSpace(token)) > 0 {
				t.Fatalf("<%s> holds text %q", parent, token)
			}
			if bytes.ContainsRune(token, '\ufffd') {
				t.Errorf("<%s> holds a character that XML cannot: %q", parent, token)
			}
		}
	}
}

func checkJUnitAttributes(t *testing.T, element xml.StartElement) {
	t.Helper()
	required, optional, _ := strings.Cut(junitElements[element.Name.Local].attributes, "|")
	missing := strings.Fields(required)
	for _, a := range element.Attr {
		if !slices.Contains(strings.Fields(required+" "+optional), a.Name.Local) {
			t.Errorf("<%s> must not have the attribute %s", element.Name.Local, a.Name.Local)
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == a.Name.Local })
		if strings.Contains(a.Value, "\ufffd") {
			t.Errorf("%s holds a character that XML cannot: %q", a.Name.Local, a.Value)
		}
	}
	if len(missing) > 0 {
		t.Errorf("<%s> has no attribute %s", element.Name.Local, missing)
	}
}

// JUnit is as its schema says, whatever an agent wrote, and its counts are those of its cases.
func TestJUnit(t *testing.T) {
	checked := NewChecked(Tool{}, Policy{},
		append(judged(recording("b", 2), recording("a", 3)), Unreadable(hostile, errors.New(hostile))))
	for name, write := range map[string]func(io.Writer) error{"run": hostileRun(2).WriteJUnit,
		"check": func(w io.Writer) error { return writeAll(w, checked) }, "sample": sample().WriteJUnit} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			count := checkJUnit(t, b.Bytes())
			var doc junitSuites
			if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			var sum junitSuite
			for _, s := range doc.Suites {
				sum.Tests, sum.Failures, sum.Errors, sum.Skipped = sum.Tests+s.Tests, sum.Failures+s.Failures,
					sum.Errors+s.Errors, sum.Skipped+s.Skipped
			}
			if sum.Tests != count["testcase"] || sum.Failures != count["failure"] || sum.Errors != count["error"] ||
				sum.Skipped != count["skipped"] || sum.Failures == 0 {
				t.Errorf("says %d %d %d %d, holds %v", sum.Tests, sum.Failures, sum.Errors, sum.Skipped, count)
			}
			if name != "check" && (doc.Tests != sum.Tests || doc.Failures != sum.Failures || doc.Errors != sum.Errors) {
				t.Errorf("says %d %d %d of all", doc.Tests, doc.Failures, doc.Errors)
			}
		})
	}
}

// A service that reads the JUnit report alone is red when the exit code is.
func TestJUnitIsRedWhereTheRunIs(t *testing.T) {
	unplayed := Run{Cases: []CaseSummary{{Name: "a/openai", Verdict: NotApplicable, Reason: "the agent sent nothing"}}}
	for name, c := range map[string]struct {
		write func(io.Writer) error
		exit  int
		want  string
	}{
		"no case was run": {NewRun(unplayed, nil).WriteJUnit, ExitIncomplete, `message="NOT-TESTABLE no case was run"`},
		"warnings":        {judgedRun(Run{}, Pass, Warn).WriteJUnit, ExitOK, ""},
		"warnings that count": {func(w io.Writer) error {
			r := judgedRun(Run{}, Pass, Warn)
			r.Policy.FailOn, r.Summary.Exit = Warn, ExitFailure
			return r.WriteJUnit(w)
		}, ExitFailure, `message="WARN 1 of 1 requirements seen`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := c.write(&b); err != nil {
				t.Fatal(err)
			}
			count := checkJUnit(t, b.Bytes())
			if (count["failure"] > 0) != (c.exit != ExitOK) || !strings.Contains(b.String(), c.want) {
				t.Errorf("exit %d: %v\n%s", c.exit, count, &b)
			}
		})
	}
}

// writeAll writes a report that keeps its recordings.
func writeAll(w io.Writer, c *Checked) error {
	junit, err := NewJUnitWriter(w)
	for i := 0; i < len(c.Recordings) && err == nil; i++ {
		err = junit.Add(&c.Recordings[i])
	}
	return errors.Join(err, junit.Finish(c))
}
