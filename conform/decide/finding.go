package decide

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// Finding is one cause: the breach of a requirement at the place where it was seen first, and
// the places where it came back. A check sets what it sees; requirement, verdict, consequence
// and answer are set when the finding is judged.
type Finding struct {
	Requirement string `json:"requirement"`
	// Verdict is Fail, Warn or Contradicted.
	Verdict Verdict `json:"verdict"`
	// Consequence is what the breach leads to. A check sets it where that depends on the place
	// and the check knows better than the requirement.
	Consequence specs.Consequence `json:"consequence"`
	// Answer says what became of the request, for a finding whose consequence is refused.
	Answer Answer `json:"answer,omitempty"`
	Check  string `json:"check"`
	// Side is source for a finding about the source of the replies, which is none of the agent's.
	Side string `json:"side,omitempty"`
	// Event is the ordinal of the stream event, Offset the byte offset in the body.
	Exchange Ordinal `json:"exchange,omitzero"`
	Event    Ordinal `json:"event,omitzero"`
	Offset   Ordinal `json:"offset,omitzero"`
	// Path points into the request or reply, e.g. messages[3].content[0].signature.
	Path string `json:"path,omitempty"`
	// Emitted says where the reply stands that the finding compares with.
	Emitted *Place `json:"emitted,omitempty"`
	// Rule cites the provider rule or the requirement's source, e.g. "A-37".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// Compare shows what differs, for a finding about a changed value.
	Compare *Comparison `json:"compare,omitempty"`
	Fix     string      `json:"fix,omitempty"`
	// Places are where the breach came back, in order.
	Places []Place `json:"places,omitempty"`
	// Cause names the finding of the same case that this one follows from, as CHECK#N: the Nth
	// finding of the check, counted from 0.
	Cause string `json:"cause,omitempty"`
	// Refusal is what the server said of the breach, in the message.
	Refusal string `json:"-"`
	// Form is the message without its particulars: findings of one check and rule with one form
	// have one cause. "" stands for the message itself.
	Form string `json:"form,omitempty"`
}

// Ordinal counts from 0. A negative one says that there is nothing to count, as the exchange of
// a finding about a process.
type Ordinal int

// IsZero reports whether JSON leaves the ordinal out.
func (o Ordinal) IsZero() bool { return o < 0 }

// Place is where something stands or came back.
type Place struct {
	Exchange Ordinal `json:"exchange,omitzero"`
	Event    Ordinal `json:"event,omitzero"`
	Offset   Ordinal `json:"offset,omitzero"`
	Path     string  `json:"path,omitempty"`
	// Message is empty where it is that of the finding.
	Message string `json:"message,omitempty"`
}

// Comparison shows two values side by side around the first byte that differs. Its
// excerpts hold printable characters only; of a token they hold a few around the
// difference, too little to use it.
type Comparison struct {
	// Expected is what the provider emitted or an earlier request held, Actual what
	// was sent.
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	// Mark is where both excerpts differ first, in characters from their start.
	Mark int `json:"mark"`
	// Differs is the offset in bytes of the first difference in the whole values,
	// which have ExpectedBytes and ActualBytes.
	Differs       int `json:"differs"`
	ExpectedBytes int `json:"expected_bytes"`
	ActualBytes   int `json:"actual_bytes"`
}

// UnmarshalJSON reads a finding. An ordinal that is left out does not apply.
func (f *Finding) UnmarshalJSON(data []byte) error {
	type plain Finding
	p := plain{Exchange: -1, Event: -1, Offset: -1}
	err := json.Unmarshal(data, &p)
	*f = Finding(p)
	return err
}

// UnmarshalJSON reads a place. An ordinal that is left out does not apply.
func (p *Place) UnmarshalJSON(data []byte) error {
	type plain Place
	q := plain{Exchange: -1, Event: -1, Offset: -1}
	err := json.Unmarshal(data, &q)
	*p = Place(q)
	return err
}

// At returns the place where the breach was seen first.
func (f *Finding) At() Place { return Place{f.Exchange, f.Event, f.Offset, f.Path, ""} }

// Where says where a finding is: exchange, event, byte, path and rule, as far as they apply.
func (f *Finding) Where() string {
	text := f.At().String()
	if f.Rule != "" {
		text = strings.TrimPrefix(text+", rule "+f.Rule, ", ")
	}
	return text
}

// String names the ordinals and the path that apply.
func (p Place) String() string {
	var parts []string
	for i, n := range []Ordinal{p.Exchange, p.Event, p.Offset} {
		if n >= 0 {
			parts = append(parts, fmt.Sprintf("%s %d", []string{"exchange", "event", "byte"}[i], n))
		}
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(parts, ", ")
}

// Outcome is the consequence as a line of a report says it: whether this request was refused, or
// would be.
func (f *Finding) Outcome() string {
	switch {
	case f.Consequence != specs.Refused || f.Verdict == Contradicted || f.Answer == AnswerRefused:
		return string(f.Consequence)
	case f.Answer == AnswerRecorded:
		return "would be refused; accepted in this recording"
	}
	return "would be refused"
}

// Answer says what became of a request, as far as that bears on a rule by which the
// provider refuses it.
type Answer string

const (
	// AnswerNone is given where nothing is known: the request was not answered, or by a
	// script, a gateway or an unknown host, or it was turned away before its form was read.
	AnswerNone Answer = ""
	// AnswerRefused: the request was refused for its form.
	AnswerRefused Answer = "refused"
	// AnswerAccepted: the provider itself, in evidence that we trust, accepted it.
	AnswerAccepted Answer = "accepted"
	// AnswerRecorded: a recording of another tool, which anybody can edit, says that the
	// provider accepted it.
	AnswerRecorded Answer = "accepted-in-recording"
	// AnswerSimulated: our strict simulator accepted it.
	AnswerSimulated Answer = "accepted-by-simulator"
)
