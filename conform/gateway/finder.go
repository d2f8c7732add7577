package gateway

import (
	"fmt"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// finder collects what a case shows of each duty.
type finder struct {
	name, provider string
	seen           map[string]*report.Result
	order          []string
	calls          report.Calls
	// exchanges are those of the client, behind are those behind the gateway.
	exchanges, behind []evidence.Exchange
}

func newFinder(name, provider string) *finder {
	return &finder{name: name, provider: provider, seen: map[string]*report.Result{}}
}

func (f *finder) resultOf(id string) *report.Result {
	if f.seen[id] == nil {
		f.seen[id] = &report.Result{Requirement: id, Check: id, Case: f.name, Provider: f.provider, Findings: []decide.Finding{}}
		f.order = append(f.order, id)
	}
	return f.seen[id]
}

// seeDuty counts a place where a duty could have been broken.
func (f *finder) seeDuty(id string) { f.resultOf(id).Observed++ }

// maxFindings bounds the findings of one duty in one case.
const maxFindings = 20

// breach is what a finding says. Without a consequence it is that of the duty.
type breach struct {
	exchange    int
	path        string
	consequence specs.Consequence
	rule        string // where another rule than the duty says what is wrong
	compare     *decide.Comparison
}

// reportBreach adds a breach of a duty.
func (f *finder) reportBreach(id string, at breach, form string, args ...any) {
	res := f.resultOf(id)
	if len(res.Findings) >= maxFindings {
		return
	}
	found := decide.Finding{
		Requirement: id, Check: id, Rule: id, Exchange: decide.Ordinal(at.exchange), Event: -1, Offset: -1, Path: at.path,
		Consequence: at.consequence, Message: fmt.Sprintf(form, args...), Compare: at.compare, Form: form,
	}
	if at.rule != "" {
		found.Rule = at.rule
	}
	if duty := specs.FindDuty(id); duty != nil {
		if found.Consequence == "" {
			found.Consequence = duty.Consequence
		}
		if clients := duty.Clients(); len(clients) > 0 {
			found.Fix = fmt.Sprintf("%s. Otherwise %s %s.", duty.Demand, clients[0], duty.Breaks[clients[0]])
		} else {
			found.Fix = duty.Demand + "."
		}
	}
	if found.Compare != nil {
		found.Offset = decide.Ordinal(found.Compare.Differs)
	}
	found.Verdict = decide.Breach(found.Consequence, decide.AnswerNone, false)
	for _, other := range res.Findings { // one cause of one case is told once, with its places
		if other.Form == found.Form && other.Message == found.Message && other.Path == found.Path {
			return
		}
	}
	res.Findings = append(res.Findings, found)
}

// caseResults returns the results of the case, with their verdicts.
func (f *finder) caseResults() (list []report.Result) {
	for _, id := range f.order {
		res := *f.seen[id]
		if duty := specs.FindDuty(id); duty != nil {
			res.Consequence = duty.Consequence
		}
		for _, found := range res.Findings {
			if found.Verdict.Rank() >= decide.WorstOf(res.Findings).Rank() {
				res.Consequence = found.Consequence
			}
		}
		res.Verdict, res.Reason = decide.Decide(decide.Facts{Findings: res.Findings, Observed: res.Observed})
		list = append(list, res)
	}
	return list
}

// shorten cuts a text of others to what a finding shows of it.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 160
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Bytes of context that comparisons show.
const (
	textContext  = 32
	tokenContext = 4
)

func compareTexts(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, textContext)
	return &c
}

// compareTokens shows too little of a token to use it.
func compareTokens(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, min(tokenContext, len(was)/8))
	return &c
}
