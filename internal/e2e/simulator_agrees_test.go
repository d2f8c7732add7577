package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
)

// disagreements are the findings by which a provider refuses a request that our strict
// simulator answered with 200, and why both stand.
var disagreements = []struct{ check, rule, reason string }{
	{"ORD-010/sent-once", "",
		"thinking that is sent back twice: only ids are known to be refused then, so that it is a warning since the published runs"},
	{"ORD-010/sent-once", "O-9", "an item that is sent back twice without its id: a warning since the published runs"},
	{"RES-006/once", "", "the same as ORD-010, where a process resumed: a warning since the published runs"},
	{"SIG-001/signature-bytes", "A-34",
		"a block of another attempt in the place of the one that was answered: the simulator verifies a block by itself"},
	{"SIG-001/signature-bytes", "A-37",
		"a block of another attempt among those of the last turn: what the turn held, the simulator does not know"},
	{"SIG-007/final-blob", "O-15",
		"encrypted reasoning of another attempt, without its id: the simulator verifies a blob by itself"},
	{"SIG-016/same-part", "",
		"a signature on a call under another name: the simulator does not bind a signature to a name"},
}

// holdDisagreements fails for a finding that disagrees with our simulator and stands in no row, and
// notes which rows were seen.
func holdDisagreements(t *testing.T, where string, f report.Finding, seen map[int]bool) {
	t.Helper()
	row := slices.IndexFunc(disagreements,
		func(d struct{ check, rule, reason string }) bool { return d.check == f.Check && d.rule == f.Rule })
	if row < 0 {
		t.Errorf("%s: %s (rule %q) says that this is refused, and our simulator answered 200: %s", where, f.Check,
			f.Rule, f.Message)
		return
	}
	seen[row] = true
}

// TestSimulatorAgrees holds that the referee and our strict simulator agree on what a provider
// refuses, in a run of rkat and in the published runs of all agents.
func TestSimulatorAgrees(t *testing.T) {
	seen := map[int]bool{}
	pages, err := filepath.Glob("../../docs/scoreboard/agents/*.html")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	requests := 0
	for _, path := range pages {
		for _, c := range readPage(t, path).Cases {
			simulated := map[int]bool{}
			for _, x := range c.Exchanges {
				simulated[x.Index] = x.Provenance == evidence.ProvenanceSimulator && x.Status == 200
				requests++
			}
			for _, res := range c.Results {
				for _, f := range res.Findings {
					if f.Consequence == specs.Refused && simulated[int(f.Exchange)] {
						holdDisagreements(t, filepath.Base(path)+" "+c.Name, f, seen)
					}
				}
			}
		}
	}
	if requests < 100 {
		t.Errorf("the pages show %d requests", requests)
	}
	for i, d := range disagreements {
		if !seen[i] {
			t.Errorf("%s, rule %q: no run shows this any more; remove the row", d.check, d.rule)
		}
	}
	part := []string{"--seed=1"}
	if chosen := corpus.Sample(t, 8); !corpus.Whole() {
		shard := 1
		for shard < 8 && !chosen() {
			shard++
		}
		part = append(part, fmt.Sprintf("--shard=%d/8", shard))
	}
	judge(t, t.TempDir(), part...)
}

// publishedPage is what the page of a report holds of its cases.
type publishedPage struct {
	Cases []struct {
		Name      string          `json:"name"`
		Results   []report.Result `json:"results"`
		Exchanges []struct {
			Index      int                 `json:"index"`
			Status     int                 `json:"status"`
			Provenance evidence.Provenance `json:"provenance"`
		} `json:"exchanges"`
	} `json:"cases"`
}

func readPage(t *testing.T, path string) (page publishedPage) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(`<script type="application/gzip" id="data">`))
	packed, _, ok := bytes.Cut(rest, []byte("</script>"))
	data, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(packed)))
	if err != nil || !ok {
		t.Fatalf("%s: holds no data that can be read: %v", path, err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := json.NewDecoder(plain).Decode(&page); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return page
}

// holdRun is holdDisagreements for a run that was judged now.
func holdRun(t *testing.T, run *report.Run) {
	t.Helper()
	for _, res := range run.Results {
		for _, f := range res.Findings {
			if f.Answer == decide.AnswerSimulated {
				holdDisagreements(t, res.Case, f, map[int]bool{})
			}
		}
	}
}
