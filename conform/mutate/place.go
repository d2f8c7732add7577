package mutate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for beyond-reach.yaml
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Places is the result of breaking single places that checks say they observed.
type Places struct {
	// Sampled counts the places, Broken those where a change made the check find
	// something.
	Sampled int `json:"sampled"`
	Broken  int `json:"broken"`
	// BeyondReach counts those that are known to need several changes at once.
	BeyondReach int `json:"beyondReach"`
	// Faults names the places where no change did: what cannot be broken there was
	// counted as observed.
	Faults []string `json:"-"`
}

// unreachable is a row of beyond-reach.yaml, which explains the keys.
type unreachable struct {
	Check string   `yaml:"check" data:"required"`
	Cases []string `yaml:"cases" data:"required"`
	Why   string   `yaml:"why" data:"required"`
}

//go:embed beyond-reach.yaml
var reachFile []byte

var beyondReach = datafile.Embedded[[]unreachable]("conform/mutate/beyond-reach.yaml", reachFile, datafile.Options{})

// observedPlace is an exchange that a check counts: without it, it observes less.
type observedPlace struct {
	rule report.Rule
	ev   *evidence.Evidence
	// x is the ordinal of the exchange in ev.
	x int
}

// BreakPlaces takes n of the places that checks observe in good evidence, the same ones
// for the same seed, and changes what stands there, one thing at a time, until the check
// finds something. The good evidence must pass. It returns early with what it has when the context ends.
func BreakPlaces(ctx context.Context, good []evidence.Evidence, rules []report.Rule, seed uint64,
	n int) (result Places) {
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample, no secret
	all := observedPlaces(good, rules, seed)
	for _, p := range all[:min(n, len(all))] {
		if ctx.Err() != nil {
			break
		}
		result.Sampled++
		if p.breakOnce(dice) {
			result.Broken++
			continue
		}
		if slices.ContainsFunc(beyondReach, func(u unreachable) bool {
			return u.Check == p.rule.Check.ID && slices.Contains(u.Cases, p.ev.Case)
		}) {
			result.BeyondReach++
			continue
		}
		result.Faults = append(result.Faults,
			fmt.Sprintf("%s: observes exchange %d of %s, and nothing that is changed there trips it; "+
				"write a mutant of %s that does, or say in conform/mutate/beyond-reach.yaml why none can",
				p.rule.Check.ID, p.ev.Exchanges[p.x].Index, p.ev.Case, p.rule.Requirement.ID))
	}
	return result
}

// observedPlaces lists for each rule and case the exchanges that the check counts, in an order of the seed.
func observedPlaces(good []evidence.Evidence, rules []report.Rule, seed uint64) (list []*observedPlace) {
	for i := range good {
		ev := &good[i]
		whole := report.Judge(rules, ev)
		without := make([][]report.Result, len(ev.Exchanges))
		for x := range ev.Exchanges {
			without[x] = report.Judge(rules, withoutExchange(ev, x))
		}
		for r, rule := range rules {
			if whole[r].Verdict != report.Pass {
				continue
			}
			for x := range ev.Exchanges {
				if without[x][r].Observed < whole[r].Observed {
					list = append(list, &observedPlace{rule, ev, x})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *observedPlace) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	return list
}

// rank is a number of this place alone, so that the sample hardly changes where evidence or a check is added.
func (p observedPlace) rank(seed uint64) string {
	sum := sha256.Sum256(fmt.Append(nil, seed, p.rule.Check.ID, p.ev.Case, p.x))
	return string(sum[:])
}

func withoutExchange(ev *evidence.Evidence, x int) *evidence.Evidence {
	less := *ev
	less.Exchanges = slices.Delete(slices.Clone(ev.Exchanges), x, x+1)
	return &less
}

// breakOnce reports whether some change trips the check: a mutant of the requirement, one
// of the changes that are made of any body, in random order, or such a change of the
// next exchanges, where what this one was answered comes back.
func (p observedPlace) breakOnce(dice *rand.Rand) bool {
	if p.mutantTrips() {
		return true
	}
	for at := p.x; at < len(p.ev.Exchanges); at++ {
		changes := changesOf(&p.ev.Exchanges[at])
		dice.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for _, change := range changes {
			bad := cloneEvidence(*p.ev)
			if change(&bad.Exchanges[at]); p.tripsCheck(bad, -1) {
				return true
			}
		}
	}
	return false
}

// needSeveral are checks whose breach no small change makes, such as never to ask and
// never to send back, a whole message of another conversation, the mark of a redactor,
// another spelling of an argument, or a clock in each request. A mutant makes them where it first can, so that one that trips the
// check anywhere in the case is enough.
var needSeveral = []string{"SIG-012/asked-for", "OPS-001/own-replies", "RED-002/arguments", "RES-007/bytes",
	"CAC-001/volatile"}

// mutantTrips reports whether a mutant of the requirement trips the check in this exchange, or
// in a later one that it leads to.
func (p observedPlace) mutantTrips() bool {
	first := p.ev.Exchanges[p.x].Index
	if slices.Contains(needSeveral, p.rule.Check.ID) {
		first = -1
	}
	for _, m := range All() {
		if !slices.Contains(m.Kills, p.rule.Requirement.ID) {
			continue
		}
		ev := *p.ev
		for from := 0; from <= p.x; from++ { // a mutant changes the first place it can
			if bad, ok := m.Apply(ev); ok && p.tripsCheck(bad, first) {
				return true
			}
			ev = *withoutExchange(&ev, 0)
		}
	}
	return false
}

// tripsCheck reports whether the check finds something, with at >= 0 in that exchange or one
// after it.
func (p observedPlace) tripsCheck(bad evidence.Evidence, at int) bool {
	found := report.Judge([]report.Rule{p.rule}, &bad)[0].Findings
	return slices.ContainsFunc(found,
		func(f report.Finding) bool { return at < 0 || f.Exchange < 0 || int(f.Exchange) >= at })
}

// change changes one thing of an exchange. Bodies and headers are replaced, never
// written to.
type change func(*evidence.Exchange)

// changesOf lists small changes of everything that an exchange holds. They know no
// provider and no rule.
func changesOf(x *evidence.Exchange) []change {
	list := headerChanges(x)
	for _, body := range bodyChanges(x.Request.Body) {
		list = append(list, func(x *evidence.Exchange) { x.Request.Body = body() })
	}
	for _, body := range replyChanges(x.Response.Body) {
		list = append(list, func(x *evidence.Exchange) { x.Response.Body = body() })
	}
	return list
}

func headerChanges(x *evidence.Exchange) (list []change) {
	for name := range x.Request.Header {
		list = append(list,
			func(x *evidence.Exchange) { x.Request.Header = x.Request.Header.Clone(); x.Request.Header.Del(name) },
			func(x *evidence.Exchange) {
				x.Request.Header = x.Request.Header.Clone()
				x.Request.Header.Set(name, "x/x")
			})
	}
	return append(list,
		func(x *evidence.Exchange) { x.Response.Header.Set("Content-Type", "text/html") },
		func(x *evidence.Exchange) { x.Response.End = "reset" },
		func(x *evidence.Exchange) { x.Response.Status = 400 },
		func(x *evidence.Exchange) { x.Response.Body = []byte{} },
		func(x *evidence.Exchange) {
			x.Request.URL = strings.Replace(x.Request.URL, "/models/", "/models/x-", 1)
		},
		func(x *evidence.Exchange) { x.Missed = true },
	)
}

// replyChanges lists changes of a reply: of a document as of a request, of a stream by
// its events.
func replyChanges(body []byte) (list []func() []byte) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return append(bodyChanges(body), func() []byte { return body[:len(body)/2] })
	}
	sep := []byte("\n\n")
	if bytes.Contains(body, []byte("\r\n\r\n")) {
		sep = []byte("\r\n\r\n")
	}
	events := bytes.SplitAfter(body, sep)
	for i, event := range events {
		if len(event) == 0 {
			continue
		}
		list = append(list,
			func() []byte { return joinWith(events, i) },
			func() []byte { return joinWith(events, i, event, event) },
			func() []byte { return joinWith(events, i, event[:len(event)/2]) })
		if i+1 < len(events) {
			list = append(list, func() []byte {
				moved := slices.Clone(events)
				moved[i], moved[i+1] = moved[i+1], moved[i]
				return bytes.Join(moved, nil)
			})
		}
		at := bytes.IndexByte(event, '{')
		if at < 0 {
			continue
		}
		data := bytes.TrimRight(event[at:], "\r\n")
		for _, changed := range bodyChanges(data) {
			list = append(list, func() []byte {
				return joinWith(events, i, slices.Concat(event[:at], changed(), event[at+len(data):]))
			})
		}
	}
	return list
}

// joinWith joins parts with part i replaced.
func joinWith(parts [][]byte, i int, with ...[]byte) []byte {
	return bytes.Join(slices.Replace(slices.Clone(parts), i, i+1, with...), nil)
}

// bodyChanges lists changes of a JSON document, each of one value. Each call of a
// function reads the document again, so that no change sees another.
func bodyChanges(body []byte) (list []func() []byte) {
	doc, err := tree.Parse(body)
	if err != nil {
		return nil
	}
	list = append(memberChanges(body), moveChanges(body, doc)...)
	for n := range countNodes(doc) {
		for _, edit := range nodeEdits {
			list = append(list, func() []byte {
				doc, err := tree.Parse(body)
				if err != nil {
					return body
				}
				editNode(doc, n, edit)
				return encodeTree(doc)
			})
		}
	}
	return list
}

// moveChanges lists moves of one part of a message to the end of another message.
func moveChanges(body []byte, doc *tree.Node) (list []func() []byte) {
	parts := func(doc *tree.Node, i int) *tree.Node {
		return doc.Any("messages", "contents").Items()[i].Any("content", "parts")
	}
	messages := doc.Any("messages", "contents").List()
	for from := range messages {
		for to := range messages {
			for part := range parts(doc, from).List() {
				if from == to || !parts(doc, to).Is(tree.Array) {
					continue
				}
				list = append(list, func() []byte {
					doc := parseLiteral(string(body))
					source, target := parts(doc, from), parts(doc, to)
					target.SetItems(append(target.Items(), source.Items()[part]))
					removeValue(source, part)
					return encodeTree(doc)
				})
			}
		}
	}
	return list
}

// addedMembers are members that belong to a beta, to another API or to nothing.
var addedMembers = []string{`"mcp_servers":[]`, `"context_management":{}`, `"container":"c"`, `"no_such_member":1`,
	`"temperature":9`, `"store":true`}

func memberChanges(body []byte) (list []func() []byte) {
	if at := bytes.IndexByte(body, '{'); at >= 0 {
		for _, member := range addedMembers {
			list = append(list, func() []byte { return slices.Concat(body[:at+1], []byte(member+","), body[at+1:]) })
		}
	}
	return list
}

func countNodes(n *tree.Node) int {
	count := len(n.Items())
	for _, v := range n.Items() {
		count += countNodes(v)
	}
	return count
}

// editNode applies edit to the value with ordinal n below the root, depth first.
func editNode(parent *tree.Node, n int, edit func(parent *tree.Node, i int)) int {
	for i := 0; i < len(parent.Items()); i++ {
		if n == 0 {
			edit(parent, i)
			return -1
		}
		if n = editNode(parent.Items()[i], n-1, edit); n < 0 {
			return n
		}
	}
	return n
}

// nodeEdits change the value i of parent.
var nodeEdits = []func(parent *tree.Node, i int){
	removeValue, removeTwo, startAgain, repeatValue, repeatAsModel, addContent, nestMember, swapValues, swapMembers,
	alterValue, spoilValue, renameMedia, emptyValue, replaceValue,
	setWord("user"), setWord("assistant"), setWord("input_text"), setWord("output_text"), setWord("thinking"),
	setWord("tool_result"),
}

// setWord makes a type or role another one.
func setWord(word string) func(parent *tree.Node, i int) {
	return func(parent *tree.Node, i int) {
		if parent.Is(tree.Object) && (parent.Names()[i] == "type" || parent.Names()[i] == "role") {
			parent.Items()[i] = tree.NewString(word)
		}
	}
}

// swapMembers changes the order of two members, which no JSON reader notices.
func swapMembers(parent *tree.Node, i int) {
	if k := i + 1; parent.Is(tree.Object) && k < len(parent.Items()) {
		swapValues(parent, i)
		parent.Names()[i], parent.Names()[k] = parent.Names()[k], parent.Names()[i]
	}
}

// renameMedia makes the type of a medium one that nobody takes.
func renameMedia(parent *tree.Node, i int) {
	if v := parent.Items()[i]; v.Is(tree.String) && strings.Contains(v.Text(), "/") {
		parent.Items()[i] = tree.NewString(strings.NewReplacer("image/", "image/x", "application/",
			"application/x").Replace(v.Text()))
	}
}

// spoilValue adds to a string what stands in no id, token or base64.
func spoilValue(parent *tree.Node, i int) {
	if v := parent.Items()[i]; v.Is(tree.String) {
		parent.Items()[i] = tree.NewString(v.Text() + "\u2026")
	}
}

func removeValue(parent *tree.Node, i int) {
	spot{parent, i, ""}.removeNode()
}

// removeTwo removes two neighbours, such as a turn and what answers it.
func removeTwo(parent *tree.Node, i int) {
	if i+1 < len(parent.Items()) {
		removeValue(parent, i)
		removeValue(parent, i)
	}
}

// startAgain puts a new prompt in place of a message and all that follows it.
func startAgain(parent *tree.Node, i int) {
	prompt := `{"role":"user","content":"Begin again."}`
	if parent.Items()[i].Get("parts") != nil {
		prompt = `{"role":"user","parts":[{"text":"Begin again."}]}`
	}
	if parent.Is(tree.Array) && parent.Items()[i].Get("role") != nil {
		parent.SetItems(append(parent.Items()[:i:i], parseLiteral(prompt)))
	}
}

// repeatAsModel says again as the model's what an element says as another's.
func repeatAsModel(parent *tree.Node, i int) {
	v, role := copyTree(parent.Items()[i]), "model"
	if !parent.Is(tree.Array) || !v.Get("role").Is(tree.String) {
		return
	}
	if v.Get("parts") == nil {
		role = "assistant"
	}
	memberOf(v, "role").putNode(tree.NewString(role))
	spot{parent, i + 1, ""}.insertNode(v)
}

// addContent gives an element a second kind of content.
func addContent(parent *tree.Node, i int) {
	if v := parent.Items()[i]; parent.Is(tree.Array) && v.Is(tree.Object) {
		for _, member := range []string{"text", "functionCall"} {
			if v.Get(member) == nil {
				memberOf(v, member).putNode(parseLiteral(map[string]string{"text": `"x"`,
					"functionCall": `{"name":"x"}`}[member]))
				return
			}
		}
	}
}

// nestMember moves a member into the object beside it.
func nestMember(parent *tree.Node, i int) {
	for k, beside := range parent.Items() {
		if k != i && parent.Is(tree.Object) && beside.Is(tree.Object) {
			memberOf(beside, parent.Names()[i]).putNode(parent.Items()[i])
			removeValue(parent, i)
			return
		}
	}
}

func repeatValue(parent *tree.Node, i int) {
	parent.SetItems(slices.Insert(parent.Items(), i, parent.Items()[i]))
	if parent.Is(tree.Object) {
		parent.SetMembers(slices.Insert(parent.Names(), i, "x_"+parent.Names()[i]), parent.Items())
	}
}

// swapValues exchanges two elements, or the values of two members.
func swapValues(parent *tree.Node, i int) {
	if k := i + 1; k < len(parent.Items()) {
		parent.Items()[i], parent.Items()[k] = parent.Items()[k], parent.Items()[i]
	}
}

// alterValue changes what a value says and keeps its kind.
func alterValue(parent *tree.Node, i int) {
	switch v := parent.Items()[i]; v.Kind() {
	case tree.String:
		parent.Items()[i] = tree.NewString(cutCharacter(v.Text()))
	case tree.Integer, tree.Decimal:
		parent.Items()[i] = parseLiteral(map[bool]string{true: "1", false: "7"}[v.Raw() != "1"])
	case tree.Bool:
		parent.Items()[i] = parseLiteral(strconv.FormatBool(!v.True()))
	case tree.Null:
		parent.Items()[i] = parseLiteral("true")
	default:
		parent.Items()[i] = parseLiteral(map[bool]string{true: `{"x":1}`, false: `["x"]`}[v.Is(tree.Object)])
	}
}

func emptyValue(parent *tree.Node, i int) {
	empty := map[tree.Kind]string{tree.String: `""`, tree.Object: `{}`, tree.Array: `[]`, tree.Integer: `-1`,
		tree.Decimal: `-1`}[parent.Items()[i].Kind()]
	parent.Items()[i] = parseLiteral(cmp.Or(empty, "null"))
}

// replaceValue puts a value of another kind in place.
func replaceValue(parent *tree.Node, i int) {
	if parent.Items()[i].Is(tree.String) {
		parent.Items()[i] = parseLiteral("0")
		return
	}
	parent.Items()[i] = tree.NewString("x")
}
