package inspector_test

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
)

var update = flag.Bool("update", false, "make the screenshots of the guide again")

// images are the screenshots of docs/guides/report.md, by the view that they show.
var images = map[string]string{
	"report-overview": "#/",
	"report-matrix":   "#/matrix",
	"report-finding": "#/finding/" + url.PathEscape("thinking-tool-loop/anthropic") + "/" +
		url.PathEscape("SIG-001/thinking-text") + "/0",
	"report-case":     "#/case/" + url.PathEscape("resume-tool-loop/anthropic"),
	"report-exchange": "#/case/" + url.PathEscape("resume-tool-loop/anthropic") + "/exchange/3",
}

// faultyAgents are the bugs of the agent on the screenshots, by case.
var faultyAgents = map[string]string{
	"thinking-tool-loop/anthropic": "edit-thinking",
	"parallel-calls/openai":        "drop-result",
	"failing-tool/gemini":          "duplicate-result",
	"exact-arguments/openai":       "reformat-arguments",
}

// demoPage is a run of an agent with a few bugs.
func demoPage(t *testing.T) inspector.Page {
	t.Helper()
	mutants := map[string]mutate.Mutant{}
	for _, m := range mutate.All() {
		mutants[m.ID] = m
	}
	builder := inspector.NewBuilder(inspector.Options{})
	run := report.Run{
		Tool:    report.Tool{Name: "conform", Version: "v0.10.0"},
		Subject: report.Subject{Name: "my-agent", Version: "1.4.2", Kind: "command", Control: "L2"},
		Source:  []string{"simulator"}, Ingress: []string{"mitm"},
		Started: time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC), DurationMS: 41300,
		Calls: &report.Calls{}, Set: report.Set{Name: "current"},
	}
	var results []report.Result
	rules := allRules(t)
	for _, rec := range readRecordings(t) {
		parts := strings.Split(strings.TrimSuffix(rec.Path, ".yaml"), "/")
		if len(parts) != 4 {
			continue // the example
		}
		name := parts[3] + "/" + parts[1]
		if m, isFaulty := mutants[faultyAgents[name]]; isFaulty {
			changed, ok := m.Apply(rec.Evidence)
			if !ok {
				t.Fatalf("%s: %s changes nothing", name, m.ID)
			}
			rec.Evidence = changed
		}
		rec.Evidence.Case = name
		judged := report.JudgeRecording(rules, rec)
		*run.Calls = run.Calls.Add(judged.Calls)
		found := judged.Results()
		for i := range found {
			found[i].Case, found[i].Provider = name, parts[1]
		}
		results = append(results, found...)
		builder.Add(inspector.Observation{
			Name: name, Scenario: parts[3], Provider: parts[1], Source: "simulator", Ingress: "mitm",
			Took:     1400 * time.Millisecond,
			Evidence: &rec.Evidence, Results: found,
		})
	}
	seen := map[string]bool{}
	for _, r := range results {
		seen[r.Requirement] = true
	}
	for id := range seen {
		run.Set.Requirements = append(run.Set.Requirements, id)
	}
	ran := report.NewRun(run, results)
	builder.Judge(ran.Results, nil)
	return builder.Page(inspector.RunHead(ran))
}

// TestScreenshots makes the images of the guide with -update; else it looks whether they
// are there and small.
func TestScreenshots(t *testing.T) {
	const folder, largest = "../../docs/images", 150 << 10
	if *update {
		b := openTab(t, savePage(t, demoPage(t)), 1200, 760)
		eval[string](b, `document.documentElement.dataset.theme = "light"`)
		for name, hash := range images {
			b.visit(hash)
			b.waitFor(`document.fonts.ready && !document.querySelector("#main").innerText.includes("Unpacking")`)
			ready := eval[bool](b,
				`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))`)
			if !ready {
				t.Fatal("the page is not drawn")
			}
			png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b.expectQuiet("file:")
	}
	for name := range images {
		info, err := os.Stat(filepath.Join(folder, name+".png"))
		if err != nil {
			t.Errorf("%v; make it with -update", err)
			continue
		}
		if info.Size() > largest {
			t.Errorf("%s.png has %d bytes; at most %d", name, info.Size(), largest)
		}
	}
}
