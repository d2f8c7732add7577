package check_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/mutate"
)

// TestDistorted: each check finds nothing in the sample and explains what the mutant did to
// it: where, by which rule, and how to mend it. A row of the table names the check, the sample, the mutant,
// and the exchange, path and rule of the first finding.
func TestDistorted(t *testing.T) {
	tried := map[string]bool{}
	for _, d := range readTable(t, "distorted") {
		id, mutant, place := d.fields[0], d.fields[2], d.fields[3:]
		t.Run(id+" "+mutant, func(t *testing.T) {
			tried[id] = true
			c, ev := find(t, id), samples(t)[d.fields[1]]
			if res := c.Run(check.Decode(&ev)); len(res.Findings) > 0 || res.Observed == 0 {
				t.Fatalf("before it is distorted: %+v", res)
			}
			i := slices.IndexFunc(mutate.All(), func(m mutate.Mutant) bool { return m.ID == mutant })
			if i < 0 {
				t.Fatal("no such mutant")
			}
			bad, ok := mutate.All()[i].Apply(ev)
			if !ok {
				t.Fatal("the mutant finds nothing to distort")
			}
			res := c.Run(check.Decode(&bad))
			if len(res.Findings) == 0 {
				t.Fatal("nothing found")
			}
			f := res.Findings[0]
			if at := []string{strconv.Itoa(int(f.Exchange)), f.Path, f.Rule}; !slices.Equal(at, place) ||
				!strings.Contains(f.Message, d.text) {
				t.Errorf("%q %s,\nwant %q %s", at, f.Message, place, d.text)
			}
			if f.Fix == "" {
				t.Error("does not say how to mend it")
			}
		})
	}
	for _, c := range check.All() {
		if area := c.ID[:3]; slices.Contains([]string{"MED", "CMP", "NSP", "SRV", "BET", "REC"}, area) &&
			!tried[c.ID] && !isJudgedByWire(c.ID) {
			t.Errorf("%s: no breach in the table", c.ID)
		}
	}
}
