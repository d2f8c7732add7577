package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
)

// accepted are findings of area PAR on requests that the provider itself accepted. Each
// is explained; without an explanation it is a false alarm.
var accepted = map[string]string{}

// TestCorpusParameters: what a provider's own host accepted breaks no parameter rule.
func TestCorpusParameters(t *testing.T) {
	_, recordings := readCorpus(t)
	for _, rec := range recordings {
		tr := check.Decode(&rec.Evidence)
		status := map[int]int{}
		for _, x := range rec.Evidence.Exchanges {
			status[x.Index] = x.Response.Status
		}
		for _, c := range check.All() {
			if !strings.HasPrefix(c.ID, "PAR-") {
				continue
			}
			for _, f := range c.Run(tr).Findings {
				key := c.ID + " " + filepath.Base(rec.Path)
				if status[int(f.Exchange)] < 300 && accepted[key] == "" {
					t.Errorf("%s: %s: %s", key, f.Path, f.Message)
				}
			}
		}
	}
}
