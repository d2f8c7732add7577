package mutate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
)

var ledgerFile = flag.String("ledger", "", "write what is found of each mutant to this `file`, and run nothing else")

// TestLedger writes which checks notice each mutant of each sample, and of some of the
// recorded traffic. go run ./internal/ledger compares the lines before and after a change.
func TestLedger(t *testing.T) {
	if *ledgerFile == "" {
		t.Skip("no -ledger")
	}
	good, rules := samples(t), rules(t)
	if dir, found := corpus.Find(); found {
		recordings, err := evidence.Load(filepath.Join(dir, "data"))
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range recordings {
			if len(rec.Evidence.Exchanges) > 1 && i%10 == 0 || i%80 == 0 {
				rec.Evidence.Case = filepath.Base(rec.Path)
				good = append(good, rec.Evidence)
			}
		}
	}
	var lines []string
	judge := func(input string, ev *evidence.Evidence) {
		observed, checks := 0, 0
		for _, res := range report.Judge(rules, ev) {
			for _, f := range res.Findings {
				lines = append(lines, fmt.Sprintf("%s\tfinding %s exchange %d %s: %s, rule %q", input, f.Check,
					f.Exchange, f.Path, f.Verdict, f.Rule))
			}
			if res.Observed > 0 {
				observed, checks = observed+res.Observed, checks+1
			}
		}
		lines = append(lines, fmt.Sprintf("%s\tobserved %d places by %d checks", input, observed, checks))
	}
	for _, ev := range good {
		judge("unaltered "+ev.Case, &ev)
		for _, m := range slices.Concat(All(), wrongSubjects()) {
			if bad, ok := m.Apply(ev); ok {
				for i := range bad.Exchanges { // no provider accepted what the mutant made
					bad.Exchanges[i].Provenance = evidence.ProvenanceSynthetic
				}
				judge(m.ID+" "+ev.Case, &bad)
			}
		}
	}
	if err := os.WriteFile(*ledgerFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}
