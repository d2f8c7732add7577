// Package mutate changes evidence the way real agents, gateways and recorders do wrong,
// to show that the checks of the referee notice.
//
// Changes are written as data: conditions and steps of a small language, see
// mutants.yaml. A [Mutant] is one change; [All] lists them. [Selftest] judges good
// evidence, which must pass, and every mutant of it, which must not:
//
//	good, err := mutate.Samples()
//	...
//	table := mutate.Selftest(good, rules)
//	if !table.OK() {
//		fmt.Println(table.Faults)
//	}
//
// A requirement names its mutants in the catalogue of package specs, and the two must
// agree. Mutants never write to the evidence they are given, and make the same change
// each time. The tests of the package measure by a larger table of faults, and of things
// that look like one and are legal, what the referee misses and where it is wrong.
package mutate

import (
	"bytes"
	_ "embed" // for the table of mutants
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Mutant is one distortion.
type Mutant struct {
	// ID names it in the catalogue, e.g. "drop-thinking".
	ID string
	// Does says in one phrase what it does to the evidence.
	Does string
	// Kills are the requirements whose checks must notice it.
	Kills []string
	// Apply returns distorted evidence, or false where there is nothing to
	// distort. It does not change ev.
	Apply func(ev evidence.Evidence) (evidence.Evidence, bool)

	only string
}

//go:embed mutants.yaml
var mutantTable []byte

// All returns every mutant in order of ID. The slice is the caller's.
func All() []Mutant {
	list := mutantsFor("")
	slices.SortFunc(list, func(a, b Mutant) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// WireOnly returns changes that show something in a real run only, where another provider
// is asked or the simulator answers what was changed. The slice is the caller's.
func WireOnly() []Mutant { return mutantsFor("wire") }

// wrongSubjects get one thing wrong in every request.
func wrongSubjects() []Mutant { return mutantsFor("subject") }

func mutantsFor(only string) (list []Mutant) {
	for _, m := range readMutants() {
		if m.only == only {
			list = append(list, m)
		}
	}
	return list
}

var readMutants = sync.OnceValue(func() []Mutant {
	var rows []mutantRow
	dec := yaml.NewDecoder(bytes.NewReader(mutantTable))
	dec.KnownFields(true)
	if err := dec.Decode(&rows); err != nil {
		panic("mutate: mutants.yaml: " + err.Error())
	}
	words, list := mutantLanguage(), make([]Mutant, len(rows))
	for i, row := range rows {
		apply, err := row.compileRow(words)
		if err != nil {
			panic(fmt.Sprintf("mutate: mutants.yaml: %s: %v", row.ID, err))
		}
		list[i] = Mutant{ID: row.ID, Does: row.Does, Kills: row.Kills, Apply: apply, only: row.Only}
	}
	return list
})

// stepLines are the steps of a change, by provider; "" is for all providers.
type stepLines map[string]lines

// UnmarshalYAML reads a step, a list of steps, or one of these by provider.
func (s *stepLines) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		return n.Decode((*map[string]lines)(s))
	}
	var all lines
	err := n.Decode(&all)
	*s = stepLines{"": all}
	return err
}

type lines []string

// UnmarshalYAML reads a text or a list of them.
func (l *lines) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = lines{n.Value}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// mutantRow is a row of mutants.yaml, which explains its members.
type mutantRow struct {
	ID, Does          string
	Kills             []string
	On, At, Only      string
	After, When, Item string
	Do                stepLines
}

// mutation is a row that can be applied.
type mutation struct {
	mutantRow
	after, when, item condition
	steps             map[string]step
}

func (row mutantRow) compileRow(words language) (func(evidence.Evidence) (evidence.Evidence, bool), error) {
	if row.At == "case" {
		apply := caseChanges()[strings.Join(row.Do[""], "")]
		if apply == nil {
			return nil, fmt.Errorf("no change of a case is called %q", row.Do)
		}
		return func(ev evidence.Evidence) (evidence.Evidence, bool) {
			changed := cloneEvidence(ev)
			if !apply(&changed) {
				return ev, false
			}
			return changed, true
		}, nil
	}
	c := mutation{mutantRow: row, steps: map[string]step{}}
	for _, part := range []struct {
		text string
		to   *condition
	}{{row.After, &c.after}, {row.When, &c.when}, {row.Item, &c.item}} {
		parsed, err := words.parseConditions(part.text)
		if err != nil {
			return nil, err
		}
		*part.to = parsed
	}
	for provider, lines := range row.Do {
		s, err := words.parseSteps(lines)
		if err != nil {
			return nil, err
		}
		c.steps[provider] = s
	}
	return c.applyTo, nil
}

// applyTo changes the exchanges that the row is for.
func (c mutation) applyTo(ev evidence.Evidence) (evidence.Evidence, bool) {
	was := ev
	ev = cloneEvidence(ev)
	order, emitted, applied := make([]int, len(ev.Exchanges)), map[string]map[string]bool{}, false
	for i := range order {
		order[i] = i
	}
	if c.At == "final" || c.At == "newest" {
		slices.Reverse(order)
	}
	for _, n := range order {
		before := emittedBefore(emitted, &ev.Exchanges[n])
		if c.fitsExchange(&ev, n) && c.changeExchange(&ev, n, before) {
			applied = true
			if c.At != "every" {
				return ev, true
			}
		}
		rememberReply(&was.Exchanges[n], before)
		if c.At == "newest" {
			break
		}
	}
	return ev, applied
}

// emittedBefore returns what the replies of a provider emitted so far.
func emittedBefore(emitted map[string]map[string]bool, x *evidence.Exchange) map[string]bool {
	if emitted[x.Provider] == nil {
		emitted[x.Provider] = map[string]bool{}
	}
	return emitted[x.Provider]
}

// fitsExchange reports whether the exchange is of the kind that the row changes.
func (c mutation) fitsExchange(ev *evidence.Evidence, n int) bool {
	x := &ev.Exchanges[n]
	if c.On != "" && !strings.Contains(c.On, x.Provider) {
		return false
	}
	switch c.At {
	case "resumed":
		first := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
			return x.Process > 0 && x.Process < len(ev.Process) && ev.Process[x.Process].Resumed &&
				x.Response.Status < 400
		})
		return first == n && n > 0 && ev.Exchanges[n-1].Provider == x.Provider
	case "exit":
		later := slices.ContainsFunc(ev.Exchanges[n+1:],
			func(o evidence.Exchange) bool { return o.Process == x.Process })
		return x.Process >= 0 && x.Process < len(ev.Process) && !later
	case "reply":
		r := x.ReadReply()
		return x.Response.Status == 200 && r.Form == wire.SSE && r.Usable() && len(r.Events) > 1
	}
	return c.After == "" || n > 0
}

// changeExchange takes the steps where the conditions hold, for the first item for which
// they all succeed.
func (c mutation) changeExchange(ev *evidence.Evidence, n int, emitted map[string]bool) bool {
	p := openPage(ev, n, emitted)
	if !slices.Contains([]string{"any", "reply", "exit", "newest"}, c.At) && p.req.Op != wire.Generate ||
		p.doc == nil && c.At == "" {
		return false
	}
	at := cursor{page: p, at: -1}
	if n > 0 {
		at.source = &ev.Exchanges[n-1]
	}
	if c.After != "" && !c.after(&cursor{page: openPage(ev, n-1, nil), at: -1}) || !c.when(&at) {
		return false
	}
	if c.Item == "" {
		return c.takeSteps(at)
	}
	isTool := strings.HasPrefix(c.Item, "tool")
	if isTool {
		p.items = p.readTools()
	}
	for i := range p.items {
		if !at.isAt(i, c.item) {
			continue
		}
		again := at
		again.page, again.at = openPage(ev, n, emitted), i
		if isTool {
			again.page.items = again.readTools()
		}
		if c.takeSteps(again) {
			return true
		}
	}
	return false
}

func (c mutation) takeSteps(at cursor) bool {
	steps, x := c.steps[at.provider], at.theExchange()
	if steps == nil {
		steps = c.steps[""]
	}
	kept := *x
	x.Request.Header, x.Response.Header = x.Request.Header.Clone(), x.Response.Header.Clone()
	if steps == nil || !steps(&at) {
		*x = kept
		return false
	}
	at.commitPage()
	return true
}
