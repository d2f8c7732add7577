package specs

import "testing"

// TestDuties holds that the files of duties can be read.
func TestDuties(t *testing.T) {
	all, err := Duties()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 110 {
		t.Errorf("only %d duties", len(all))
	}
	if d := FindDuty("GW-14"); d == nil || d.Level != Agent ||
		SourceURL(d.Sources[1]) != "https://github.com/BerriAI/litellm/issues/39037" {
		t.Errorf("GW-14 is %+v", d)
	}
}
