package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/specs"
)

// Run is the report of `conform run`, schema conform.report.v2. Make it with
// NewRun; it is plain data afterwards.
type Run struct {
	Schema  string  `json:"schema"`
	Subject Subject `json:"subject"`
	Tool    Tool    `json:"tool"`
	Set     Set     `json:"set"`
	Policy  Policy  `json:"policy"`
	// Source says what answered the subject, Ingress how it reached the proxy.
	Source     []string  `json:"source"`
	Ingress    []string  `json:"ingress"`
	Started    time.Time `json:"started"`
	DurationMS int64     `json:"duration_ms"`
	// Calls are the calls of the subject to a model. They are nil where none was
	// meant to be made.
	Calls   *Calls   `json:"calls,omitempty"`
	Results []Result `json:"results"`
	Summary Summary  `json:"summary"`
	// Expected lists the requirements of the set that the run must show; the others
	// may stay unseen.
	Expected []string `json:"-"`
	// Guard says which guard ended the run early, "" when none did.
	Guard string `json:"guard,omitempty"`
	// Interrupted is set when the run was ended before its last case.
	Interrupted bool `json:"interrupted,omitempty"`
	// Seed makes the made-up words of the run again; "" where only cassettes answered.
	Seed string `json:"seed,omitempty"`
	// Filter is what selected the cases, "" for all.
	Filter string `json:"filter,omitempty"`
	// Shard is the part of a run that this is; nil for the whole.
	Shard *Shard `json:"shard,omitempty"`
	// Repeat is how often each case was run, 0 for once.
	Repeat int `json:"repeat,omitempty"`
	// Cases lists what was selected, in order of name.
	Cases []CaseSummary `json:"cases,omitempty"`
	// Hosts are the foreign hosts that the agent tried to reach, in order of name.
	Hosts []Host `json:"hosts,omitempty"`
	// Isolation is nil where the agent ran inside the harness.
	Isolation *Isolation `json:"isolation,omitempty"`
	// Live is nil where no provider was asked.
	Live *Live `json:"live,omitempty"`
	// Differences are where the ways in disagree.
	Differences []Difference `json:"differences,omitempty"`
	// Issues are the addresses where what is known to be wrong with the subject is worked on, beside those of the baseline.
	Issues []string `json:"issues,omitempty"`
	// Baseline says what each entry of the baseline was good for.
	Baseline []UsedExcuse `json:"baseline,omitempty"`
}

// Selection says which cases the run had, "" for all.
func (r *Run) Selection() string {
	var said []string
	if r.Filter != "" {
		said = append(said, "cases of the filter "+r.Filter)
	}
	if r.Shard != nil {
		said = append(said, "shard "+r.Shard.String())
	}
	if r.Interrupted {
		said = append(said, "ended before the last case")
	}
	return strings.Join(said, ", ")
}

// Tool is the program that wrote a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Subject is the agent, the server or the gateway under test.
type Subject struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Kind is in-process, command, driver or acp of an agent, or else server or gateway.
	Kind string `json:"kind"`
	// Control is the level up to which the agent can be controlled, L0 to L5.
	Control string `json:"control,omitempty"`
	// File is the source file that the agent's command line names, where people find it.
	File string `json:"file,omitempty"`
	// Wire is what clients speak to a server or a gateway, "" for an agent. UpstreamWire is what a gateway
	// speaks to the provider, "" where both sides speak one wire.
	Wire         string `json:"wire,omitempty"`
	UpstreamWire string `json:"upstream_wire,omitempty"`
}

// Route names the wires of a server or a gateway: "anthropic to gemini". It is "" for an agent.
func (s Subject) Route() string {
	if s.UpstreamWire == "" {
		return s.Wire
	}
	return s.Wire + " to " + s.UpstreamWire
}

// Set lists the requirements that the subject was judged by. Digest is a hash of
// exactly these ids.
type Set struct {
	Name         string   `json:"name"`
	Digest       string   `json:"digest"`
	Requirements []string `json:"requirements"`
}

// NewSet returns the set called name with the given requirement ids.
func NewSet(name string, ids []string) Set {
	ids = append([]string{}, slices.Compact(slices.Sorted(slices.Values(ids)))...) // a list in JSON, also when empty
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return Set{Name: name, Digest: "sha256:" + hex.EncodeToString(sum[:]), Requirements: ids}
}

// Summary is the whole in a few numbers.
type Summary struct {
	Verdict Verdict `json:"verdict"`
	Exit    int     `json:"exit"`
	// Counts are of results in a Run, of recordings in a Checked.
	Counts Counts `json:"counts"`
	// Findings counts the findings by verdict.
	Findings Counts   `json:"findings"`
	Coverage Coverage `json:"coverage"`
	Areas    []Area   `json:"areas"`
}

// Area counts the verdicts of the requirements of one area: the verdict of a
// requirement is the worst of its results.
type Area struct {
	Area    string  `json:"area"`
	Verdict Verdict `json:"verdict"`
	Counts  Counts  `json:"counts"`
	// Observed is the sum over all results.
	Observed int `json:"observed"`
}

// Schema names of the machine-readable reports.
const (
	RunSchema     = "conform.report.v2"
	CheckedSchema = "conform.check.v2"
	ListSchema    = "conform.list.v2"
	ExplainSchema = "conform.explain.v1"
	// BaselineSchema is that of what conform baseline update --json prints.
	BaselineSchema = "conform.baseline.v1"
)

// NewRun completes r with results; Schema, Results and Summary are made here, the
// caller sets everything else. An expected requirement without any result is not
// testable: nothing may vanish. Where calls were meant to be made and none was accepted,
// nothing passes. What only the whole run can show is not asked of a shard.
func NewRun(r Run, results []Result) *Run {
	r.Schema = RunSchema
	r.Results = withoutExcuses(results)
	for _, id := range r.Expected {
		if !slices.ContainsFunc(results, func(res Result) bool { return res.Requirement == id }) {
			res := Result{Requirement: id, Consequence: specs.Refused, Findings: []Finding{}}
			facts := decide.Facts{Unseen: noCaseShows}
			if r, err := specs.FindRequirement(id); err == nil {
				res.Consequence, facts.Unseen = r.Consequence, cmp.Or(r.Unseen, noCaseShows)
			}
			res.judgeAgain(facts)
			r.Results = append(r.Results, res)
		}
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(quoteRank(a.Requirement)-quoteRank(b.Requirement), cmp.Compare(a.Requirement, b.Requirement),
			cmp.Compare(a.Case, b.Case), cmp.Compare(a.Check, b.Check))
	})
	r.Policy.apply(r.Results)
	if r.Shard == nil && r.Calls != nil && r.Calls.Accepted == 0 {
		withdrawPasses(r.Results, noAcceptedCall(*r.Calls, ""))
	}
	r.Cases, r.Baseline = slices.Clone(r.Cases), slices.Clone(r.Baseline)
	r.applyBaseline()
	r.Differences = compareIngress(r.Results)
	r.judgeCases()
	r.sumUp()
	return &r
}

// judgeCases gives each case its verdict, and its findings their causes. What the baseline
// excuses, or what differs between runs, explains nothing else.
func (r *Run) judgeCases() {
	verdicts := map[string][]Verdict{}
	for _, res := range r.Results {
		if !res.isBeside() {
			verdicts[res.Case] = append(verdicts[res.Case], res.Verdict)
		}
	}
	findings := map[string][]*Finding{}
	for i := range r.Results {
		res := &r.Results[i]
		res.Findings = slices.Clone(res.Findings)
		for k := range res.Findings {
			res.Findings[k].Cause = ""
			if res.Verdict != KnownFail && res.Verdict != Flaky {
				findings[res.Case] = append(findings[res.Case], &res.Findings[k])
			}
		}
	}
	for _, list := range findings {
		causes(list)
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Verdict = decide.Case(decide.CaseFacts{
			Results: verdicts[c.Name], NotRun: c.Reason != "", Planned: c.Reason == neverRun,
			Deviated: len(c.Deviations) > 0,
		})
	}
	slices.SortStableFunc(r.Cases, func(a, b CaseSummary) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
}

func (r *Run) sumUp() {
	policy := r.Policy
	if r.Shard != nil {
		policy.Require = nil
	}
	r.Summary = newSummary(r.Results, r.Set.Requirements, policy)
	for _, res := range r.Results {
		if !res.isBeside() {
			r.Summary.Counts[res.Verdict]++
		}
	}
	for _, used := range r.Baseline {
		if used.Verdict == Stale {
			r.Summary.Counts[Stale]++
		}
	}
	r.Summary.conclude(policy, decide.ReportFacts{
		Guarded: r.Guard != "", Interrupted: r.Interrupted, Shard: r.Shard != nil, Empty: len(r.Summary.Counts) == 0 &&
			len(r.Cases) == 0,
	})
}

// countResults counts the results that the verdict rests on.
func (r *Run) countResults() (n int) {
	for i := range r.Results {
		if !r.Results[i].isBeside() {
			n++
		}
	}
	return n
}

// noAcceptedCall says why nothing passes; details may be empty.
func noAcceptedCall(c Calls, details string) string {
	if c.Made == 0 {
		return "no call of a model was made"
	}
	text := fmt.Sprintf("no call was accepted (%d made)", c.Made)
	if details != "" {
		text += ": " + details
	}
	return text
}

// noCaseShows is why a requirement was not seen where nothing more is known.
const noCaseShows = "no case of this run shows it"

// newSummary sums up results. Counts and the verdict are the caller's to fill in.
func newSummary(results []Result, set []string, policy Policy) Summary {
	s, sums := Summary{Counts: Counts{}, Findings: Counts{}}, tallies{}
	for i := range results {
		res := &results[i]
		if res.isBeside() {
			continue
		}
		sums.add(res)
		for _, f := range res.Findings {
			if res.Verdict == KnownFail && f.Verdict != Contradicted {
				f.Verdict = res.Verdict
			}
			s.Findings[f.Verdict]++
		}
	}
	s.Areas, s.Coverage = sums.areas(), sums.coverage(set, policy.Require)
	return s
}

// conclude sets the verdict and the exit code.
func (s *Summary) conclude(policy Policy, f decide.ReportFacts) {
	f.Counts, f.Findings, f.Missing, f.FailOnWarn = s.Counts, s.Findings, len(s.Coverage.Missing), policy.FailOn == Warn
	for _, id := range policy.MustSee {
		if slices.Contains(s.Coverage.Unseen, id) {
			f.Unseen++
		}
	}
	s.Verdict, s.Exit = decide.Report(f)
}

// Live is what a run against the providers themselves cost, and who answered. It is
// plain data.
type Live struct {
	Requests int `json:"requests"`
	// Tokens are all tokens as the replies report them; Estimated is how many of them no
	// reply has reported.
	Tokens    int `json:"tokens"`
	Estimated int `json:"estimated_tokens,omitempty"`
	// Cost is in Currency, both from the prices that the user gave.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	// Models are the models that the cases asked for, by provider.
	Models map[string][]string `json:"models,omitempty"`
	// StandIns are the addresses that answered in a provider's place, by provider. What
	// they answer says nothing about the provider.
	StandIns map[string]string `json:"stand_ins,omitempty"`
}

// addLive is both together.
func (l *Live) addLive(m *Live) *Live {
	if l == nil || m == nil {
		if l == nil {
			return m
		}
		return l
	}
	sum := *l
	sum.Requests, sum.Tokens, sum.Estimated, sum.Cost = l.Requests+m.Requests, l.Tokens+m.Tokens,
		l.Estimated+m.Estimated, l.Cost+m.Cost
	sum.Models, sum.StandIns = maps.Clone(l.Models), maps.Clone(l.StandIns)
	if sum.Models == nil {
		sum.Models = map[string][]string{}
	}
	if sum.StandIns == nil {
		sum.StandIns = map[string]string{}
	}
	maps.Copy(sum.Models, m.Models)
	maps.Copy(sum.StandIns, m.StandIns)
	return &sum
}

// liveNotes are the sentences of a report about l, which may be nil.
func (l *Live) liveNotes() (list []string) {
	if l == nil {
		return nil
	}
	text := fmt.Sprintf("spent: %s, %s", countOf(l.Requests, "request"), countOf(l.Tokens, "token"))
	if l.Estimated > 0 {
		text += fmt.Sprintf(" (%d of them estimated)", l.Estimated)
	}
	if l.Currency != "" {
		text += strings.TrimRight(fmt.Sprintf(", %.4f %s", l.Cost, l.Currency), " ")
	}
	list = append(list, text)
	for _, provider := range slices.Sorted(maps.Keys(l.StandIns)) {
		list = append(list,
			fmt.Sprintf("stand-in: %s answered in the place of %s; this says nothing about the provider",
				l.StandIns[provider], provider))
	}
	return list
}

// FoldRepeats makes one result of those of a case that was run several times. Where
// its verdicts differ it is flaky, with the findings of the worst run. A fault of the
// harness stays one.
func FoldRepeats(results []Result) []Result {
	type name struct{ check, requirement, testCase string }
	groups := map[name][]Result{}
	var order []name
	for _, res := range results {
		key := name{res.Check, res.Requirement, res.Case}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], res)
	}
	folded := make([]Result, len(order))
	for i, key := range order {
		folded[i] = foldGroup(groups[key])
	}
	return folded
}

// foldGroup folds the results of one check and case, at least one.
func foldGroup(group []Result) Result {
	worst := slices.MaxFunc(group, func(a, b Result) int {
		return cmp.Or(a.Verdict.Rank()-b.Verdict.Rank(), cmp.Compare(len(a.Findings), len(b.Findings)))
	})
	if len(group) == 1 {
		return worst
	}
	worst.Runs = Counts{}
	for _, res := range group {
		worst.Runs[res.Verdict]++
	}
	worst.judgeAgain(decide.Facts{Runs: worst.Runs})
	return worst
}

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
	slices.SortFunc(list,
		func(a, b Difference) int { return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Case, b.Case)) })
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
