package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

var (
	runsFull  = flag.Bool("bench.full", false, "apply each kind to 25 recordings of each provider instead of 5")
	otherSeed = flag.Uint64("bench.seed", runSeed, "choose recordings and places by this number")
	tableFile = flag.String("table", "", "write the table of results to this `file`")
	// go run ./internal/ledger sets it.
	ledgerFile = flag.String("ledger", "", "write what is found of each fault to this `file`")
)

// runSeed chooses the recordings and the places in them.
const runSeed = 20261122

// bounds are rates in percent, and a number of alarms.
type bounds struct {
	all, parameters, refusals float64
	alarms                    int
}

// floors are what the referee reaches today on the whole corpus: raise them when
// it finds more. goals are what it has to reach in the end.
var (
	floors = bounds{all: 98, parameters: 97, refusals: 100, alarms: 0}
	goals  = bounds{all: 97, parameters: 90, refusals: 100, alarms: 0}
)

// TestBench runs the bench and holds the referee to the floors. With -v it prints
// the table.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("applies every kind to many recordings")
	}
	perProvider := 5
	if *runsFull {
		perProvider = 25
	}
	list := loadRecordings(t)
	table := Run(rulesOf(t), list, *otherSeed, perProvider)
	var text bytes.Buffer
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if *tableFile != "" {
		if err := os.WriteFile(*tableFile, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if *ledgerFile != "" {
		var lines []string
		for _, row := range table.Rows {
			lines = append(lines, row.Outcomes...)
		}
		if err := os.WriteFile(*ledgerFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("\n%s", text.String())
	reached := bounds{
		all: table.Sum().Rate(), parameters: table.Sum("parameters").Rate(),
		refusals: table.Sum("refusals").Rate(), alarms: table.Sum().Alarms,
	}
	t.Logf("reached %+v of %+v", reached, goals)
	if _, ok := corpus.Find(); !ok {
		t.Skip("without the corpus the floors say nothing")
	}
	if reached.all < floors.all || reached.parameters < floors.parameters || reached.refusals < floors.refusals || reached.alarms > floors.alarms {
		t.Errorf("reached %+v, the floor is %+v", reached, floors)
	}
}

func rulesOf(t *testing.T) []report.Rule {
	t.Helper()
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := report.Rules(catalogue, check.All())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// readAll reads the cassettes and, where it is, the corpus.
var readAll = sync.OnceValues(func() ([]evidence.Recording, error) {
	found := evidence.FindFS(cassettes.FS, "cassettes")
	if dir, ok := corpus.Find(); ok {
		list, err := evidence.Find(filepath.Join(dir, "data"))
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	dir, _ := corpus.Find()
	var out []evidence.Recording
	for _, f := range found {
		if r, err := f.Read(); err == nil {
			// Places are chosen by this name: it does not say where the corpus lies.
			r.Path = strings.TrimPrefix(strings.TrimPrefix(r.Path, dir), "/")
			out = append(out, r)
		}
	}
	return out, nil
})

func loadRecordings(t *testing.T) []evidence.Recording {
	t.Helper()
	all, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
