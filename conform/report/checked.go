package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// Checked is the report of `conform check`, schema conform.check.v2.
type Checked struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	Policy Policy `json:"policy"`
	// Recordings are in the order of their paths.
	Recordings []Recording `json:"recordings"`
	// PassedOver lists files found below a directory that are not recordings.
	PassedOver []string `json:"passed_over,omitempty"`
	Summary    Summary  `json:"summary"`
}

// Recording is the result of checking one recording.
type Recording struct {
	Path string `json:"path"`
	// Client is the program that sent the first request and its version, as it calls
	// itself.
	Client string          `json:"client,omitempty"`
	Format evidence.Format `json:"format,omitempty"`
	// Provider is whose traffic it holds; several are joined with commas.
	Provider  string  `json:"provider,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Exchanges int     `json:"exchanges"`
	Calls     Calls   `json:"calls"`
	// Observed counts the places where some rule could have been broken.
	Observed int             `json:"observed"`
	Findings []Finding       `json:"findings"`
	Skipped  []evidence.Skip `json:"skipped,omitempty"`
	// Redacted lists the bodies that were judged although a recorder had replaced values
	// in them.
	Redacted []evidence.Redaction `json:"redacted,omitempty"`
	// Reason says why, for a verdict that is not about findings.
	Reason string `json:"reason,omitempty"`

	results   []Result // without void ones
	void      []voidResult
	notJudged bool // nothing in it could be judged
}

// voidResult is what the summary needs of a result that shows nothing: most are, and
// a directory has many recordings.
type voidResult struct {
	requirement string
	ofSource    bool
	verdict     Verdict
	// reason is kept of a team's own rules only: they may name what does not exist.
	reason string
}

// JudgeRecording holds rec to every rule. A recording shows what it happens to
// show, so a rule that saw nothing does not count against it; a recording in
// which no rule saw anything, or no call was accepted, is not testable.
func JudgeRecording(rules []Rule, rec evidence.Recording) Recording {
	out := Recording{
		Path: rec.Path, Format: rec.Format, Provider: strings.Join(rec.Evidence.Providers(), ","), Client: clientName(rec.Evidence.Exchanges),
		Exchanges: len(rec.Evidence.Exchanges), Findings: []Finding{}, Skipped: rec.Skipped,
		Redacted: rec.Evidence.Redactions(),
	}
	if out.Exchanges == 0 {
		out.Verdict, out.notJudged = decide.Recording(decide.RecordingFacts{}), true
		out.Reason = "holds no call of a provider conform knows; record " + wires.Vendors() + " traffic"
		return out
	}
	trace := check.Decode(&rec.Evidence)
	out.results = JudgeTrace(rules, trace)
	out.Calls = Calls{Made: trace.Calls(), Accepted: trace.AcceptedCalls()}
	if out.Calls.Accepted == 0 {
		out.Reason = noAcceptedCall(out.Calls, firstRefusal(trace))
		withdrawPasses(out.results, out.Reason)
	}
	readable := trace.ReadableRequests()
	if readable == 0 && out.Calls.Accepted > 0 {
		withdrawPasses(out.results, unreadableRequests)
	}
	out.dropVoid()
	out.sumUp()
	if readable == 0 && out.Verdict == NotTestable && out.Calls.Accepted > 0 {
		out.Reason = unreadableRequests
	}
	return out
}

const unreadableRequests = "keeps no request that can be read; record the bodies of the requests"

// firstRefusal describes the first request that was refused, "" when none was.
func firstRefusal(trace *check.Trace) string {
	if list := trace.Refusals(); len(list) > 0 {
		return list[0].String()
	}
	return ""
}

// WriteLine writes the recording as one line of JSON, with the verdict that a policy leads to.
func (r Recording) WriteLine(w io.Writer, policy Policy) error {
	if !r.notJudged {
		policy.apply(r.results)
		r.sumUp()
	}
	line, err := marshalPlain(r)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// dropVoid keeps of the results that show nothing only what the summary needs.
func (r *Recording) dropVoid() {
	var kept []Result
	for _, res := range r.results {
		if isVoid := res.Verdict == NotTestable || res.Verdict == NotApplicable; isVoid && res.Observed == 0 {
			void := voidResult{requirement: res.Requirement, ofSource: res.OfSource, verdict: res.Verdict}
			if specs.IsTeamRule(res.Requirement) {
				void.reason = res.Reason
			}
			r.void = append(r.void, void)
		} else {
			kept = append(kept, res)
		}
	}
	r.results = kept
}

// sumUp fills in what follows from the results.
func (r *Recording) sumUp() {
	var all []*Finding
	for _, res := range r.results {
		for i := range res.Findings {
			all = append(all, &res.Findings[i])
		}
	}
	causes(all)
	var seen []Verdict
	r.Observed, r.Findings = 0, []Finding{}
	for _, res := range r.results {
		r.Observed += res.Observed
		r.Findings = append(r.Findings, res.Findings...)
		if res.Verdict == HarnessError {
			r.Reason = res.Check + ": " + res.Reason
		}
		isPassOfSource := res.OfSource && res.Verdict == Pass
		if res.Verdict != NotTestable && res.Verdict != NotApplicable && !isPassOfSource {
			seen = append(seen, res.Verdict)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return quoteRank(a.Requirement) - quoteRank(b.Requirement) })
	r.Verdict = decide.Recording(decide.RecordingFacts{Results: seen, Accepted: r.Calls.Accepted})
	if r.Calls.Accepted > 0 && len(seen) == 0 {
		r.Reason = "keeps no request that can be read, so that only the replies of the source were judged; record the requests as well"
	}
}

// clientName is what the first client calls itself, cut to what a line can hold.
func clientName(exchanges []evidence.Exchange) string {
	const maxLength = 80
	for _, x := range exchanges {
		name := strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(x.Request.Header.Get("User-Agent"), ""))
		if name != "" {
			return name[:min(maxLength, len(name))]
		}
	}
	return ""
}

// Unreadable is the recording that could not be read. An error that begins with
// the path does not repeat it.
func Unreadable(path string, err error) Recording {
	return Recording{
		Path: path, Verdict: decide.Recording(decide.RecordingFacts{}), Findings: []Finding{}, notJudged: true,
		Reason: strings.TrimPrefix(err.Error(), path+": "),
	}
}

// NewChecked sums up recordings by a policy, in the order of their paths.
func NewChecked(tool Tool, policy Policy, recordings []Recording) *Checked {
	c := &Checked{Schema: CheckedSchema, Tool: tool, Policy: policy, Recordings: slices.Clone(recordings)}
	slices.SortStableFunc(c.Recordings, func(a, b Recording) int { return strings.Compare(a.Path, b.Path) })
	for i := range c.Recordings {
		if r := &c.Recordings[i]; !r.notJudged {
			policy.apply(r.results)
			r.sumUp()
		}
	}
	var set []string
	results := c.relevantResults()
	for _, res := range results {
		set = append(set, res.Requirement)
	}
	c.Summary = newSummary(results, set, policy)
	for _, r := range c.Recordings {
		c.Summary.Counts[r.Verdict]++
	}
	judged := slices.ContainsFunc(c.Recordings, func(r Recording) bool { return !r.notJudged })
	c.Summary.conclude(policy, decide.ReportFacts{Empty: !judged})
	return c
}

// foreignNote says how to take the word of recordings in which the provider accepted what a
// finding says it refuses.
func (c *Checked) foreignNote() (list []string) {
	n := 0
	for _, r := range c.Recordings {
		for _, f := range r.Findings {
			if f.Answer == decide.AnswerRecorded {
				n++
			}
		}
	}
	if n > 0 {
		list = append(list, fmt.Sprintf("accepted in this recording, %s: where the provider itself answered and nobody changed the file, --foreign takes its word", countOf(n, "finding")))
	}
	return list
}

// UnseenTeamRules says for each rule of the team that no recording shows why it saw
// nothing.
func (c *Checked) UnseenTeamRules() (reasons []string) {
	for _, res := range c.relevantResults() {
		if specs.IsTeamRule(res.Requirement) && slices.Contains(c.Summary.Coverage.Unseen, res.Requirement) && res.Reason != "" && !slices.Contains(reasons, res.Reason) {
			reasons = append(reasons, res.Reason)
		}
	}
	return reasons
}

// relevantResults are the results that say something about a requirement: those of the
// recordings that show it, or one that says that none does.
func (c *Checked) relevantResults() []Result {
	seen, count := map[string]bool{}, 0
	for _, r := range c.Recordings {
		count += len(r.results)
		for i := range r.results {
			if res := &r.results[i]; res.Observed > 0 && res.Verdict != NotTestable {
				seen[res.Requirement] = true
			}
		}
	}
	all := make([]Result, 0, count)
	listed := map[voidResult]bool{}
	for _, r := range c.Recordings {
		for i := range r.results {
			if res := &r.results[i]; res.Verdict != NotTestable || !seen[res.Requirement] {
				all = append(all, *res)
			}
		}
		for _, v := range r.void {
			if !listed[v] && (v.verdict != NotTestable || !seen[v.requirement]) {
				listed[v] = true
				all = append(all, Result{Requirement: v.requirement, OfSource: v.ofSource, Verdict: v.verdict, Reason: v.reason})
			}
		}
	}
	return all
}
