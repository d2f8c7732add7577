package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/specs"
)

// digest is what all forms for people say of a report: a run, or recordings that were
// checked.
type digest struct {
	heading string
	summary Summary
	counted string // what the counts of the summary are of
	issues  []issue
	// notes are sentences about the whole: cases that were not run, foreign hosts,
	// isolation, excuses.
	notes []string
}

// issue is something that is not as it should be, at most one finding.
type issue struct {
	verdict Verdict
	check   string // or a requirement, "" for what is about the whole case
	where   string // a case, or the path of a recording
	file    string // the recording
	finding *Finding
	reason  string
}

// titleLine names what is not as it should be, in one line.
func (i issue) titleLine() string {
	text := strings.TrimSpace(i.check + " " + i.where)
	if i.finding != nil {
		text += fmt.Sprintf(" (%s)", i.finding.outcomeText())
	}
	return text
}

// messageText says what is wrong.
func (i issue) messageText() string {
	if i.finding != nil {
		return i.finding.Message
	}
	return i.reason
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

// resultIssues are the findings of a result; without any, its verdict if it is worse
// than a pass.
func resultIssues(res Result, file string) (list []issue) {
	for i := range res.Findings {
		f := &res.Findings[i]
		verdict := f.Verdict
		if verdict != Contradicted && (res.Verdict == KnownFail || res.Verdict == Flaky) {
			verdict = res.Verdict
		}
		list = append(list, issue{verdict: verdict, check: f.Check, where: res.Case, file: file, finding: f, reason: res.Reason})
	}
	if len(list) == 0 && res.Verdict.severityRank() > Pass.severityRank() {
		list = append(list, issue{verdict: res.Verdict, check: cmp.Or(res.Check, res.Requirement), where: res.Case, file: file, reason: res.Reason})
	}
	return list
}

func missingIssues(c Coverage) (list []issue) {
	for _, id := range c.Missing {
		list = append(list, issue{verdict: Fail, check: id, reason: "required, and nothing shows it"})
	}
	return list
}

// runDigest of a run.
func (r *Run) runDigest() digest {
	d := digest{heading: r.heading(), summary: r.Summary, counted: countOf(len(r.Results), "result"), notes: append(r.isolationNotes(), r.runNotes()...)}
	for _, res := range r.Results {
		list := resultIssues(res, "")
		if e, ok := r.ExcuseOf(res); ok {
			for i := range list {
				list[i].reason = e.String()
			}
		}
		d.issues = append(d.issues, list...)
	}
	d.issues = append(d.issues, missingIssues(r.Summary.Coverage)...)
	for _, used := range r.Baseline {
		if used.Verdict == Stale {
			d.issues = append(d.issues, issue{verdict: Stale, check: used.Pattern, reason: "baseline: " + used.Problem})
		}
	}
	if r.Guard != "" {
		d.issues = append(d.issues, issue{verdict: HarnessError, check: "guard", reason: r.Guard})
	}
	if r.Interrupted {
		d.issues = append(d.issues, issue{verdict: HarnessError, check: "run", reason: "was ended before its last case"})
	}
	d.sortIssues()
	return d
}

// checkedDigest of recordings that were checked.
func (c *Checked) checkedDigest() digest {
	d := digest{heading: c.heading(), summary: c.Summary, counted: c.countedFiles(), notes: c.foreignNote()}
	for _, r := range c.Recordings {
		for i := range r.Findings {
			f := &r.Findings[i]
			d.issues = append(d.issues, issue{verdict: f.Verdict, check: f.Check, where: r.Path, file: r.Path, finding: f})
		}
		if r.Reason != "" && r.Verdict.severityRank() > Pass.severityRank() {
			d.issues = append(d.issues, issue{verdict: r.Verdict, where: r.Path, file: r.Path, reason: r.Reason})
		}
	}
	d.issues = append(d.issues, missingIssues(c.Summary.Coverage)...)
	d.sortIssues()
	return d
}

// sortIssues puts the worst first.
func (d *digest) sortIssues() {
	slices.SortStableFunc(d.issues, func(a, b issue) int { return b.verdict.severityRank() - a.verdict.severityRank() })
}

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
		list = append(list, fmt.Sprintf("shard %s holds no case, which is not a failure; conform matrix puts the shards together", r.Shard))
	default:
		list = append(list, fmt.Sprintf("shard %s: %s; conform matrix puts the shards together", r.Shard, countOf(len(r.Cases), "case")))
	}
	list = append(list, r.notRun()...)
	list = append(list, r.notSeen()...)
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
		list = append(list, fmt.Sprintf("baseline: %d of %s known to fail", excused, countOf(len(r.Results), "result")))
	}
	return list
}

// isolationNotes say that the agent could reach more than the harness. What it did
// there was not seen.
func (r *Run) isolationNotes() []string {
	if r.Isolation == nil || r.Isolation.Enforced {
		return nil
	}
	return []string{"isolation is not enforced: " + r.Isolation.Reason}
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

// notSeen groups the requirements of which nothing was seen by what the run lacks.
func (r *Run) notSeen() (list []string) {
	if c := r.Calls; c != nil && c.Thinking == 0 && c.Plain > 0 {
		list = append(list, fmt.Sprintf("not seen, thinking and its signatures: none of %s asked the model to think; %s", countOf(c.Plain, "call"), profiles.ThinkingAdvice(r.Subject.Name)))
	}
	ids := map[string][]string{}
	var reasons []string
	for _, id := range r.Summary.Coverage.Unseen {
		requirement, err := specs.FindRequirement(id)
		if err != nil || r.Shard != nil {
			continue // a rule of the team's, which says so itself; or others show it
		}
		reason := cmp.Or(requirement.Unseen, noCaseShows)
		if ids[reason] == nil {
			reasons = append(reasons, reason)
		}
		ids[reason] = append(ids[reason], id)
	}
	for _, reason := range reasons {
		shown := ids[reason]
		list = append(list, fmt.Sprintf("not seen, %s: %s (%s)", countOf(len(shown), "requirement"), reason, strings.Join(shown[:min(maxNoted, len(shown))], ", ")+andMore(len(shown)-maxNoted)))
	}
	return list
}

// notRun groups the cases that were not run by their reasons.
func (r *Run) notRun() (list []string) {
	names := map[string][]string{}
	var reasons []string
	for _, c := range r.Cases {
		if c.Reason == "" {
			continue
		}
		if names[c.Reason] == nil {
			reasons = append(reasons, c.Reason)
		}
		names[c.Reason] = append(names[c.Reason], c.Name)
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(names[b]) - len(names[a]) })
	for _, reason := range reasons {
		cases := names[reason]
		shown := strings.Join(cases[:min(2, len(cases))], ", ") + andMore(len(cases)-2)
		list = append(list, fmt.Sprintf("not run, %s: %s (%s)", countOf(len(cases), "case"), reason, shown))
	}
	return list
}
