package report

import (
	"cmp"
	"slices"

	"github.com/meerkat-go/conformance/specs"
)

// areaRows folds results into one row an area, in the catalogue's order.
func areaRows(results []Result) []Area {
	rows := map[string]*Area{}
	verdicts := map[string]Verdict{} // requirement → worst so far of what was seen
	for _, res := range results {
		row := rows[res.Area()]
		if row == nil {
			row = &Area{Area: res.Area(), Counts: Counts{}}
			rows[res.Area()] = row
		}
		row.Observed += res.Observed
		switch v, ok := verdicts[res.Requirement]; {
		case !ok || v == NotTestable:
			verdicts[res.Requirement] = res.Verdict
		case res.Verdict != NotTestable: // what one case shows holds, although another shows nothing
			verdicts[res.Requirement] = Worst(v, res.Verdict)
		}
	}
	for id, v := range verdicts {
		row := rows[Result{Requirement: id}.Area()]
		row.Counts[v]++
	}
	list := []Area{}
	for _, row := range rows {
		var vs []Verdict
		for v := range row.Counts {
			vs = append(vs, v)
		}
		row.Verdict = Worst(vs...)
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b Area) int {
		return cmp.Or(slices.Index(specs.Areas, a.Area)-slices.Index(specs.Areas, b.Area), cmp.Compare(a.Area, b.Area))
	})
	return list
}
