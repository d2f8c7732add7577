package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/specs"
)

// Run is the report of `conform run`, schema conform.report.v1. Make it with
// NewRun; it is plain data afterwards.
type Run struct {
	Schema  string  `json:"schema"`
	Tool    Tool    `json:"tool"`
	Subject Subject `json:"subject"`
	Set     Set     `json:"set"`
	// Source says what answered the subject, Ingress how it reached the proxy.
	Source     []string  `json:"source"`
	Ingress    []string  `json:"ingress"`
	Started    time.Time `json:"started"`
	DurationMS int64     `json:"duration_ms"`
	Results    []Result  `json:"results"`
	Summary    Summary   `json:"summary"`
	// Guard says which guard ended the run early, "" when none did.
	Guard string `json:"guard,omitempty"`
}

// Tool is the program that wrote a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Subject is the agent under test.
type Subject struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Kind is in-process, exec, attach or driver.
	Kind string `json:"kind"`
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
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return Set{Name: name, Digest: "sha256:" + hex.EncodeToString(sum[:]), Requirements: ids}
}

// Summary is the whole in a few numbers.
type Summary struct {
	Verdict Verdict `json:"verdict"`
	Exit    int     `json:"exit"`
	// Counts are of results in a Run, of recordings in a Checked.
	Counts Counts `json:"counts"`
	Areas  []Area `json:"areas"`
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
	RunSchema     = "conform.report.v1"
	CheckedSchema = "conform.check.v1"
	ListSchema    = "conform.list.v2"
	ExplainSchema = "conform.explain.v1"
)

// NewRun completes r, whose Tool, Subject, Set, Source, Ingress, Started,
// DurationMS and Guard the caller has set, with results. A requirement of the
// set without any result is not testable: nothing may vanish.
func NewRun(r Run, results []Result) *Run {
	r.Schema = RunSchema
	r.Results = slices.Clone(results)
	for _, id := range r.Set.Requirements {
		if !slices.ContainsFunc(results, func(res Result) bool { return res.Requirement == id }) {
			r.Results = append(r.Results, notTestable(id))
		}
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Requirement, b.Requirement), cmp.Compare(a.Case, b.Case), cmp.Compare(a.Check, b.Check))
	})
	r.Summary = newSummary(r.Results)
	r.Summary.Exit = r.exitCode()
	return &r
}

func notTestable(id string) Result {
	consequence := specs.Refused
	if r, err := specs.FindRequirement(id); err == nil {
		consequence = r.Consequence
	}
	return Result{Requirement: id, Consequence: consequence, Level: consequence.Level(), Verdict: NotTestable, Findings: []Finding{}, Reason: "no case of this run shows it"}
}

func newSummary(results []Result) Summary {
	s := Summary{Counts: Counts{}}
	var all []Verdict
	for _, res := range results {
		s.Counts[res.Verdict]++
		all = append(all, res.Verdict)
	}
	s.Verdict = Worst(all...)
	s.Areas = areaRows(results)
	return s
}

func (r *Run) exitCode() int {
	switch {
	case r.Guard != "":
		return ExitGuard
	case len(r.Results) == 0:
		return ExitUsage
	}
	return r.Summary.Verdict.Exit()
}
