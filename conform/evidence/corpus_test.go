package evidence

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

// TestCorpus holds that every case is read, every exchange has the provider the
// case says, and nothing is lost between the files and the evidence.
func TestCorpus(t *testing.T) {
	dir := corpus.Dir(t)
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	exchanges := 0
	for _, rec := range all {
		var meta struct {
			Provider     string `json:"provider"`
			Interactions int    `json:"n_interactions"`
		}
		data, err := os.ReadFile(filepath.Join(rec.Path, "meta.json"))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			t.Fatal(rec.Path, err)
		}
		if len(rec.Skipped) > 0 || len(rec.Evidence.Exchanges) != meta.Interactions {
			t.Errorf("%s: %d of %d exchanges, skipped %+v", rec.Path, len(rec.Evidence.Exchanges), meta.Interactions,
				rec.Skipped)
		}
		for _, ex := range rec.Evidence.Exchanges {
			exchanges++
			if ex.Provider != meta.Provider {
				t.Errorf("%s: exchange %d is %s, not %s", rec.Path, ex.Index, ex.Provider, meta.Provider)
			}
			if len(ex.Response.Body) == 0 {
				t.Errorf("%s: exchange %d lost its response", rec.Path, ex.Index)
			}
		}
	}
	if len(all) < 2000 || exchanges < 3000 {
		t.Errorf("only %d recordings with %d exchanges", len(all), exchanges)
	}
	t.Logf("%d recordings, %d exchanges", len(all), exchanges)
}
