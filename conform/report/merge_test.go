package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/schemas"
)

// shardsOf are the reports of a run in n parts, each as it is read from its file.
func shardsOf(tb testing.TB, n int) (parts []Part) {
	tb.Helper()
	for i := range n {
		name := fmt.Sprintf("s%d.json", i+1)
		r := journalOf(tb, 20, Shard{i + 1, n}).Run([]Excuse{excuse("SIG-001/**/case-3/openai").Excuse})
		read, err := ReadRun(name, []byte(reportText(tb, r)))
		if err != nil {
			tb.Fatal(err)
		}
		parts = append(parts, Part{name, read})
	}
	return parts
}

var duration = regexp.MustCompile(`"duration_ms": \d+`)

// The shards of a run, in any order and number, give the run, byte for byte except for times.
func TestShardsMergedEqualTheRun(t *testing.T) {
	whole := journalOf(t, 20, Shard{}).Run([]Excuse{excuse("SIG-001/**/case-3/openai").Excuse})
	if whole.Summary.Verdict != NotTestable || whole.Summary.Counts[KnownFail] != 1 {
		t.Fatalf("%+v", whole.Summary) // SIG-002 is expected and unseen
	}
	want := duration.ReplaceAllString(reportText(t, whole), "")
	for _, n := range []int{1, 2, 3, 50} {
		parts := shardsOf(t, n)
		parts = append(parts[n/2:], parts[:n/2]...)
		merged, err := GroupRuns(parts)
		if err != nil || len(merged) != 1 {
			t.Fatalf("%d shards: %v", n, err)
		}
		if got := duration.ReplaceAllString(reportText(t, merged[0].Run), ""); got != want {
			t.Errorf("%d shards differ from the run\n%s\n%s", n, got, want)
		}
	}
}

// A shard without a case is not a failure.
func TestEmptyShard(t *testing.T) {
	for i := range 50 {
		r := journalOf(t, 20, Shard{i + 1, 50}).Run(nil)
		if len(r.Cases) > 0 {
			continue
		}
		var out bytes.Buffer
		NewTerminal(&out, false).Run(r)
		if r.Summary.Exit != ExitOK || r.Summary.Verdict != NotApplicable ||
			!strings.Contains(out.String(), "holds no case, which is not a failure") {
			t.Errorf("%+v\n%s", r.Summary, &out)
		}
		return
	}
	t.Error("each of 50 shards holds one of 20 cases")
}

func TestShardsThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func([]Part) []Part{
		"1 shard of agent 1 missing: 2/3": func(p []Part) []Part { return []Part{p[0], p[2]} },
		"are both shard 1/3":              func(p []Part) []Part { p[1].Run = p[0].Run; return p },
		"another subject":                 func(p []Part) []Part { p[1].Subject.Version = "2"; return p },
		"another set digest":              func(p []Part) []Part { p[1].Set = NewSet("current", []string{"ORD-001"}); return p },
		"another seed":                    func(p []Part) []Part { p[2].Seed = "t"; return p },
		"another source":                  func(p []Part) []Part { p[2].Source = []string{"cassette"}; return p },
		"another ingress":                 func(p []Part) []Part { p[2].Ingress = []string{"base-url"}; return p },
		"another policy":                  func(p []Part) []Part { p[2].Policy.Strict = true; return p },
		"another baseline":                func(p []Part) []Part { p[2].Baseline = nil; return p },
		"another version of conform":      func(p []Part) []Part { p[0].Tool.Version = "v9"; return p },
		"another number of shards":        func(p []Part) []Part { p[1].Shard.Of = 4; return p },
		"both hold the case":              func(p []Part) []Part { p[1].Cases = append(p[1].Cases, p[0].Cases[0]); return p },
		"twice; it was changed":           func(p []Part) []Part { p[1].Results = append(p[1].Results, p[1].Results[0]); return p },
		"was ended before its last case":  func(p []Part) []Part { p[1].Interrupted = true; return p },
	} {
		_, err := GroupRuns(change(shardsOf(t, 3)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ".json") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestReadRunRefuses(t *testing.T) {
	text := reportText(t, journalOf(t, 3, Shard{}).Run(nil))
	for want, data := range map[string]string{
		"is neither a JSON report":            "garbage",
		`is "", this conform reads`:           `{"schema":""}`,
		`is "conform.report.v1", this`:        strings.Replace(text, "conform.report.v2", "conform.report.v1", 1),
		`is "conform.check.v2", this`:         `{"schema":"conform.check.v2"}`,
		"is not a whole report":               strings.Replace(text, `"ingress"`, `"ingres"`, 1),
		"is neither a JSON report of conform": text[:len(text)/2],
		"f:1: is not a line of a journal":     `{"journal":"x"}` + "\n",
		"f: holds no whole line of a journal": `{"journal":"x"}`,
	} {
		if _, err := ReadRun("f", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func FuzzReadRun(f *testing.F) {
	f.Add([]byte(reportText(f, journalOf(f, 2, Shard{1, 2}).Run(nil))))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r, err := ReadRun("f", data)
		if err != nil {
			return
		}
		_, _ = GroupRuns([]Part{{"f", r}, {"g", r}})
		r.Settled()
		r.withBaseline([]Excuse{excuse("**").Excuse})
	})
}

// Several agents stand side by side, each with what it shows.
func TestMatrix(t *testing.T) {
	first := journalOf(t, 6, Shard{}).Run(nil)
	other := journalOf(t, 2, Shard{})
	other.Header.Subject.Name = "b|ad\x1b[31m"
	other.Header.Expected = nil
	runs, err := GroupRuns([]Part{{"b.json", other.Run(nil)}, {"a.json", first}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMatrix(runs)
	if err != nil || m.Exit != ExitFailure || m.Columns[0].Name != "agent 1 simulator mitm" {
		t.Fatalf("%+v %v", m, err)
	}
	var text, markdown bytes.Buffer
	if err := m.WriteText(&text, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SIG-001      fail          pass", "ORD-001      ·             ·",
		"SIG-002      not testable  ·"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if err := m.WriteMarkdown(&markdown, false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String()+markdown.String(), "\x1b") ||
		strings.Count(strings.Split(markdown.String(), "\n")[0], "|") != 4 {
		t.Errorf("%q", markdown.String())
	}
	var doc bytes.Buffer
	if err := WriteJSON(&doc, m); err != nil {
		t.Fatal(err)
	}
	if err := schemas.Validate(schemas.Matrix, doc.Bytes()); err != nil {
		t.Error(err)
	}
	if _, err := NewMatrix([]Part{{"a.json", first}, {"c.json", first}}); err == nil ||
		!strings.Contains(err.Error(), "a.json and c.json: are both whole runs of agent 1") {
		t.Error(err)
	}
	frozen := *first
	frozen.Set.Name, frozen.Subject.Name = "2026-12", "frozen"
	if _, err := NewMatrix([]Part{{"a.json", first}, {"c.json", &frozen}}); err == nil ||
		!strings.Contains(err.Error(), "another set") {
		t.Error(err)
	}
}
