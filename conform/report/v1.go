package report

import (
	"cmp"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// The reports of schema v1, for readers that do not know v2 yet. They have levels in
// place of consequences and one finding for each place; what the provider
// contradicts is a warning there. V1 is written for one release.

type (
	runV1 struct {
		Schema     string     `json:"schema"`
		Tool       Tool       `json:"tool"`
		Subject    Subject    `json:"subject"`
		Set        Set        `json:"set"`
		Source     []string   `json:"source"`
		Ingress    []string   `json:"ingress"`
		Started    any        `json:"started"`
		DurationMS int64      `json:"duration_ms"`
		Results    []resultV1 `json:"results"`
		Summary    summaryV1  `json:"summary"`
		Guard      string     `json:"guard,omitempty"`
	}
	checkedV1 struct {
		Schema     string        `json:"schema"`
		Tool       Tool          `json:"tool"`
		Recordings []recordingV1 `json:"recordings"`
		PassedOver []string      `json:"passed_over,omitempty"`
		Summary    summaryV1     `json:"summary"`
	}
	recordingV1 struct {
		Path      string          `json:"path"`
		Format    evidence.Format `json:"format,omitempty"`
		Provider  string          `json:"provider,omitempty"`
		Verdict   Verdict         `json:"verdict"`
		Exchanges int             `json:"exchanges"`
		Observed  int             `json:"observed"`
		Findings  []findingV1     `json:"findings"`
		Skipped   []evidence.Skip `json:"skipped,omitempty"`
		Reason    string          `json:"reason,omitempty"`
	}
	resultV1 struct {
		Requirement string      `json:"requirement"`
		Level       string      `json:"level"`
		Check       string      `json:"check"`
		Case        string      `json:"case"`
		Provider    string      `json:"provider,omitempty"`
		Verdict     Verdict     `json:"verdict"`
		Observed    int         `json:"observed"`
		Findings    []findingV1 `json:"findings"`
		Reason      string      `json:"reason,omitempty"`
		Evidence    string      `json:"evidence,omitempty"`
		DurationMS  int64       `json:"duration_ms,omitempty"`
	}
	findingV1 struct {
		Requirement string      `json:"requirement"`
		Level       string      `json:"level"`
		Check       string      `json:"check"`
		Exchange    int         `json:"exchange"`
		Event       int         `json:"event"`
		Offset      int64       `json:"offset"`
		Path        string      `json:"path,omitempty"`
		Emitted     *emissionV1 `json:"emitted,omitempty"`
		Rule        string      `json:"rule,omitempty"`
		Message     string      `json:"message"`
		Fix         string      `json:"fix,omitempty"`
	}
	emissionV1 struct {
		Exchange int   `json:"exchange"`
		Event    int   `json:"event"`
		Offset   int64 `json:"offset"`
	}
	summaryV1 struct {
		Verdict Verdict `json:"verdict"`
		Exit    int     `json:"exit"`
		Counts  Counts  `json:"counts"`
		Areas   []Area  `json:"areas"`
	}
)

// V1 is the report as a document of schema conform.report.v1.
func (r *Run) V1() any {
	doc := runV1{
		Schema: "conform.report.v1", Tool: r.Tool, Subject: r.Subject.toV1(), Set: r.Set, Source: r.Source, Ingress: r.Ingress,
		Started: r.Started, DurationMS: r.DurationMS, Summary: r.Summary.toV1(), Guard: r.Guard, Results: []resultV1{},
	}
	for _, res := range r.Results {
		doc.Results = append(doc.Results, resultV1{
			Requirement: res.Requirement, Level: res.Consequence.Level(), Check: res.Check, Case: res.Case, Provider: res.Provider,
			Verdict: res.Verdict.toV1(), Observed: res.Observed, Findings: findingsV1(res.Findings), Reason: res.Reason,
			Evidence: res.Evidence, DurationMS: res.DurationMS,
		})
	}
	return doc
}

// V1 is the report as a document of schema conform.check.v1.
func (c *Checked) V1() any {
	doc := checkedV1{Schema: "conform.check.v1", Tool: c.Tool, PassedOver: c.PassedOver, Summary: c.Summary.toV1(), Recordings: []recordingV1{}}
	for _, r := range c.Recordings {
		doc.Recordings = append(doc.Recordings, recordingV1{
			Path: r.Path, Format: r.Format, Provider: r.Provider, Verdict: r.Verdict.toV1(), Exchanges: r.Exchanges,
			Observed: r.Observed, Findings: findingsV1(r.Findings), Skipped: r.Skipped, Reason: r.Reason,
		})
	}
	return doc
}

func (v Verdict) toV1() Verdict {
	if v == Contradicted {
		return Warn
	}
	return v
}

func (s Summary) toV1() summaryV1 {
	doc := summaryV1{Verdict: s.Verdict.toV1(), Exit: s.Exit, Counts: s.Counts.toV1(), Areas: []Area{}}
	for _, a := range s.Areas {
		a.Verdict, a.Counts = a.Verdict.toV1(), a.Counts.toV1()
		doc.Areas = append(doc.Areas, a)
	}
	return doc
}

func (c Counts) toV1() Counts {
	out := Counts{}
	for v, n := range c {
		out[v.toV1()] += n
	}
	return out
}

// findingsV1 lists every place of every finding.
func findingsV1(findings []Finding) []findingV1 {
	list := []findingV1{}
	for _, f := range findings {
		doc := findingV1{
			Requirement: f.Requirement, Level: f.Consequence.Level(), Check: f.Check, Exchange: f.Exchange, Event: f.Event, Offset: f.Offset,
			Path: f.Path, Rule: f.Rule, Message: f.Message, Fix: f.Fix,
		}
		if f.Verdict == Contradicted {
			doc.Level = specs.Degraded.Level()
		}
		if f.Emitted != nil {
			doc.Emitted = &emissionV1{f.Emitted.Exchange, f.Emitted.Event, f.Emitted.Offset}
		}
		list = append(list, doc)
		for _, p := range f.Places {
			again := doc
			again.Exchange, again.Event, again.Offset, again.Path, again.Message = p.Exchange, p.Event, p.Offset, p.Path, cmp.Or(p.Message, doc.Message)
			list = append(list, again)
		}
	}
	return list
}

// toV1 leaves out what schema v1 does not know.
func (s Subject) toV1() Subject {
	kinds := map[string]string{"command": "exec", "acp": "attach"}
	return Subject{Name: s.Name, Version: s.Version, Kind: cmp.Or(kinds[s.Kind], s.Kind)}
}
