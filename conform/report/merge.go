package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Part is a report with the name of its file.
type Part struct {
	Name string
	*Run
}

// MergeShards puts the shards of one run together. The result is what the run would
// have been in one piece, except for times. The error says which file does not fit.
func MergeShards(parts []Part) (*Run, error) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return a.Shard.Index - b.Shard.Index })
	first := parts[0]
	for _, p := range parts {
		if err := first.checkShard(p); err != nil {
			return nil, err
		}
	}
	if err := checkComplete(parts); err != nil {
		return nil, err
	}
	h := first.journalHeader()
	h.Shard, h.Expected = nil, nil
	merged := h.newRun(nil)
	for _, used := range first.Baseline {
		merged.Baseline = append(merged.Baseline, UsedExcuse{Excuse: used.Excuse})
	}
	var results []Result
	ended := first.Started
	for _, p := range parts {
		results = append(results, p.caseResults()...)
		merged.Expected = append(merged.Expected, p.Expected...)
		merged.Cases = append(merged.Cases, p.Cases...)
		merged.Calls = addCalls(merged.Calls, p.Calls)
		merged.Hosts = AddHosts(merged.Hosts, p.Hosts...)
		merged.Isolation = mergeIsolation(merged.Isolation, p.Isolation)
		merged.Guard = joinDistinct(merged.Guard, p.Guard)
		merged.Live = merged.Live.addLive(p.Live)
		if p.Started.Before(merged.Started) {
			merged.Started = p.Started
		}
		if end := p.Started.Add(time.Duration(p.DurationMS) * time.Millisecond); end.After(ended) {
			ended = end
		}
	}
	merged.DurationMS = ended.Sub(merged.Started).Milliseconds()
	slices.Sort(merged.Expected)
	merged.Expected = slices.Compact(merged.Expected)
	return NewRun(merged, results), nil
}

// checkShard says why q is not a shard of the same run as p.
func (p Part) checkShard(q Part) error {
	why := differingMember([]comparedMember{
		{"number of shards", fmt.Sprint(p.Shard.Of), fmt.Sprint(q.Shard.Of)},
		{"version of conform", p.Tool.Version, q.Tool.Version},
		{"subject", p.Subject.String(), q.Subject.String()},
		{"kind of subject", p.Subject.Kind, q.Subject.Kind},
		{"set", p.Set.Name, q.Set.Name},
		{"set digest", p.Set.Digest, q.Set.Digest},
		{"source", strings.Join(p.Source, ","), strings.Join(q.Source, ",")},
		{"ingress", strings.Join(p.Ingress, ","), strings.Join(q.Ingress, ",")},
		{"seed", p.Seed, q.Seed},
		{"filter", p.Filter, q.Filter},
		{"policy", p.Policy.String(), q.Policy.String()},
		{"number of runs of a case", fmt.Sprint(p.Repeat), fmt.Sprint(q.Repeat)},
		{"baseline", excusesText(p.Run), excusesText(q.Run)},
	})
	if why != "" {
		return fmt.Errorf("%s and %s: are not shards of one run: %s; run all shards with the same program and flags", p.Name, q.Name, why)
	}
	if q.Interrupted {
		return fmt.Errorf("%s: shard %s was ended before its last case; run it again, or go on with its --journal", q.Name, q.Shard)
	}
	return nil
}

// String names what the policy adds.
func (p Policy) String() string {
	return fmt.Sprintf("strict %t, fail on %s, require %s", p.Strict, p.FailOn, strings.Join(p.Require, ","))
}

func excusesText(r *Run) string {
	var b strings.Builder
	for _, used := range r.Baseline {
		fmt.Fprintf(&b, "%+v\n", used.Excuse)
	}
	return b.String()
}

// repeatedResult finds a result of a check and case that has an earlier one. It would be
// counted twice.
func repeatedResult(results []Result) (Result, bool) {
	type key struct{ check, name string }
	seen := map[key]bool{}
	for _, r := range results {
		k := key{r.Check, r.Case}
		if r.Case != "" && seen[k] {
			return r, true
		}
		seen[k] = true
	}
	return Result{}, false
}

// checkComplete says which shards are missing or stand there twice, and which case is in
// two of them. The parts are in order of their shards.
func checkComplete(parts []Part) error {
	var names []string
	var shards []Shard
	for _, p := range parts {
		names, shards = append(names, p.Name), append(shards, *p.Shard)
	}
	if err := checkShards(names, shards, parts[0].Subject.String()); err != nil {
		return err
	}
	owner := map[string]string{}
	for _, p := range parts {
		for _, c := range p.Cases {
			if other, twice := owner[c.Name]; twice {
				return fmt.Errorf("%s and %s: both hold the case %s; they are not shards of one run", other, p.Name, c.Name)
			}
			owner[c.Name] = p.Name
		}
		if r, twice := repeatedResult(p.Results); twice {
			return fmt.Errorf("%s: holds the result of %s for %q twice; it was changed, run the shard again", p.Name, r.Check, r.Case)
		}
	}
	return nil
}

// maxMissing is how many missing shards an error names.
const maxMissing = 10

// checkShards says which shards of a whole are missing or stand there twice. They are in order.
func checkShards(names []string, shards []Shard, whole string) error {
	byIndex := map[int]string{}
	for i, s := range shards {
		if other, twice := byIndex[s.Index]; twice {
			return fmt.Errorf("%s and %s: are both shard %s; name each shard once", other, names[i], s)
		}
		byIndex[s.Index] = names[i]
	}
	var missing []string
	for i := 1; i <= shards[0].Of; i++ {
		if byIndex[i] == "" {
			missing = append(missing, Shard{i, shards[0].Of}.String())
		}
	}
	if n := len(missing); n > 0 {
		list := strings.Join(missing[:min(n, maxMissing)], ", ")
		if n > maxMissing {
			list += fmt.Sprintf(" and %d more", n-maxMissing)
		}
		return fmt.Errorf("%s: %s of %s missing: %s; name the reports of all shards", names[0], countOf(n, "shard"), whole, list)
	}
	return nil
}

// mergeIsolation is enforced where both are.
func mergeIsolation(a, b *Isolation) *Isolation {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Isolation{Enforced: a.Enforced && b.Enforced, Reason: joinDistinct(a.Reason, b.Reason)}
}

// joinDistinct joins two texts that may be empty or the same.
func joinDistinct(a, b string) string {
	switch {
	case a == "":
		return b
	case strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}
