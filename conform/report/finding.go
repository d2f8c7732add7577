package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/specs"
)

// Finding is one cause: the breach of a requirement at the place where it was seen
// first, and the places where it came back.
type Finding struct {
	Requirement string
	// Verdict is Fail, Warn or Contradicted.
	Verdict Verdict
	// Finding is the first breach. Its consequence is always set.
	check.Finding
	// Answer says what became of the request, for a finding whose consequence is refused.
	Answer check.Answer
	// Places are the others, in order.
	Places []Place
}

// Place is where a breach came back. Ordinals that do not apply are -1.
type Place struct {
	Exchange, Event int
	Offset          int64
	Path            string
	// Message is empty where it is that of the finding.
	Message string
}

// NewFinding says what f leads to at a place. Where the rule does not hold, the
// consequence is [specs.None].
func (r Rule) NewFinding(f check.Finding, at specs.Place) Finding {
	at.Check = r.Check.ID
	consequence := r.Requirement.ConsequenceAt(at)
	if consequence != specs.None {
		consequence = cmp.Or(f.Consequence, consequence)
	}
	f.Consequence = consequence
	verdict := Warn
	if consequence.IsFailure() {
		verdict = Fail
	}
	return Finding{Requirement: r.Requirement.ID, Verdict: verdict, Finding: f}
}

// mergeCauses makes one finding of those that have one cause: the same check, rule
// and sentence with the same verdict. History that is sent again with each request
// repeats a breach, and so does a habit. A request that was refused is a finding apart
// from those that were not.
func mergeCauses(findings []Finding) []Finding {
	type cause struct {
		verdict           Verdict
		consequence       specs.Consequence
		check, rule, form string
		refused           bool
	}
	merged := []Finding{}
	first := map[cause]int{} // index in merged
	for _, f := range findings {
		key := cause{f.Verdict, f.Consequence, f.Check, f.Rule, cmp.Or(f.Form, f.Message), f.Answer == check.AnswerRefused}
		i, known := first[key]
		if !known {
			first[key] = len(merged)
			merged = append(merged, f)
			continue
		}
		if f.Refusal != "" && merged[i].Refusal == "" {
			merged[i].Refusal = f.Refusal
			merged[i].Message += fmt.Sprintf("; exchange %d: %s", f.Exchange, f.Refusal)
		}
		place := Place{f.Exchange, f.Event, f.Offset, f.Path, f.Message}
		if place.Message == merged[i].Message {
			place.Message = ""
		}
		merged[i].Places = append(merged[i].Places, place)
		merged[i].Answer = cmp.Or(merged[i].Answer, f.Answer)
	}
	return merged
}

func worstConsequence(findings []Finding) specs.Consequence {
	for _, c := range specs.Consequences {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Consequence == c }) {
			return c
		}
	}
	return ""
}

func worstVerdict(findings []Finding) Verdict {
	var all []Verdict
	for _, f := range findings {
		all = append(all, f.Verdict)
	}
	return Worst(all...)
}

// outcomeText is the consequence as a line of a report says it: whether this request was
// refused, or would be.
func (f Finding) outcomeText() string {
	switch {
	case f.Consequence != specs.Refused || f.Verdict == Contradicted || f.Answer == check.AnswerRefused:
		return string(f.Consequence)
	case f.Answer == check.AnswerRecorded:
		return "would be refused; accepted in this recording"
	}
	return "would be refused"
}

// The form of findings in JSON: an ordinal that does not apply is left out.
type (
	findingJSON struct {
		Requirement string            `json:"requirement"`
		Verdict     Verdict           `json:"verdict"`
		Consequence specs.Consequence `json:"consequence"`
		Answer      check.Answer      `json:"answer,omitempty"`
		Check       string            `json:"check"`
		placeJSON
		Emitted *placeJSON        `json:"emitted,omitempty"`
		Rule    string            `json:"rule,omitempty"`
		Message string            `json:"message"`
		Compare *check.Comparison `json:"compare,omitempty"`
		Fix     string            `json:"fix,omitempty"`
		Places  []otherPlaceJSON  `json:"places,omitempty"`
	}
	placeJSON struct {
		Exchange *int   `json:"exchange,omitempty"`
		Event    *int   `json:"event,omitempty"`
		Offset   *int64 `json:"offset,omitempty"`
		Path     string `json:"path,omitempty"`
	}
	otherPlaceJSON struct {
		placeJSON
		Message string `json:"message,omitempty"`
	}
)

func newPlaceJSON(p Place) placeJSON {
	return placeJSON{ordinalOrNil(p.Exchange), ordinalOrNil(p.Event), ordinalOrNil(p.Offset), p.Path}
}

func (p placeJSON) toPlace(message string) Place {
	return Place{ordinalOrMinus(p.Exchange), ordinalOrMinus(p.Event), ordinalOrMinus(p.Offset), p.Path, message}
}

func ordinalOrNil[N int | int64](n N) *N {
	if n < 0 {
		return nil
	}
	return &n
}

func ordinalOrMinus[N int | int64](n *N) N {
	if n == nil {
		return -1
	}
	return *n
}

// MarshalJSON writes the form of schema v2.
func (f Finding) MarshalJSON() ([]byte, error) {
	doc := findingJSON{
		Requirement: f.Requirement, Verdict: f.Verdict, Consequence: f.Consequence, Answer: f.Answer, Check: f.Check,
		placeJSON: newPlaceJSON(Place{Exchange: f.Exchange, Event: f.Event, Offset: f.Offset, Path: f.Path}),
		Rule:      f.Rule, Message: f.Message, Compare: f.Compare, Fix: f.Fix,
	}
	if e := f.Emitted; e != nil {
		at := newPlaceJSON(Place{Exchange: e.Exchange, Event: e.Event, Offset: e.Offset})
		doc.Emitted = &at
	}
	for _, p := range f.Places {
		doc.Places = append(doc.Places, otherPlaceJSON{newPlaceJSON(p), p.Message})
	}
	return marshalPlain(doc)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Finding) UnmarshalJSON(data []byte) error {
	var doc findingJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	at := doc.toPlace("")
	*f = Finding{Requirement: doc.Requirement, Verdict: doc.Verdict, Answer: doc.Answer, Finding: check.Finding{
		Check: doc.Check, Exchange: at.Exchange, Event: at.Event, Offset: at.Offset, Path: at.Path, Rule: doc.Rule,
		Message: doc.Message, Compare: doc.Compare, Fix: doc.Fix, Consequence: doc.Consequence,
	}}
	if doc.Emitted != nil {
		e := doc.Emitted.toPlace("")
		f.Emitted = &check.Emission{Exchange: e.Exchange, Event: e.Event, Offset: e.Offset}
	}
	for _, p := range doc.Places {
		f.Places = append(f.Places, p.toPlace(p.Message))
	}
	return nil
}
