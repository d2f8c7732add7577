package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
)

// view is what all forms for people say of a report, be it of a run or of recordings.
type view struct {
	heading string // one or two lines
	summary Summary
	counted string // what the counts of the summary are of
	issues  []issue
	// notes are sentences about the whole: cases that were not run, foreign hosts, excuses.
	// warnings are those that stand before everything else.
	notes, warnings []string
	differences     []Difference
	// details are lines about what was not judged, which only the terminal has room for.
	details []string

	// detailCounts counts the details by their kinds. limit bounds the issues, 0 for no bound;
	// hidden counts those beyond.
	detailCounts  map[string]int
	limit, hidden int

	known map[issueKind]int // index in issues
	byID  map[string]int    // the same, by case and the id by which other findings name their cause
}

// oneLine is the heading in one line.
func (v *view) oneLine() string { return strings.ReplaceAll(v.heading, "\n", "; ") }

// issue is something that is not as it should be: one cause with what follows from it, or a
// result without findings.
type issue struct {
	verdict  Verdict
	severity int    // of the consequence of the finding
	check    string // or a requirement, "" for what is about the whole case
	where    string // a case, or the path of a recording
	file     string // the recording
	finding  *Finding
	follows  []*Finding
	reason   string
	checks   int // how many checks of a case the reason is one for
	// others are the first of the other cases or recordings that show the same; otherCount
	// counts all of them, last is the last one.
	others     []string
	otherCount int
	last       string
	// morePlaces counts the places of the finding that are left out.
	morePlaces int
}

// issueKind is what issues have in common that are shown once, with a list of cases.
type issueKind struct {
	verdict                                  Verdict
	client, outcome, check, rule, path, form string
}

// variable matches what differs between two findings of one kind: quoted text, numbers,
// ids and what was shortened.
var variable = regexp.MustCompile(`"[^"]*"|[^\s\[\]]*[0-9…][^\s\[\]]*`)

// add adds an issue, or its case to an issue of the same kind that another case showed before.
func (v *view) add(kind issueKind, i issue) (at int) {
	at, isKnown := v.known[kind]
	if isKnown && v.issues[at].where != i.where {
		if known := &v.issues[at]; known.last != i.where {
			if known.otherCount++; known.otherCount <= maxPlaces {
				known.others = append(known.others, i.where)
			}
			known.last = i.where
		}
		return at
	}
	if isKnown && i.finding == nil {
		v.issues[at].checks++
		return at
	}
	if v.limit > 0 && len(v.issues) >= v.limit {
		v.hidden++
		return -1
	}
	v.issues = append(v.issues, i)
	if at = len(v.issues) - 1; !isKnown {
		v.known[kind] = at
	}
	return at
}

func kindOf(client string, f *Finding) issueKind {
	return issueKind{f.Verdict, client, f.Outcome(), f.Check, f.Rule, "",
		variable.ReplaceAllString(cmp.Or(f.Form, f.Message), "#")}
}

// Kind is equal for findings that every form of a report shows as one cause.
func Kind(f *Finding) string { return fmt.Sprint(kindOf("", f)) }

// addFinding adds a cause. number counts the findings of its check in the case.
func (v *view) addFinding(client string, number int, i issue) {
	f, kind := i.finding, kindOf(client, i.finding)
	i.check, i.verdict, i.severity = f.Check, f.Verdict, f.Consequence.Severity()
	v.byID[fmt.Sprintf("%s#%d %s", f.Check, number, i.where)] = v.add(kind, i)
}

// addFollowing puts a finding under its cause.
func (v *view) addFollowing(f *Finding, where string) {
	at := v.byID[f.Cause+" "+where]
	if at < 0 {
		return
	}
	i := &v.issues[at]
	if !slices.ContainsFunc(i.follows, func(g *Finding) bool { return g.Check == f.Check && g.Rule == f.Rule }) ||
		i.where == where {
		i.follows = append(i.follows, f)
	}
}

// addReason adds a result without findings. One reason of many checks and cases is said once.
func (v *view) addReason(i issue) {
	kind := issueKind{verdict: i.verdict, check: i.check, path: i.where, form: i.reason}
	if i.checks > 0 {
		kind.check, kind.path = "", ""
	}
	v.add(kind, i)
}

// titleLine names what is not as it should be, in one line.
func (i issue) titleLine(gap string) string {
	text := strings.TrimSpace(i.check + gap + i.where)
	if i.finding != nil {
		text += fmt.Sprintf("%s(%s)", gap, i.finding.Outcome())
	}
	if i.checks > 0 && i.file == "" {
		text += fmt.Sprintf("%s(%s)", gap, countOf(i.checks, "check"))
	}
	return text
}

// detail is a line of an issue below its title.
type detail struct{ label, text string }

// byteMark is the label of a line below two values that points to where both differ first. Its text
// is of a terminal, whose characters have one width.
const byteMark = "mark"

// isExact reports whether the characters of a detail stand below those of another one.
func (d detail) isExact() bool {
	return d.label == "expected" || d.label == "actual" || d.label == byteMark
}

// String is the form of a detail in one line.
func (d detail) String() string {
	if d.label == "" || d.label == byteMark {
		return d.text
	}
	return d.label + ": " + d.text
}

// detailLines say what is wrong, which bytes differ, how to fix it, where it stands and came back, what
// follows from it, and which other cases show the same. All forms of a report print them.
func (i issue) detailLines() (list []detail) {
	add := func(label, text string) {
		if text != "" {
			list = append(list, detail{label, text})
		}
	}
	f := i.finding
	if f == nil {
		add("", i.reason)
		add("the same in", firstOf(i.others, i.otherCount))
		return list
	}
	add("", f.Message)
	if c := f.Compare; c != nil {
		add("expected", c.Expected)
		add("actual", "  "+c.Actual)
		add(byteMark, fmt.Sprintf("%s^ byte %d", strings.Repeat(" ", len("expected: ")+c.Mark), c.Differs))
	}
	if f.Verdict == Contradicted {
		add("contradicted", "the provider itself accepted this request, so the rule is out of date; please report it")
	} else {
		add("fix", f.Fix)
	}
	add("at", f.Where())
	var parts []string
	for _, p := range f.Places[:min(maxPlaces, len(f.Places))] {
		parts = append(parts, p.String())
	}
	add("also at", firstOf(parts, len(f.Places)+i.morePlaces))
	for _, g := range i.follows {
		text := fmt.Sprintf("%s (%s) at %s", g.Check, g.Outcome(), g.At())
		if g.Requirement != "ERR-001" ||
			!strings.Contains(f.Message, "refused the request:") { // else it repeats those words
			text += ": " + g.Message
		}
		add("so also", text)
	}
	if i.otherCount > 0 {
		add("", fmt.Sprintf("similar in %d more: %s", i.otherCount, firstOf(i.others, i.otherCount)))
	}
	return list
}

// sorted returns the issues, the worst first; those about the source of the replies come last.
func (v *view) sorted() []issue {
	return slices.SortedStableFunc(slices.Values(v.issues), func(a, b issue) int {
		return cmp.Or(len(a.side())-len(b.side()), b.verdict.Rank()-a.verdict.Rank(), b.severity-a.severity)
	})
}

// side is that of the finding, "" for the agent.
func (i issue) side() string {
	if i.finding == nil {
		return ""
	}
	return i.finding.Side
}

// aboutServer is the line before the issues whose cause is the source of the replies.
const aboutServer = "about the server, not your agent:"

// reason says in one sentence why the report has its verdict: how many causes have which verdict,
// which duty the worst one breaks, and why nothing could be tested. It is empty without any cause.
func (v *view) reason() string {
	counts, ofServer, worst, isBroken := Counts{}, Counts{}, "", false
	for _, i := range v.sorted() {
		if i.side() != "" {
			ofServer[i.verdict]++
			continue
		}
		counts[i.verdict] += 1 + i.otherCount*min(1,
			i.checks) // each case that shows nothing counts, a cause counts once
		if isBroken || worst != "" && i.finding == nil {
			continue
		}
		why, _, _ := strings.Cut(i.reason, ": ")
		if why = cmp.Or(why, i.check); i.finding != nil {
			isBroken, why = true, i.finding.Requirement+" is broken"
			if r, err := specs.FindRequirement(i.finding.Requirement); err == nil {
				why = fmt.Sprintf("%s (%s)", why, r.Title)
			}
		}
		worst = strings.Trim(worst+"; "+why, "; ")
	}
	text := counts.String() + ": " + worst
	if worst == "" {
		text = "nothing about the agent"
	}
	switch {
	case len(ofServer) > 0:
		return fmt.Sprintf("%s; about the server: %s", text, ofServer)
	case worst == "":
		return ""
	}
	return text
}

// verdictLine is the last line of a report.
func (s Summary) verdictLine(counted string) string {
	switch {
	case s.Counts.Total() > 0:
	case s.Coverage.Total == 0:
		return strings.ToUpper(string(s.Verdict)) + " no case was run"
	default:
		return fmt.Sprintf("%s %s; no result", strings.ToUpper(string(s.Verdict)), s.Coverage)
	}
	text := fmt.Sprintf("%s %s; %s (%s)", strings.ToUpper(string(s.Verdict)), s.Coverage, counted, s.Counts)
	if n := s.Findings[Contradicted]; n > 0 {
		text += "; " + countOf(n, "finding") + " contradicted by the provider"
	}
	return text
}

// aside is a result about the whole report, with the suite of JUnit in which it stands.
type aside struct {
	suite string
	Result
}

// newAside judges facts about the whole.
func newAside(suite string, res Result, f decide.Facts) aside {
	res.judgeAgain(f)
	return aside{suite, res}
}

// asides are the requirements that had to be seen and were not.
func (c Coverage) asides() (list []aside) {
	for _, id := range c.Missing {
		list = append(list, newAside(Result{Requirement: id}.Area(), Result{Requirement: id},
			decide.Facts{Missing: true}))
	}
	return list
}

// asides are what is wrong with the run rather than with a case of it.
func (r *Run) asides() []aside {
	list := r.Summary.Coverage.asides()
	for _, used := range r.Baseline {
		if used.Verdict == Stale {
			list = append(list, aside{"baseline",
				Result{Check: used.Pattern, Verdict: used.Verdict, Reason: used.Problem}})
		}
	}
	if r.Guard != "" {
		list = append(list, newAside("run", Result{Check: "guard"}, decide.Facts{Fault: r.Guard}))
	}
	if r.Interrupted {
		list = append(list, newAside("run", Result{Check: "complete"},
			decide.Facts{Fault: "the run was ended before its last case"}))
	}
	return list
}

func (v *view) addAsides(list []aside) {
	for _, a := range list {
		if a.suite == "baseline" {
			a.Reason = "baseline: " + a.Reason
		}
		v.addReason(issue{verdict: a.Verdict, check: cmp.Or(a.Check, a.Requirement), reason: a.Reason})
	}
}

// view of a run: its failures and warnings in the order of requirements, then cases that show
// nothing, then what is wrong with the whole.
func (r *Run) view() *view {
	v := &view{heading: r.heading(), summary: r.Summary, counted: countOf(r.countResults(), "result"),
		notes: r.runNotes(), differences: r.Differences,
		known: map[issueKind]int{}, byID: map[string]int{}}
	if r.Isolation != nil && !r.Isolation.Enforced { // what the agent did outside was not seen
		v.warnings = []string{"isolation is not enforced: " + r.Isolation.Reason}
	}
	var silent []issue
	for _, res := range r.Results {
		i := issue{verdict: res.Verdict, check: cmp.Or(res.Check, res.Requirement), where: res.Case, reason: res.Reason}
		if e, ok := r.ExcuseOf(res); ok {
			i.reason = e.String()
		}
		if res.Verdict == KnownFail {
			v.addReason(i)
			continue
		}
		for n := range res.Findings {
			if f := &res.Findings[n]; f.Cause == "" {
				v.addFinding("", n, issue{where: res.Case, finding: f})
			}
		}
		switch isReason := res.Verdict == Flaky || len(res.Findings) == 0 && res.Verdict.Rank() > Pass.Rank(); {
		case isReason && res.Verdict == NotTestable && res.Case != "" && res.Reason != "":
			i.check, i.checks = "", 1
			silent = append(silent, i)
		case isReason:
			v.addReason(i)
		}
	}
	for _, res := range r.Results {
		for n := range res.Findings {
			if f := &res.Findings[n]; f.Cause != "" {
				v.addFollowing(f, res.Case)
			}
		}
	}
	slices.SortStableFunc(silent, func(a, b issue) int { return cmp.Compare(a.where, b.where) })
	for _, i := range silent {
		v.addReason(i)
	}
	v.addAsides(r.asides())
	return v
}

// maxIssues bounds the issues that are shown of recordings. maxDetails bounds the lines of one
// kind about what was not judged.
const (
	maxIssues  = 1000
	maxDetails = 100
)

// addRecording adds what was found in a recording. The view keeps no more of it than it shows.
func (v *view) addRecording(r *Recording) {
	clear(v.byID)
	number := map[string]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Cause == "" {
			f := *f
			f.Refusal, f.Places = "", slices.Clone(f.Places[:min(maxPlaces, len(f.Places))])
			v.addFinding(r.Client, number[f.Check],
				issue{where: r.Path, file: r.Path, finding: &f, morePlaces: len(r.Findings[i].Places) - len(f.Places)})
		}
		number[f.Check]++
	}
	for i := range r.Findings {
		if f := r.Findings[i]; f.Cause != "" {
			f.Places = nil
			v.addFollowing(&f, r.Path)
		}
	}
	if r.Reason != "" && r.Verdict.Rank() > Pass.Rank() {
		v.addReason(issue{verdict: r.Verdict, where: r.Path, file: r.Path, reason: r.Reason, checks: 1})
	}
	for _, s := range r.Skipped {
		v.addDetail("skipped", "%s  exchange %d, %s: %s", r.Path, s.Exchange, s.What, s.Reason)
	}
	for _, d := range r.Redacted {
		text := ""
		if len(d.Places) > 0 {
			text = " at " + strings.Join(d.Places, "; ")
		}
		v.addDetail("redacted", "%s  exchange %d, %s body: judged with %s%s", r.Path, d.Exchange, d.Body,
			countOf(d.Values, "redacted value"), text)
	}
}

// addDetail adds a line about what was not judged, as long as there are few of its kind.
func (v *view) addDetail(kind, format string, args ...any) {
	if v.detailCounts[kind]++; v.detailCounts[kind] <= maxDetails {
		v.details = append(v.details, fmt.Sprintf("%-14s ", kind)+fmt.Sprintf(format, args...))
	}
}

// view of recordings that were checked.
func (c *Checked) view() *view {
	shown := *c.shown
	v := &shown
	v.heading, v.summary, v.counted, v.notes = c.heading(), c.Summary, c.countedFiles(), c.checkedNotes()
	if line := c.wrongSide(); line != "" {
		v.heading = line + "\n" + v.heading
	}
	v.issues, v.details, v.known = slices.Clone(v.issues), slices.Clone(v.details), maps.Clone(v.known)
	for _, kind := range slices.Sorted(maps.Keys(v.detailCounts)) {
		if more := v.detailCounts[kind] - maxDetails; more > 0 {
			v.details = append(v.details, fmt.Sprintf("%-14s %d more; --json lists them", kind, more))
		}
	}
	if v.hidden > 0 {
		v.details = append(v.details, fmt.Sprintf("%-14s %d more of other kinds; --json lists them",
			"findings", v.hidden))
	}
	for _, path := range c.PassedOver[:min(maxPassedOver, len(c.PassedOver))] {
		v.details = append(v.details, fmt.Sprintf("%-14s %s: is not a recording", "passed over", path))
	}
	if more := len(c.PassedOver) - maxPassedOver; more > 0 {
		v.details = append(v.details, fmt.Sprintf("%-14s %d more files; --json lists them", "passed over", more))
	}
	v.addAsides(c.Summary.Coverage.asides())
	return v
}

// maxPassedOver is how many files that are not recordings are named one by one.
const maxPassedOver = 20

// String is why a breach is known.
func (e Excuse) String() string {
	return fmt.Sprintf("known until %s: %s (%s)", e.Expires, e.Reason, e.Issue)
}

// maxNoted bounds a list inside a note.
const maxNoted = 5

// runNotes say what a reader of the verdict has to know.
func (r *Run) runNotes() (list []string) {
	switch {
	case r.Shard == nil:
	case len(r.Cases) == 0:
		list = append(list,
			fmt.Sprintf("shard %s holds no case, which is not a failure; conform matrix puts the shards together",
				r.Shard))
	default:
		list = append(list, fmt.Sprintf("shard %s: %s; conform matrix puts the shards together", r.Shard,
			countOf(len(r.Cases), "case")))
	}
	list = append(list, r.Unshown()...)
	list = append(list, r.Live.liveNotes()...)
	if len(r.Hosts) > 0 {
		var names []string
		for _, h := range r.Hosts[:min(maxNoted, len(r.Hosts))] {
			names = append(names, fmt.Sprintf("%s (%s)", h.Name, countOf(h.Attempts, "attempt")))
		}
		list = append(list, "foreign hosts, refused: "+strings.Join(names, ", ")+andMore(len(r.Hosts)-maxNoted))
	}
	list = append(list, r.effectNotes()...)
	if len(r.Baseline) > 0 {
		excused := 0 // several entries may excuse one result
		for _, res := range r.Results {
			if res.Excused != "" {
				excused++
			}
		}
		list = append(list, fmt.Sprintf("baseline: %d of %s known to fail", excused,
			countOf(r.countResults(), "result")))
	}
	return list
}

// effectNotes list what the agent did beside its conversations, and in how many cases.
func (r *Run) effectNotes() (list []string) {
	counts := map[string]int{}
	for _, c := range r.Cases {
		for _, effect := range c.Effects {
			if counts[effect]++; counts[effect] == 1 {
				list = append(list, effect)
			}
		}
	}
	for i, effect := range list {
		list[i] = fmt.Sprintf("side effect in %s: %s", countOf(counts[effect], "case"), effect)
	}
	if hidden := len(list) - maxNoted; hidden > 0 {
		list = append(list[:maxNoted], "side effects:"+andMore(hidden))
	}
	return list
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// Unshown says what the run does not show and why: cases that were not run, requirements of which
// nothing was seen.
func (r *Run) Unshown() []string {
	var g grouping
	for _, c := range r.Cases {
		if c.Reason != "" {
			g.addName(c.Reason, c.Name)
		}
	}
	slices.SortStableFunc(g.reasons, func(a, b string) int { return len(g.names[b]) - len(g.names[a]) })
	return append(g.sentences("not run", "case", 2), r.notSeen()...)
}

// notSeen groups the requirements of which nothing was seen by what the run lacks.
func (r *Run) notSeen() (list []string) {
	if c := r.Calls; c != nil && c.Thinking == 0 && c.Plain > 0 {
		list = append(list,
			fmt.Sprintf("not seen, thinking and its signatures: none of %s asked the model to think; %s",
				countOf(c.Plain, "call"), profiles.ThinkingAdvice(r.Subject.Name)))
	}
	var unseen grouping
	for _, id := range r.Summary.Coverage.Unseen {
		if requirement, err := specs.FindRequirement(id); err == nil &&
			r.Shard == nil { // else the team's, which says so itself; or others show it
			unseen.addName(cmp.Or(requirement.Unseen, noCaseShows), id)
		}
	}
	return append(list, unseen.sentences("not seen", "requirement", maxNoted)...)
}

// grouping holds names by what they have in common, in the order in which that came.
type grouping struct {
	reasons []string
	names   map[string][]string
}

func (g *grouping) addName(reason, name string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[reason] == nil {
		g.reasons = append(g.reasons, reason)
	}
	g.names[reason] = append(g.names[reason], name)
}

// sentences say what holds for how many of a noun and why, and name the first ones.
func (g *grouping) sentences(what, noun string, most int) (list []string) {
	for _, reason := range g.reasons {
		names := g.names[reason]
		list = append(list, fmt.Sprintf("%s, %s: %s (%s)", what, countOf(len(names), noun), reason,
			strings.Join(names[:min(most, len(names))], ", ")+andMore(len(names)-most)))
	}
	return list
}
