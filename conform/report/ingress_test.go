package report

import (
	"slices"
	"strings"
	"testing"
)

func TestCompareIngress(t *testing.T) {
	result := func(name string, v Verdict) Result { return Result{Check: "ORD-001/answered", Case: name, Verdict: v} }
	got := compareIngress([]Result{
		result("a/openai@simulator", Pass), result("a/openai@simulator@base-url", Fail),
		result("b/openai@simulator", Pass), result("b/openai@simulator@base-url", Pass),
		result("c/openai@simulator", NotTestable), result("c/openai@simulator@base-url", Fail),
		result("d/openai@simulator", Pass),
	})
	want := []Difference{{Check: "ORD-001/answered", Case: "a/openai@simulator", MITM: Pass, BaseURL: Fail}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if lines := (&view{differences: got}).differenceLines(); len(lines) != 1 ||
		!strings.Contains(lines[0], "1 case: pass by mitm, fail by base URL") {
		t.Error(lines)
	}
}
