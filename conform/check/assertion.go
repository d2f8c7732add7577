package check

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// OfTeamRule returns the checks of a team's own rule: those of the catalogue under its
// ids, or one that judges its assertion.
func OfTeamRule(r specs.TeamRule) []Check {
	if r.Assertion != nil {
		a := &assertion{TeamRule: r}
		if r.Assertion.Equals != "" {
			a.equals, _ = tree.Parse([]byte(r.Assertion.Equals)) // it was encoded by the parser
		}
		return []Check{{ID: r.Requirement.Checks[0], Requirement: r.Requirement.ID, Run: a.judgeRequests}}
	}
	var list []Check
	for _, base := range All() {
		if i := slices.Index(r.Uses, base.ID); i >= 0 {
			list = append(list, restateCheck(base, r.Requirement, r.Requirement.Checks[i]))
		}
	}
	return list
}

// restateCheck is a check under another id.
func restateCheck(base Check, as specs.Requirement, id string) Check {
	return Check{ID: id, Requirement: as.ID, Source: base.Source, Run: func(t *Trace) Result {
		found := base.Run(t)
		for i := range found.Findings {
			f := &found.Findings[i]
			f.Check, f.Fix = id, as.FixOf(base.ID, f.Rule, f.Message)
			f.Message = as.Title + ": " + f.Message
			f.Consequence = ""
		}
		return found
	}}
}

// assertion is a rule about requests with what it needs to be judged.
type assertion struct {
	specs.TeamRule
	equals *tree.Node // nil for anything
}

// selected is a value that an assertion looks at.
type selected struct {
	wire.Place
	node *tree.Node // nil for a header
	text string
}

func (a *assertion) judgeRequests(t *Trace) Result {
	if t.panicked != nil {
		panic(t.panicked)
	}
	r := report{check: a.Requirement.Checks[0]}
	before := map[int][]selected{} // of the last request, by conversation
	t.eachRequest(func(x *exchange) {
		if !a.Requirement.Applies.To(x.Provider, string(t.Source())) || x.kind.isSide() {
			return
		}
		values := a.valuesOf(x)
		a.judgePresence(&r, x, values)
		a.judgeValues(&r, x, values)
		if earlier, ok := before[x.conversation]; a.Assertion.Same && ok {
			a.compareValues(&r, x, earlier, values)
		}
		before[x.conversation] = values
	})
	if r.Observed == 0 {
		r.Unseen = a.whyUnseen(t)
	}
	return r.Result
}

func (a *assertion) addFinding(r *report, x *exchange, at wire.Place, format string, args ...any) {
	f := r.addBare(x, at, "", "%s: %s", a.Requirement.Title, fmt.Sprintf(format, args...))
	f.Form, f.Fix = format, a.Requirement.Fix
}

func (a *assertion) judgePresence(r *report, x *exchange, values []selected) {
	nowhere := wire.At(nil, "")
	if a.Assertion.Header == "" {
		nowhere.Path = a.Assertion.Path.String()
	}
	switch {
	case a.Assertion.Present:
		r.addObserved(1)
		if len(values) == 0 {
			a.addFinding(r, x, nowhere, "there is no %s", a.Assertion.Selector())
		}
	case a.Assertion.Absent:
		r.addObserved(1)
		for _, v := range values {
			a.addFinding(r, x, v.Place, "there is a %s", a.Assertion.Selector())
		}
	}
}

// judgeValues holds each value to what it must equal and match.
func (a *assertion) judgeValues(r *report, x *exchange, values []selected) {
	for _, v := range values {
		if a.equals != nil {
			r.addObserved(1)
			if !v.equalsNode(a.equals) {
				a.addFinding(r, x, v.Place, "%s is %s, not %s", a.Assertion.Selector(), v.showExcerpt(),
					a.Assertion.Equals)
			}
		}
		if a.Assertion.Matches != nil {
			r.addObserved(1)
			if !v.isScalar() || !a.Assertion.Matches.MatchString(v.text) {
				a.addFinding(r, x, v.Place, "%s is %s, which does not match %s", a.Assertion.Selector(),
					v.showExcerpt(), a.Assertion.Matches)
			}
		}
	}
}

// compareValues holds the values to those of the request before in the conversation.
func (a *assertion) compareValues(r *report, x *exchange, earlier, values []selected) {
	r.addObserved(1)
	if slices.EqualFunc(earlier, values, func(b, v selected) bool {
		return v.node != nil && tree.Equal(b.node, v.node) || v.node == nil && b.text == v.text
	}) {
		return
	}
	at := wire.At(nil, "")
	if len(values) > 0 {
		at = values[0].Place
	}
	a.addFinding(r, x, at, "%s is not what it was in the request before: was %s, is %s", a.Assertion.Selector(),
		describeValues(earlier), describeValues(values))
}

func describeValues(values []selected) string {
	if len(values) == 0 {
		return "absent"
	}
	var list []string
	for _, v := range values[:min(len(values), 3)] {
		list = append(list, v.showExcerpt())
	}
	if len(values) > len(list) {
		list = append(list, fmt.Sprintf("and %d more", len(values)-len(list)))
	}
	return strings.Join(list, ", ")
}

func (v selected) isScalar() bool {
	return v.node == nil || !v.node.Is(tree.Object) && !v.node.Is(tree.Array)
}

func (v selected) equalsNode(want *tree.Node) bool {
	if v.node == nil {
		return want.Text() == v.text
	}
	return tree.Equal(v.node, want)
}

// showExcerpt shows the beginning of a value. A header may hold a key, and is not shown.
func (v selected) showExcerpt() string {
	if v.node == nil {
		return fmt.Sprintf("a value of %d bytes", len(v.text))
	}
	return cutText(v.node.Raw(), 80)
}

// valuesOf returns what the assertion looks at in a request.
func (a *assertion) valuesOf(x *exchange) (values []selected) {
	if name := a.Assertion.Header; name != "" {
		for _, text := range x.Request.Header[http.CanonicalHeaderKey(name)] {
			values = append(values, selected{Place: wire.At(nil, ""), text: text})
		}
		return values
	}
	values, _ = a.walk(x)
	for i := range values {
		v := &values[i]
		if v.text = v.node.Text(); !v.node.Is(tree.String) {
			v.text = v.node.Raw()
		}
	}
	return values
}

// walk returns the values that the path leads to, and those at which it ends early where there are none.
func (a *assertion) walk(x *exchange) (values, last []selected) {
	values = []selected{{Place: wire.Place{Event: -1}, node: x.req.Doc}}
	for _, step := range a.Assertion.Path {
		if len(values) > 0 {
			last = values
		}
		var next []selected
		for _, v := range values {
			next = append(next, v.followStep(step)...)
		}
		values = next
	}
	return values, last
}

// followStep returns the values that a step leads to.
func (v selected) followStep(step specs.PathStep) (list []selected) {
	add := func(name string, n *tree.Node) {
		list = append(list, selected{Place: wire.At(n, strings.TrimPrefix(v.Path+name, ".")), node: n})
	}
	switch elements := v.node.List(); {
	case step.All && v.node.Is(tree.Object):
		for i, n := range v.node.Items() {
			add("."+v.node.Names()[i], n)
		}
	case step.All:
		for i, n := range elements {
			add(fmt.Sprintf("[%d]", i), n)
		}
	case step.Name == "":
		if step.Index < len(elements) {
			add(fmt.Sprintf("[%d]", step.Index), elements[step.Index])
		}
	default:
		if n := v.node.Get(step.Name); n != nil {
			add("."+step.Name, n)
		}
	}
	return list
}

// whyUnseen says why an assertion had nothing to judge, and which name was probably
// meant.
func (a *assertion) whyUnseen(t *Trace) string {
	where := fmt.Sprintf("%s:%d: %s", a.File, a.Line, a.Requirement.ID)
	requests, names := 0, map[string]bool{}
	t.eachRequest(func(x *exchange) {
		if a.Requirement.Applies.To(x.Provider, string(t.Source())) && !x.kind.isSide() {
			requests++
			a.collectNames(x, names)
		}
	})
	switch {
	case requests == 0:
		return where + ": matches nothing: there is no request that it speaks of"
	case a.Assertion.Same:
		return where + ": matches nothing: no conversation has a second request"
	}
	text := fmt.Sprintf("%s: matches nothing: no %s in %s", where, a.Assertion.Selector(), countRequests(requests))
	if meant := spelling.Nearest(a.lastName(), slices.Sorted(maps.Keys(names))); meant != "" {
		text += "; did you mean " + meant + "?"
	}
	return text
}

func countRequests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// collectNames enters the names of headers, or of the members where the path ends early.
func (a *assertion) collectNames(x *exchange, names map[string]bool) {
	if a.Assertion.Header != "" {
		for name := range x.Request.Header {
			names[name] = true
		}
		return
	}
	values, last := a.walk(x)
	for _, v := range last {
		if len(values) == 0 && v.node.Is(tree.Object) {
			for _, name := range v.node.Names() {
				names[name] = true
			}
		}
	}
}

// lastName is the name that is probably misspelt: of the header, or the first of the path
// that a request lacks, which is nearly always the last.
func (a *assertion) lastName() string {
	if a.Assertion.Header != "" {
		return a.Assertion.Header
	}
	for i := len(a.Assertion.Path) - 1; i >= 0; i-- {
		if name := a.Assertion.Path[i].Name; name != "" {
			return name
		}
	}
	return ""
}
