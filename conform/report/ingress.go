package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// baseURLSuffix ends the names of cases in which the agent came in by base URL.
const baseURLSuffix = "@base-url"

// Difference is a check whose verdict on a case depends on the way in: agents behave
// differently when the address is not the provider's own.
type Difference struct {
	Check string `json:"check"`
	// Case is the name of the case without the way in.
	Case    string  `json:"case"`
	MITM    Verdict `json:"mitm"`
	BaseURL Verdict `json:"base_url"`
}

// compareIngress returns where the same case has another verdict by the other way in,
// in order of check and case. What was not testable by one way is not a difference.
func compareIngress(results []Result) []Difference {
	found := map[[2]string]*Difference{}
	for _, r := range results {
		name, byURL := strings.CutSuffix(r.Case, baseURLSuffix)
		key := [2]string{r.Check, name}
		if found[key] == nil {
			found[key] = &Difference{Check: r.Check, Case: name}
		}
		if byURL {
			found[key].BaseURL = r.Verdict
		} else {
			found[key].MITM = r.Verdict
		}
	}
	var list []Difference
	for _, d := range found {
		if d.MITM.IsDecided() && d.BaseURL.IsDecided() && d.MITM != d.BaseURL {
			list = append(list, *d)
		}
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Case, b.Case)) })
	return list
}

// differenceLines say where the ways in disagree.
func (v *view) differenceLines() (lines []string) {
	byCheck := map[string]int{}
	for _, d := range v.differences {
		byCheck[d.Check]++
	}
	for _, check := range slices.Sorted(maps.Keys(byCheck)) {
		first := v.differences[slices.IndexFunc(v.differences, func(d Difference) bool { return d.Check == check })]
		lines = append(lines, fmt.Sprintf("%-14s %s  %s: %s by mitm, %s by base URL, first in %s",
			"differs", check, countOf(byCheck[check], "case"), first.MITM, first.BaseURL, first.Case))
	}
	return lines
}
