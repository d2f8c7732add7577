package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/meerkat-go/conformance/specs"
)

// tallies sum up the results of each requirement. Their size does not depend on the number of
// results.
type tallies map[string]*tally

// tally is what the results of one requirement come to.
type tally struct {
	ofSource bool
	// isShown is set by a result that saw a place and could tell; isSeen counts for the coverage.
	isShown, isSeen bool
	// worst is the worst verdict of the results that could tell something, "" without any.
	worst    Verdict
	observed int
	// silent counts the results that are not testable, observedSilently what these saw.
	silent, observedSilently int
}

func (ts tallies) add(res *Result) {
	t := ts[res.Requirement]
	if t == nil {
		t = &tally{}
		ts[res.Requirement] = t
	}
	t.ofSource = res.OfSource
	if res.Verdict == NotTestable {
		t.silent++
		t.observedSilently += res.Observed
		return
	}
	t.observed += res.Observed
	t.isShown = t.isShown || res.Observed > 0
	t.isSeen = t.isSeen || res.Verdict != NotApplicable && (res.Observed > 0 || len(res.Findings) > 0)
	if t.worst == "" {
		t.worst = res.Verdict
	}
	t.worst = Worst(t.worst, res.Verdict)
}

// verdict is the worst of what the results tell: what one case shows holds, although another
// shows nothing.
func (t *tally) verdict() Verdict { return cmp.Or(t.worst, NotTestable) }

// areas makes one row an area, in the catalogue's order.
func (ts tallies) areas() []Area {
	rows := map[string]*Area{}
	for id, t := range ts {
		area := Result{Requirement: id}.Area()
		row := rows[area]
		if row == nil {
			row = &Area{Area: area, Counts: Counts{}}
			rows[area] = row
		}
		row.Observed += t.observed + t.observedSilently
		row.Counts[t.verdict()]++
	}
	list := []Area{}
	for _, row := range rows {
		row.Verdict = Worst(slices.Collect(maps.Keys(row.Counts))...)
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b Area) int {
		return cmp.Or(areaRank(a.Area)-areaRank(b.Area), cmp.Compare(a.Area, b.Area))
	})
	return list
}

// areaRank is the place of an area in the catalogue. The duties of servers stand behind all.
func areaRank(area string) int {
	if i := slices.Index(specs.Areas, area); i >= 0 {
		return i
	}
	return len(specs.Areas)
}

// coverage counts the requirements of set that results show, without those that speak of the
// source. Of an empty set, because no selected case was written for what is asked, it counts
// what the cases show all the same.
func (ts tallies) coverage(set, required []string) Coverage {
	isSeen := func(id string) bool { return ts[id] != nil && ts[id].isSeen }
	if len(set) == 0 {
		set = slices.DeleteFunc(slices.Collect(maps.Keys(ts)), func(id string) bool { return !isSeen(id) })
	}
	c := Coverage{Unseen: []string{}}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(set))) {
		switch {
		case ts[id] != nil && ts[id].ofSource:
			continue
		case isSeen(id):
			c.Seen++
		default:
			c.Unseen = append(c.Unseen, id)
		}
		c.Total++
	}
	for _, id := range required {
		if !isSeen(id) {
			c.Missing = append(c.Missing, id)
		}
	}
	return c
}
