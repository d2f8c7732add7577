package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/schemas"
)

// ReadRun reads a JSON report of [RunSchema], or a journal, which may be cut off. name
// stands in errors.
func ReadRun(name string, data []byte) (*Run, error) {
	if IsJournal(data) {
		j, err := ParseJournal(name, data)
		if err != nil {
			return nil, err
		}
		return j.Run(nil), nil
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil,
			fmt.Errorf("%s: is neither a JSON report of conform run nor a journal; make it with --report json=FILE or --journal FILE", name)
	}
	if head.Schema != RunSchema {
		return nil, fmt.Errorf("%s: is %q, this conform reads %s; make it with --report json=FILE of conform run", name,
			head.Schema, RunSchema)
	}
	if err := schemas.Validate(schemas.Report, data); err != nil {
		return nil, fmt.Errorf("%s: is not a whole report: %w", name, err)
	}
	var r Run
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: is not a whole report: %w", name, err)
	}
	r.Expected = r.synthesizedIDs()
	return &r, nil
}

// synthesizedIDs are the requirements of which the report says that no case shows them.
func (r *Run) synthesizedIDs() (ids []string) {
	for _, res := range r.Results {
		if res.isSynthesized() {
			ids = append(ids, res.Requirement)
		}
	}
	return ids
}

// isSynthesized reports whether NewRun made the result for an expected requirement.
func (r Result) isSynthesized() bool { return r.Case == "" && r.Verdict == NotTestable }

// caseResults are the results of cases as they were before a baseline was applied.
func (r *Run) caseResults() []Result {
	return slices.DeleteFunc(withoutExcuses(r.Results), Result.isSynthesized)
}

// journalHeader says which run this is.
func (r *Run) journalHeader() JournalHeader {
	return JournalHeader{
		Journal: JournalSchema, Tool: r.Tool, Subject: r.Subject, Set: r.Set, Policy: r.Policy, Source: r.Source,
		Ingress: r.Ingress,
		Seed:    r.Seed, Filter: r.Filter, Shard: r.Shard, Repeat: r.Repeat, Started: r.Started, Plan: r.Cases,
		Expected: r.Expected,
	}
}

// newRun is the beginning of the report of the run that h names.
func (h JournalHeader) newRun(baseline []Excuse) Run {
	r := Run{
		Tool: h.Tool, Subject: h.Subject, Set: h.Set, Policy: h.Policy, Source: h.Source, Ingress: h.Ingress,
		Started: h.Started,
		Seed:    h.Seed, Filter: h.Filter, Shard: h.Shard, Repeat: h.Repeat, Expected: h.Expected,
	}
	for _, e := range baseline {
		r.Baseline = append(r.Baseline, UsedExcuse{Excuse: e})
	}
	return r
}

// DiffersFrom says in what another run differs so that its results cannot be put beside
// those of r, "" when they can. The agent may be of another version: it was mended.
func (r *Run) DiffersFrom(h JournalHeader) string {
	of := func(h JournalHeader) []comparedMember {
		return []comparedMember{
			{"version of conform", h.Tool.Version},
			{"subject", h.Subject.Name},
			{"source", strings.Join(h.Source, ",")},
			{"ingress", strings.Join(h.Ingress, ",")},
			{"filter", h.Filter},
			{"shard", shardName(h.Shard)},
			{"set", h.Set.Name + " " + h.Set.Digest},
			{"strictness", fmt.Sprint(h.Policy.Strict)},
		}
	}
	return differingMember(of(r.journalHeader()), of(h))
}

// Settled are the names of the cases that need not be run again: those that were run, where
// nothing failed, was flaky, not testable or a fault of the harness.
func (r *Run) Settled() map[string]bool {
	settled := map[string]bool{}
	for _, c := range r.Cases {
		settled[c.Name] = c.Verdict != NotTestable // where there is no result, for example
	}
	for _, res := range r.Results {
		switch res.Verdict {
		case Fail, Flaky, NotTestable, HarnessError:
			settled[res.Case] = false
		default:
			if _, listed := settled[res.Case]; !listed {
				settled[res.Case] = true // of a report that lists no cases
			}
		}
	}
	return settled
}

// WithRerun is the report of r where the cases of j, which were run again, replace
// those of r.
func (r *Run) WithRerun(j *Journal, baseline []Excuse) *Run {
	again := j.Counts()
	merged := j.Header.newRun(baseline)
	merged.Interrupted = j.End == nil
	merged.DurationMS, merged.Isolation, merged.Live = r.DurationMS, r.Isolation, r.Live
	if j.End != nil {
		merged.DurationMS, merged.Guard = merged.DurationMS+j.End.DurationMS, j.End.Guard
		merged.Live = merged.Live.addLive(j.End.Live)
	}
	merged.Calls, merged.Hosts = r.Calls, r.Hosts
	results := slices.DeleteFunc(r.caseResults(), func(res Result) bool { return again[res.Case] > 0 })
	var fresh []Result
	for _, e := range j.Entries {
		fresh = append(fresh, e.Results...)
		merged.Calls = addCalls(merged.Calls, e.Calls)
		merged.Hosts = AddHosts(merged.Hosts, e.Hosts...)
	}
	before := map[string]CaseSummary{}
	for _, c := range r.Cases {
		before[c.Name] = c
	}
	for _, c := range j.plannedCases() {
		if known, ok := before[c.Name]; ok && again[c.Name] == 0 {
			c = known
		}
		merged.Cases = append(merged.Cases, c)
	}
	return NewRun(merged, append(results, FoldRepeats(fresh)...))
}

// withBaseline is r judged with another baseline.
func (r *Run) withBaseline(baseline []Excuse) *Run {
	again := r.journalHeader().newRun(baseline)
	again.DurationMS, again.Calls, again.Cases, again.Hosts = r.DurationMS, r.Calls, r.Cases, r.Hosts
	again.Isolation, again.Guard, again.Interrupted = r.Isolation, r.Guard, r.Interrupted
	return NewRun(again, r.caseResults())
}
