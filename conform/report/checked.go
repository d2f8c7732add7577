package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// CheckedHead says by what recordings were judged.
type CheckedHead struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	Policy Policy `json:"policy"`
	// Side is server where the servers are judged, not the clients.
	Side string `json:"side,omitempty"`
	// Shard is the part of the recordings that was judged; nil for all.
	Shard *Shard `json:"shard,omitempty"`
	// Arguments are what was judged and how, where another check has to be compared with this one.
	Arguments []string `json:"arguments,omitempty"`
	// Rules are those that the results of the recordings count; only a report that others are
	// merged with has them.
	Rules []RuleName `json:"rules,omitempty"`
}

// Checked is the report of `conform check`, schema conform.check.v2. [BeginChecked] makes one
// that does not keep its recordings, so that its size does not depend on their number.
type Checked struct {
	CheckedHead
	// Recordings are in the order of their paths; nil where the report does not keep them.
	Recordings []Recording `json:"recordings"`
	// PassedOver lists files found below a directory that are not recordings.
	PassedOver []string `json:"passed_over,omitempty"`
	Summary    Summary  `json:"summary"`

	tallies  tallies
	count    int             // recordings
	judged   int             // of them
	reasons  map[string]bool // why rules of the team saw nothing, as "ID reason"
	calls    Calls
	clients  map[string]int // or servers, where those are judged
	recorded int            // findings about a request that was accepted in a recording
	findings int            // of all recordings
	ofSource int            // of them, those about the source of the replies
	shown    *view
}

// Recording is the result of checking one recording.
type Recording struct {
	Path string `json:"path"`
	// Client is the program that sent the first request and its version, as it calls
	// itself.
	Client string          `json:"client,omitempty"`
	Format evidence.Format `json:"format,omitempty"`
	// Server is the host of the first request, where servers are judged.
	Server string `json:"server,omitempty"`
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

	results []Result // without void ones
	void    []voidResult
}

// voidResult is what a report needs of a result that shows nothing: most are.
type voidResult struct {
	rule    *Rule
	verdict Verdict
	// reason is kept of a team's own rules only: they may name what does not exist.
	reason string
}

// JudgeRecording holds rec to every rule. A recording shows what it happens to
// show, so a rule that saw nothing does not count against it; a recording in
// which no rule saw anything, or no call was accepted, is not testable.
func JudgeRecording(rules []Rule, rec evidence.Recording) Recording {
	out := Recording{
		Path: rec.Path, Format: rec.Format, Provider: strings.Join(rec.Evidence.Providers(), ","),
		Client:    clientName(rec.Evidence.Exchanges),
		Exchanges: len(rec.Evidence.Exchanges), Findings: []Finding{}, Skipped: rec.Skipped,
		Redacted: rec.Evidence.Redactions(),
	}
	if out.Exchanges == 0 {
		out.Verdict = decide.Recording(decide.RecordingFacts{})
		out.Reason = "holds no call of a provider conform knows; record " + wires.Vendors() + " traffic"
		return out
	}
	if len(rules) > 0 && rules[0].Requirement.Judges == specs.JudgesServer {
		out.Server = serverName(rec.Evidence.Exchanges)
	}
	trace := check.Decode(&rec.Evidence)
	providers := trace.Providers()
	out.results = make([]Result, 0, len(rules)/4)
	out.void = make([]voidResult, 0, len(rules))
	for i := range rules {
		res := rules[i].judge(trace, providers)
		if isVoid := res.Verdict == NotTestable || res.Verdict == NotApplicable; !isVoid || res.Observed > 0 {
			out.results = append(out.results, res)
			continue
		}
		void := voidResult{rule: &rules[i], verdict: res.Verdict}
		if specs.IsTeamRule(res.Requirement) {
			void.reason = res.Reason
		}
		out.void = append(out.void, void)
	}
	explainRefusals(out.results)
	out.Calls = Calls{Made: trace.Calls(), Accepted: trace.AcceptedCalls()}
	if out.Server != "" {
		out.sumUp()
		return out
	}
	if out.Calls.Accepted == 0 {
		out.Reason = noAcceptedCall(out.Calls, firstRefusal(trace))
		withdrawPasses(out.results, out.Reason)
	}
	if trace.ReadableRequests() == 0 && out.Calls.Accepted > 0 {
		withdrawPasses(out.results, unreadableRequests)
	}
	out.sumUp()
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

// isJudged reports whether something in the recording could be judged.
func (r *Recording) isJudged() bool { return r.Exchanges > 0 }

// Apply gives the recording the verdict that a policy leads to.
func (r *Recording) Apply(policy Policy) {
	if policy.Strict && r.isJudged() {
		policy.apply(r.results)
		r.sumUp()
	}
}

// sumUp fills in what follows from the results.
func (r *Recording) sumUp() {
	var seen []Verdict
	var found []*Finding
	r.Observed, r.Findings = 0, []Finding{}
	for i := range r.results {
		res := &r.results[i]
		if !res.isBeside() {
			r.Observed += res.Observed
		}
		for k := range res.Findings {
			found = append(found, &res.Findings[k])
		}
		if res.Verdict == HarnessError {
			r.Reason = res.Check + ": " + res.Reason
		}
		isPassOfSource := res.OfSource && res.Verdict == Pass
		if res.Verdict != NotTestable && res.Verdict != NotApplicable && !isPassOfSource && !res.isBeside() {
			seen = append(seen, res.Verdict)
		}
	}
	slices.SortStableFunc(found, func(a, b *Finding) int { return quoteRank(a.Requirement) - quoteRank(b.Requirement) })
	causes(found)
	for _, f := range found {
		r.Findings = append(r.Findings, *f)
	}
	if r.Server != "" { // an error is a reply as well
		r.Verdict = decide.Recording(decide.RecordingFacts{Results: seen, Accepted: r.Calls.Made})
		return
	}
	r.Verdict = decide.Recording(decide.RecordingFacts{Results: seen, Accepted: r.Calls.Accepted})
	if r.Calls.Accepted > 0 && len(seen) == 0 {
		r.Reason = "keeps no request that can be read, so that only the replies of the source were judged; record the requests as well"
	}
}

// isDuty reports whether a check judges a duty of servers.
func isDuty(check string) bool { return strings.HasSuffix(check, specs.DutyAspect) }

// isBeside reports whether a result stands beside the verdict of an agent: it is about the source of
// the replies, by a rule for which no requirement stands.
func (r *Result) isBeside() bool { return r.OfSource && isDuty(r.Check) }

// serverName is the host of the first request.
func serverName(exchanges []evidence.Exchange) string {
	u, err := url.Parse(exchanges[0].Request.URL)
	if err != nil || u.Host == "" {
		return "an unnamed server"
	}
	return u.Host
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
		Path: path, Verdict: decide.Recording(decide.RecordingFacts{}), Findings: []Finding{},
		Reason: strings.TrimPrefix(err.Error(), path+": "),
	}
}

// NewChecked sums up recordings by a policy, in the order of their paths, and keeps them.
func NewChecked(tool Tool, policy Policy, recordings []Recording) *Checked {
	c := BeginChecked(tool, policy)
	c.Recordings = slices.Clone(recordings)
	slices.SortStableFunc(c.Recordings, func(a, b Recording) int { return strings.Compare(a.Path, b.Path) })
	for i := range c.Recordings {
		c.Recordings[i].Apply(policy)
		c.Add(&c.Recordings[i])
	}
	c.Finish()
	return c
}

// BeginChecked begins a report. [Checked.Add] and [Checked.PassOver] add to it, [Checked.Finish]
// ends it.
func BeginChecked(tool Tool, policy Policy) *Checked {
	return &Checked{
		CheckedHead: CheckedHead{Schema: CheckedSchema, Tool: tool, Policy: policy},
		Summary:     Summary{Counts: Counts{}, Findings: Counts{}},
		tallies:     tallies{}, reasons: map[string]bool{}, clients: map[string]int{},
		shown: &view{limit: maxIssues, known: map[issueKind]int{}, byID: map[string]int{},
			detailCounts: map[string]int{}},
	}
}

// Add adds a recording to which the policy was applied. Recordings come in the order of their
// paths.
func (c *Checked) Add(r *Recording) {
	c.count++
	if r.isJudged() {
		c.judged++
	}
	c.Summary.Counts[r.Verdict]++
	for i := range r.results {
		res := &r.results[i]
		if res.isBeside() && len(res.Findings) == 0 {
			continue
		}
		c.tallies.add(res)
		c.noteUnseen(res.Requirement, res.Verdict, res.Reason)
	}
	for _, v := range r.void {
		if isDuty(v.rule.Check.ID) && v.rule.Check.Source {
			continue
		}
		c.tallies.add(&Result{Requirement: v.rule.Requirement.ID, OfSource: v.rule.Check.Source, Verdict: v.verdict})
		c.noteUnseen(v.rule.Requirement.ID, v.verdict, v.reason)
	}
	for i := range r.Findings {
		if r.Findings[i].Side == sideOfSource {
			c.ofSource++
		}
		if r.Findings[i].Side == sideOfSource && isDuty(r.Findings[i].Check) {
			continue // beside the verdict of the agent
		}
		c.Summary.Findings[r.Findings[i].Verdict]++
		if r.Findings[i].Answer == decide.AnswerRecorded {
			c.recorded++
		}
	}
	c.calls, c.findings = c.calls.Add(r.Calls), c.findings+len(r.Findings)
	if name := cmp.Or(r.Server, r.Client); name != "" && (c.clients[name] > 0 || len(c.clients) < maxKnownClients) {
		c.clients[strings.Clone(name)]++
	}
	c.shown.addRecording(r)
}

// maxKnownClients bounds the clients that a report counts.
const maxKnownClients = 10_000

// noteUnseen keeps why a rule of the team saw nothing.
func (c *Checked) noteUnseen(requirement string, verdict Verdict, reason string) {
	if verdict == NotTestable && reason != "" && specs.IsTeamRule(requirement) {
		c.reasons[requirement+" "+reason] = true
	}
}

// PassOver adds a file that is not a recording.
func (c *Checked) PassOver(path string) { c.PassedOver = append(c.PassedOver, path) }

// Finish gives the report its verdict. What only all recordings can show is not asked of a shard.
func (c *Checked) Finish() {
	policy := c.Policy
	if c.Shard != nil {
		policy.Require, policy.MustSee = nil, nil
	}
	for _, t := range c.tallies {
		if t.isShown {
			t.observedSilently = 0 // a recording that cannot tell says nothing beside one that can
		}
	}
	c.Summary.Areas, c.Summary.Coverage = c.tallies.areas(),
		c.tallies.coverage(slices.Collect(maps.Keys(c.tallies)), policy.Require)
	c.Summary.conclude(policy, decide.ReportFacts{Shard: c.Shard != nil,
		Empty: c.judged == 0 && (c.Shard == nil || c.count == 0)})
}

// Count is the number of recordings.
func (c *Checked) Count() int { return c.count }

// Traffic names the clients, the most frequent first, and counts their calls.
func (c *Checked) Traffic() (clients string, calls Calls) { return c.clientNames(), c.calls }

// checkedNotes say what a reader of the verdict has to know: that this is a part, and how to take
// the word of recordings in which the provider accepted what a finding says it refuses.
func (c *Checked) checkedNotes() (list []string) {
	switch {
	case c.Shard == nil:
	case c.count == 0:
		list = append(list,
			fmt.Sprintf("shard %s holds no recording, which is not a failure; conform matrix puts the shards together",
				c.Shard))
	default:
		list = append(list, fmt.Sprintf("shard %s: %s; conform matrix puts the shards together", c.Shard,
			countOf(c.count, "recording")))
	}
	if n := c.recorded; n > 0 {
		list = append(list,
			fmt.Sprintf("accepted in this recording, %s: where the provider itself answered and nobody changed the file, --foreign takes its word", countOf(n, "finding")))
	}
	return list
}

// wrongSide says which side is wrong where both have findings, "" elsewhere.
func (c *Checked) wrongSide() string {
	if agent := c.findings - c.ofSource; agent > 0 && c.ofSource > 0 {
		return fmt.Sprintf("which side is wrong: both; the agent in %s, the source of its replies in %s (side source, conform check --side server)",
			countOf(agent, "finding"), countOf(c.ofSource, "finding"))
	}
	return ""
}

// UnseenTeamRules says for each rule of the team that no recording shows why it saw
// nothing.
func (c *Checked) UnseenTeamRules() (reasons []string) {
	for _, known := range slices.Sorted(maps.Keys(c.reasons)) {
		id, reason, _ := strings.Cut(known, " ")
		if slices.Contains(c.Summary.Coverage.Unseen, id) && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// Results returns the results of the checks that saw something in the recording, in the
// order of the catalogue. The slice is the caller's; what it points to is shared.
func (r Recording) Results() []Result { return slices.Clone(r.results) }
