package report

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
)

// hostile is text that an agent or a file name may hold.
const hostile = "x\x1b[31m\x00\u202e\xff </code><script>alert(1)</script> @team #1 | `a` [l](http://e.com) ![i](http://e.com)\n::error::y\r\n%0A,:"

// hostileRun has n results whose every text is hostile.
func hostileRun(n int) *Run {
	var results []Result
	for i := range n {
		f := finding("SIG-001", specs.Refused, check.Finding{Check: "SIG-001/x", Exchange: decide.Ordinal(i), Event: -1,
			Offset: -1, Path: hostile, Message: hostile, Fix: hostile})
		results = append(results, Result{Requirement: "SIG-001", Check: "SIG-001/x", Case: hostile, Verdict: Fail,
			Findings: []Finding{f}, Reason: hostile})
	}
	return NewRun(Run{Subject: Subject{Name: hostile, Version: hostile, Kind: "command"}, Filter: hostile,
		Guard: hostile,
		Cases: []CaseSummary{{Name: hostile, Reason: hostile}}, Hosts: []Host{{Name: hostile, Attempts: 1}},
		Isolation: &Isolation{Reason: hostile}}, results)
}

// Text of others stays text in every form.
func TestHostileText(t *testing.T) {
	r := hostileRun(3)
	forms := map[string]string{}
	for name, write := range map[string]func(io.Writer) error{"markdown": r.WriteMarkdown,
		"github": func(w io.Writer) error { return r.WriteAnnotations(w, "") }, "junit": r.WriteJUnit,
		"terminal": func(w io.Writer) error { NewTerminal(w, false).Run(r); return nil }} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		forms[name] = b.String()
		if !utf8.Valid(b.Bytes()) || strings.ContainsAny(b.String(), "\x1b\x00\u202e\r") {
			t.Errorf("%s: holds what steers a terminal:\n%q", name, b.String())
		}
	}
	for _, bad := range []string{"<script", "@team", "](http", "`a`", "</code><s"} {
		if strings.Contains(forms["markdown"], bad) {
			t.Errorf("markdown holds %q\n%s", bad, forms["markdown"])
		}
	}
	for line := range strings.Lines(forms["github"]) {
		if !regexp.MustCompile(`^::(error|warning|notice) title=[^:,]*::`).MatchString(line) ||
			strings.HasPrefix(line, "::error::y") {
			t.Errorf("not a command of ours: %q", line)
		}
	}
}

// A comment of GitHub holds the report of any run.
func TestMarkdownIsBounded(t *testing.T) {
	var b bytes.Buffer
	if err := hostileRun(3000).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 65_536 || !strings.Contains(b.String(), " more; the JSON report has them") ||
		!strings.HasSuffix(b.String(), "</code>\n") ||
		strings.Count(b.String(), "<details>") != strings.Count(b.String(), "</details>") {
		t.Errorf("%d bytes, ends %q", b.Len(), b.String()[b.Len()-300:])
	}
	b.Reset()
	if err := hostileRun(3000).WriteAnnotations(&b, ""); err != nil ||
		bytes.Count(b.Bytes(), []byte("\n")) != maxAnnotations+2 {
		t.Errorf("%d annotations, %v", bytes.Count(b.Bytes(), []byte("\n")), err)
	}
}

// A known failure is one line with its reason, a flake says how often it failed.
func TestKnownAndFlakyAreShown(t *testing.T) {
	known := judgedRun(Run{Baseline: []UsedExcuse{excuse("SIG-001/**/openai")}}, Fail, Pass)
	flaky := NewRun(Run{Repeat: 3}, FoldRepeats([]Result{
		{Requirement: "SIG-001", Check: "SIG-001/x", Case: "a/openai", Verdict: Fail},
		{Requirement: "SIG-001", Check: "SIG-001/x", Case: "a/openai", Verdict: Pass}}))
	for want, r := range map[string]*Run{
		"known-fail     SIG-001/signature-bytes  a/openai\n    known until 2027-01-01: known (https://example.com/1)\n": known,
		"baseline: 1 of 2 results known to fail":                                            known,
		"flaky          SIG-001/x  a/openai\n    differs between 2 runs (1 fail, 1 pass)\n": flaky,
	} {
		var b bytes.Buffer
		NewTerminal(&b, false).Run(r)
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
	if flaky.Summary.Verdict != Flaky || flaky.Summary.Exit != ExitFailure {
		t.Errorf("%+v", flaky.Summary)
	}
}

func TestCutText(t *testing.T) {
	for limit := 3; limit < 12; limit++ {
		if got := cutText("añbñcñdñe", limit); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%d: %q", limit, got)
		}
	}
}

// An annotation stands where the agent failed, as exactly as that is known.
func TestAnnotationsNameTheAgent(t *testing.T) {
	for want, c := range map[string]struct {
		subject Subject
		line    string
	}{
		"::error file=src/loop.mjs,line=42,title=": {Subject{File: "agent.mjs"}, "src/loop.mjs:42"},
		"::error file=agent.mjs,line=1,title=":     {Subject{File: "agent.mjs"}, ""},
		"::error file=ci.yml,line=1,title=":        {Subject{}, ""},
	} {
		r := judgedRun(Run{Subject: c.subject}, Fail, Pass)
		r.Cases = []CaseSummary{{Name: r.Results[0].Case, Line: c.line}}
		var b bytes.Buffer
		if err := r.WriteAnnotations(&b, "ci.yml"); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%v\n%s", err, &b)
		}
	}
}

// A pull request shows the findings first: they are open, and what was not run is folded.
func TestMarkdownBeginsWithFindings(t *testing.T) {
	r := sample()
	r.Cases = []CaseSummary{{Name: "a/openai", Reason: "the agent has no tools"}}
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(b.String(), "SIG&#45;001")
	if !found {
		before, after, found = strings.Cut(b.String(), "SIG-001")
	}
	_, folded, _ := strings.Cut(after, "<details><summary>not run")
	if !found || strings.Count(before, "\n") > 20 || strings.Contains(before, "<details>") ||
		!strings.Contains(folded, "the agent has no tools") {
		t.Error(b.String())
	}
}
