package specs

import (
	"strings"
	"testing"
)

// TestDuties holds that the files of duties can be read.
func TestDuties(t *testing.T) {
	all, err := Duties()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 110 {
		t.Errorf("only %d duties", len(all))
	}
	for _, d := range all {
		if strings.TrimSuffix(d.Fix, ".") == d.Demand || !strings.HasSuffix(d.Fix, ".") {
			t.Errorf("%s: the fix %q must be a sentence that says more than the demand", d.ID, d.Fix)
		}
	}
	if d := FindDuty("GW-14"); d == nil || d.Level != Agent ||
		SourceURL(d.Sources[1]) != "https://github.com/BerriAI/litellm/issues/39037" {
		t.Errorf("GW-14 is %+v", d)
	}
}
