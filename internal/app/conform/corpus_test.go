package conform

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/schemas"
)

// TestCheckCorpus judges all recorded traffic by the command line: every case is
// in the report, the report follows its schema, and no check breaks. Which
// findings are true is held in conform/check.
func TestCheckCorpus(t *testing.T) {
	dir, cases := corpus.Dir(t), corpus.Files(t, "*/*/meta.json")
	var out, errs bytes.Buffer
	began := time.Now()
	exit := Run(t.Context(), []string{"check", "--json", dir}, nil, &out, &errs, nil)
	t.Logf("%d cases in %v, exit %d", len(cases), time.Since(began), exit)
	if errs.Len() > 0 {
		t.Error(errs.String())
	}
	if err := schemas.Validate(schemas.Check, out.Bytes()); err != nil {
		t.Error(err)
	}
	var checked report.Checked
	if err := json.Unmarshal(out.Bytes(), &checked); err != nil {
		t.Fatal(err)
	}
	if len(checked.Recordings) != len(cases) || exit != checked.Summary.Exit {
		t.Errorf("%d recordings of %d cases, exit %d and %d", len(checked.Recordings), len(cases), exit,
			checked.Summary.Exit)
	}
	for _, r := range checked.Recordings {
		if r.Verdict == report.HarnessError || r.Exchanges == 0 {
			t.Errorf("%s: %s, %d exchanges: %s", r.Path, r.Verdict, r.Exchanges, r.Reason)
		}
	}
}
