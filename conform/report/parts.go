package report

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// CaseSummary is what became of one case in a run.
type CaseSummary struct {
	// Name is the name of the case as in [Result].Case.
	Name string `json:"name"`
	// Verdict is the worst of the case's results; not-applicable where the case was
	// not run, not-testable where it was run and shows none of the selected
	// requirements. [NewRun] sets it.
	Verdict  Verdict `json:"verdict"`
	Provider string  `json:"provider"`
	Ingress  string  `json:"ingress,omitempty"`
	Source   string  `json:"source,omitempty"`
	// DurationMS is how long the case ran; with repetitions, the sum.
	DurationMS int64 `json:"duration_ms,omitempty"`
	// Line is the line of the agent, as FILE:LINE, at which it says that it failed.
	Line string `json:"line,omitempty"`
	// Deviations lists what did not go as scripted.
	Deviations []string `json:"deviations,omitempty"`
	// Effects are what the agent did beside its conversation: processes that it left
	// behind, files outside its folders. They are not failures.
	Effects []string `json:"effects,omitempty"`
	// Reason says why the case was not run, "" when it was.
	Reason string `json:"reason,omitempty"`
}

// Host is a host outside the providers that the agent tried to reach. The
// connection was refused.
type Host struct {
	Name string `json:"host"`
	// Attempts counts connections over all cases.
	Attempts int `json:"attempts"`
	// Note says what is known of the host, e.g. that it receives telemetry.
	Note string `json:"note,omitempty"`
}

// Isolation says whether the agent could reach anything but the harness.
type Isolation struct {
	Enforced bool `json:"enforced"`
	// Reason says why it is not enforced.
	Reason string `json:"reason,omitempty"`
}

// Shard is one of several parts of a run. The zero value is the whole run.
type Shard struct {
	// Index counts from 1 to Of.
	Index int `json:"index"`
	Of    int `json:"of"`
}

// MaxShards bounds the number of parts of a run.
const MaxShards = 10_000

// ParseShard reads "2/4", the second of four parts.
func ParseShard(text string) (Shard, error) {
	first, second, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(first)
	of, err2 := strconv.Atoi(second)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return Shard{}, fmt.Errorf("%q is not a part of a run; write 2/4 for the second of four", text)
	case of < 1 || of > MaxShards:
		return Shard{}, fmt.Errorf("%q: a run has 1 to %d parts", text, MaxShards)
	case index < 1 || index > of:
		return Shard{}, fmt.Errorf("%q: the parts are counted from 1 to %d", text, of)
	}
	return Shard{Index: index, Of: of}, nil
}

// String is the form that ParseShard reads, "" for the whole run.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Holds reports whether a case belongs to the shard. It depends on the name alone:
// a new case never moves another one.
func (s Shard) Holds(caseName string) bool {
	if s.Of <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(caseName))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.Of) == uint64(s.Index-1) //nolint:gosec // neither is negative
}

// Excuse is one entry of a baseline: a breach that is known.
type Excuse struct {
	// Pattern is of CHECK/CASE; the guide about gates explains it.
	Pattern string `json:"pattern" yaml:"pattern" data:"required,is=pattern"`
	// Reason and Issue say why the breach is known and where it is worked on.
	Reason string `json:"reason" yaml:"reason" data:"required"`
	Issue  string `json:"issue" yaml:"issue" data:"required,is=address"`
	// Expires is the first day, yyyy-mm-dd, on which the entry excuses nothing.
	Expires Day `json:"expires" yaml:"expires" data:"required,is=day"`
	// Flaky is set for a breach that occurs in some runs only.
	Flaky bool `json:"flaky,omitempty" yaml:"flaky,omitempty"`
	// EndsCase is set for a breach that ends its case early: what was not testable in a
	// case is excused together with it.
	EndsCase bool `json:"ends_case,omitempty" yaml:"ends_case,omitempty"`
}

// Day is a day, yyyy-mm-dd. In YAML it needs no quotes.
type Day string

// UnmarshalText takes what stands in a file; its form is checked where it is used.
func (d *Day) UnmarshalText(text []byte) error {
	*d = Day(text)
	return nil
}

// UsedExcuse says what an entry of the baseline was good for in a run.
type UsedExcuse struct {
	Excuse
	// Verdict is known-fail where the entry excused a result, stale where it is red,
	// and not-applicable where the run has no case for it.
	Verdict Verdict `json:"verdict"`
	// Results counts the results that it excused.
	Results int `json:"results,omitempty"`
	// Problem says why the entry is stale.
	Problem string `json:"problem,omitempty"`
}
