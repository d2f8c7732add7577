package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
)

// mergePlaces makes one finding of those of a check that have one cause: the same rule and
// sentence with the same verdict. History that is sent again with each request repeats a breach,
// and so does a habit. A request that was refused is a finding apart from those that were not.
func mergePlaces(findings []Finding) []Finding {
	type cause struct {
		verdict           Verdict
		consequence       specs.Consequence
		check, rule, form string
		refused           bool
	}
	merged := []Finding{}
	first := map[cause]int{} // index in merged
	for _, f := range findings {
		key := cause{f.Verdict, f.Consequence, f.Check, f.Rule, cmp.Or(f.Form, f.Message),
			f.Answer == decide.AnswerRefused}
		i, known := first[key]
		if !known {
			first[key] = len(merged)
			merged = append(merged, f)
			continue
		}
		whole := &merged[i]
		if f.Refusal != "" && whole.Refusal == "" {
			whole.Refusal = f.Refusal
			whole.Message += fmt.Sprintf("; exchange %d: %s", f.Exchange, f.Refusal)
		}
		place := f.At()
		if f.Message != whole.Message {
			place.Message = f.Message
		}
		whole.Places = append(whole.Places, place)
		whole.Answer = cmp.Or(whole.Answer, f.Answer)
	}
	return merged
}

// quoteRank is 1 for a requirement whose findings only repeat what the provider said: they stand
// behind those of the rule that was broken.
func quoteRank(requirement string) int {
	if requirement == "ERR-001" || requirement == "ERR-002" {
		return 1
	}
	return 0
}

// explainRefusals says of refusals whose words name no rule which other check found why.
func explainRefusals(results []Result) {
	causes := map[decide.Ordinal]string{} // checks, by exchange
	for _, res := range results {
		for _, f := range res.Findings {
			if f.Answer == decide.AnswerRefused && quoteRank(res.Requirement) == 0 {
				for _, at := range allPlaces(&f) {
					causes[at.Exchange] = cmp.Or(causes[at.Exchange], f.Check)
				}
			}
		}
	}
	for _, res := range results {
		for i := range res.Findings {
			if f := &res.Findings[i]; res.Requirement == "ERR-001" && f.Rule == "" {
				if cause := causes[f.Exchange]; cause != "" {
					f.Message += "; " + cause + " says why"
				} else {
					f.Message += "; no rule of ours is known for it"
				}
			}
		}
	}
}

// symptoms lists, by check, the checks that its breach trips elsewhere in the same request, or at the same place of
// a later one.
var symptoms = map[string]string{
	"GW-14":                 " GW-14 SV-E1 SV-E2 SV-E3 SV-G10 ",
	"GW-15":                 " SV-E4 SV-H14 ",
	"GW-24":                 " GW-24 SV-A9 ",
	"GW-30":                 " SV-A13 ",
	"ORD-001/answered":      " ORD-003/no-orphan ORD-006/one-content ORD-016/user-ends RES-005/closed RES-001/prefix RES-003/history ",
	"ORD-002/single-result": " ORD-006/one-content ",
	"ORD-005/unique-calls":  " ORD-001/answered ORD-005/unique-items ",
	"ORD-008/block-order":   " ORD-012/result-order SIG-004/leads SIG-009/followed ",
	"ORD-009/calls-kept":    " ORD-003/no-orphan ",
	"ORD-010/sent-once":     " ORD-010/sent-once ORD-005/unique-calls ORD-005/unique-items ",
	"SIG-014/call-signed":   " SIG-017/signed-parts ",
	"SIG-016/same-part":     " SIG-014/call-signed SIG-017/signed-parts ",
	"STR-007/partial-turn":  " SIG-009/followed ORD-014/nothing-empty PAR-003/history ",
}

// leadsTo reports whether a breach of one check trips another one.
func leadsTo(cause, check string) bool { return strings.Contains(symptoms[cause], " "+check+" ") }

// generalityOf ranks checks: the lower one says why, at a place where both found something. A
// redactor explains what it changed. Schemas, lists of members and comparisons with earlier
// requests notice what others name.
func generalityOf(f *Finding) int {
	area, _, _ := strings.Cut(f.Check, "-")
	switch {
	case f.Requirement == "ERR-001":
		return 3
	case area == "RES", f.Check == "HYG-001/schema", f.Check == "PAR-006/known", f.Check == "MOD-004/answers":
		return 2
	case area == "RED":
		return 0
	}
	return 1
}

// causes sets the Cause of the findings of one case that only follow from another one. A finding
// follows where each of its places is explained: the cause stands there, or in the same request and
// is known to lead to it, or stood there in an earlier request, whose history is sent again. It is never worse than
// its cause, so that no failure hides behind a warning.
func causes(findings []*Finding) {
	order, root := make([]int, len(findings)), make([]int, len(findings))
	ids, paths := make([]string, len(findings)), make([]map[decide.Ordinal][]string, len(findings))
	count := map[string]int{}
	for i, f := range findings {
		order[i], root[i], f.Cause = i, i, ""
		ids[i] = fmt.Sprintf("%s#%d", f.Check, count[f.Check])
		count[f.Check]++
		paths[i] = map[decide.Ordinal][]string{}
		for _, at := range allPlaces(f) {
			paths[i][at.Exchange] = append(paths[i][at.Exchange], at.Path)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		f, g := findings[a], findings[b]
		return cmp.Or(generalityOf(f)-generalityOf(g), g.Verdict.Rank()-f.Verdict.Rank(),
			cmp.Compare(len(g.Rule), 0)-cmp.Compare(len(f.Rule), 0))
	})
	for at, i := range order {
		for k, c := range order {
			f, cause := findings[i], findings[c]
			isOther := cause.Check != f.Check
			isSymptom := leadsTo(cause.Check, f.Check) && (isOther || k < at)
			isLater := k >= at || isOther && leadsTo(f.Check, cause.Check) && cause.Verdict.Rank() == f.Verdict.Rank()
			isRoot := root[c] == c || generalityOf(f) == 3 && f.Rule != "" &&
				f.Rule == cause.Rule // the provider may speak of what follows
			if c != i && isRoot && cause.Verdict.Rank() >= f.Verdict.Rank() && (isSymptom || !isLater) &&
				isExplained(f, cause, paths[c]) {
				root[i] = c
				break
			}
		}
	}
	for i, c := range root {
		for root[c] != c {
			c = root[c]
		}
		if c != i {
			findings[i].Cause = ids[c]
		}
	}
}

// isExplained reports whether the cause, which has paths by exchange, stands at each place of f.
func isExplained(f, cause *Finding, paths map[decide.Ordinal][]string) bool {
	if specs.IsTeamRule(f.Requirement) { // a team wants to see each breach of a rule of its own
		return false
	}
	if generalityOf(f) == 3 && f.Rule != "" && cause.Rule != "" && f.Rule != cause.Rule {
		return false // the provider spoke of another rule
	}
	isSymptom := leadsTo(cause.Check, f.Check)
	isAnywhere := isSymptom || generalityOf(f) == 3 && cause.Answer == decide.AnswerRefused
	isAgain := isSymptom || f.Check == cause.Check && f.Form == cause.Form && f.Consequence != cause.Consequence
	isGeneral := generalityOf(f) > generalityOf(cause)
	for _, at := range allPlaces(f) {
		here := paths[at.Exchange]
		isHere := func(path string) bool { return isSamePlace(at.Path, path, isGeneral) }
		isThere := len(here) > 0 && (isAnywhere || slices.ContainsFunc(here, isHere))
		for before, there := range paths {
			isThere = isThere || isAgain && before < at.Exchange && slices.ContainsFunc(there, isHere)
		}
		if at.Exchange < 0 || !isThere {
			return false
		}
	}
	return true
}

// messageBlock matches the path of one block of a conversation, or of a whole message.
var messageBlock = regexp.MustCompile(`^(messages|contents|input)\[\d+\](\.(content|parts)\[\d+\])?$`)

// isSamePlace reports whether two paths of one request lead to the same thing: to one member, to
// a block and a member of it or, where one check is general, to anything and a member of it.
func isSamePlace(a, b string, isGeneral bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	switch rest, isInside := strings.CutPrefix(b, a); {
	case !isInside:
		return false
	case isGeneral:
		return rest == "" || a == "" || rest[0] == '.' || rest[0] == '['
	case rest == "":
		return a != "" && a != "tools"
	default:
		return rest[0] == '.' && messageBlock.MatchString(a)
	}
}

func allPlaces(f *Finding) []Place { return append([]Place{f.At()}, f.Places...) }

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
