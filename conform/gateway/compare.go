package gateway

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// asked is one request of the client with what came of it upstream.
type asked struct {
	n        int // ordinal in the case
	answer   *client.Answer
	upstream []*received
	// direct is the answer of the simulator to the same question without the gateway, and behind what the simulator
	// says on the upstream's wire to a client of that wire; nil where both sides speak one wire.
	direct, behind *client.Answer
}

// comparer compares both sides of one request.
type comparer struct {
	*report.DutyCase
	Config
	asked
}

// breach is where a duty is broken. [comparer.Breach] says in which exchange.
type breach = report.DutyBreach

// See notes that the duties were seen.
func (c *comparer) See(ids ...string) {
	for _, id := range ids {
		c.DutyCase.See(id)
	}
}

// Breach notes a breach in the exchange that is compared.
func (c *comparer) Breach(id string, at breach, form string, args ...any) {
	at.Exchange = c.n
	c.DutyCase.Breach(id, at, form, args...)
}

// compareSides judges one request with its reply.
func (c *comparer) compareSides() {
	c.compareKeys()
	c.compareCount()
	if len(c.upstream) == 0 {
		return
	}
	last := c.upstream[len(c.upstream)-1]
	if c.Wire == c.UpstreamWire {
		c.compareRequest(c.upstream[0])
		c.compareHeaders(c.upstream[0])
	} else {
		c.compareMeaning(c.upstream[0])
	}
	c.compareRefusal(last)
	switch {
	case last.Response.Status/100 != 2:
		c.compareErrors(last)
	case last.reply.End == wire.Failed || last.reply.End == wire.Cut || last.Response.End == "reset":
		c.compareFailure(last)
	case c.answer.Err != nil || c.answer.Response.Status/100 != 2:
		c.Breach("GW-14", breach{}, "the upstream answered 200, and the client got %s",
			c.outcomeText())
	default:
		c.compareReply(last)
	}
	c.judgeReply(last)
}

// outcomeText says what the client got.
func (c *comparer) outcomeText() string {
	switch a := c.answer; {
	case a.Err != nil && a.Response.Status == 0:
		return "no answer: " + report.Shorten(a.Err.Error())
	case a.Err != nil:
		return "a reply that breaks off: " + report.Shorten(a.Err.Error())
	case a.Response.Status/100 != 2:
		return strconv.Itoa(a.Response.Status) + ": " + report.Shorten(string(a.Response.Body))
	default:
		return "a reply that is " + a.Reply.End.String()
	}
}

// compareKeys holds that keys stay on their side.
func (c *comparer) compareKeys() {
	if c.PassesKey || c.ClientKey == "" {
		return
	}
	for _, u := range c.upstream {
		c.See("GW-19")
		if where := findText(c.ClientKey, u.Request.URL, u.Request.Header, u.Request.Body); where != "" {
			c.Breach("GW-19", breach{Path: where}, "the client's key arrived upstream")
		}
	}
	if where := findText(c.UpstreamKey, "", c.answer.Response.Header, c.answer.Response.Body); c.UpstreamKey != "" &&
		where != "" {
		c.Breach("GW-19", breach{Path: where}, "the upstream's key came back to the client")
	}
}

// findText says where a text stands in a message, "" if nowhere.
func findText(text, url string, h http.Header, body []byte) string {
	if strings.Contains(url, text) {
		return "url"
	}
	for name, values := range h {
		if strings.Contains(strings.Join(values, "\n"), text) {
			return strings.ToLower(name)
		}
	}
	if strings.Contains(string(body), text) {
		return "body"
	}
	return ""
}

// compareCount holds that a request is made once upstream.
func (c *comparer) compareCount() {
	if len(c.upstream) == 0 {
		c.Breach("GW-29", breach{Consequence: specs.Wrong},
			"the gateway did not ask the upstream, and answered with %s", c.outcomeText())
		return
	}
	c.See("GW-20")
	for i, u := range c.upstream[:len(c.upstream)-1] {
		if u.Response.Status == http.StatusOK && len(u.Response.Body) > 0 {
			c.Breach("GW-20", breach{},
				"the request was made %d times upstream; answer %d had begun with status 200 (%s)", len(c.upstream), i,
				u.reply.End)
		}
	}
}

// compareRequest compares the bodies of a request on one wire.
func (c *comparer) compareRequest(u *received) {
	was, _ := tree.Parse(c.answer.Request.Body)
	if u.asked.Doc == nil {
		c.Breach("GW-29", breach{Consequence: specs.Crash},
			"the body that arrived upstream is not JSON: %q", report.Shorten(string(u.Request.Body)))
		return
	}
	body := &c.Wire.Body
	c.See("GW-2", "GW-7", "GW-9", "GW-10", "GW-13", "GW-26")
	c.compareSampling(u)
	for _, d := range diffBodies(c.Wire, was, u.asked.Doc) {
		one, other := d.bothTexts()
		at := breach{Path: d.path, Compare: compareTexts(one, other)}
		switch {
		case d.path == "model", d.path == "stream":
			// an alias is configured; what answered is compared with what was asked
		case d.was != nil && body.IsSampling(d.path):
			// compareSampling has reported it, or the upstream's model takes no such parameter
		case slices.Contains(body.CacheMarks, d.member) && d.was == nil:
			at.Path = d.member
			c.Breach("GW-29", at, "the gateway added marks of the cache")
		case slices.Contains(body.Tokens, d.member) && d.was != nil:
			at.Compare = compareTokens(one, other)
			c.Breach("GW-10", at, "what the provider issued was %s on its way back", d.changeText())
		case slices.Contains(body.IDs, d.member) && d.was != nil:
			change := d.changeText()
			if other != "" && strings.Contains(string(c.answer.Request.Body), strconv.Quote(other)) {
				change, at.Consequence = "exchanged for that of another call", specs.Wrong // nobody refuses it
			}
			c.Breach("GW-13", at, "the id of a call was %s on its way upstream", change)
		case slices.Contains(body.Prompt, d.top):
			c.Breach("GW-7", at, "the system prompt was %s on its way upstream", d.changeText())
		case slices.Contains(body.Conversation, d.top):
			c.Breach("GW-9", at, "the conversation was %s on its way upstream", d.changeText())
		case slices.Contains(body.Tools, d.top):
			c.Breach("GW-26", at, "a tool was %s on its way upstream", d.changeText())
		case d.was == nil:
			c.Breach("GW-29", at, "the gateway added the member %s", d.path)
		default:
			c.Breach("GW-2", at, "the member %s was %s on its way upstream", d.path, d.changeText())
		}
	}
}

// compareHeaders compares what the wire says in headers.
func (c *comparer) compareHeaders(u *received) {
	const betas = "Anthropic-Beta"
	if !c.Wire.Has(wires.Betas) {
		return
	}
	c.See("GW-1", "GW-4")
	for name, values := range c.answer.Request.Header {
		was, is := strings.Join(values, ","), strings.Join(u.Request.Header.Values(name), ",")
		if !strings.HasPrefix(name, "Anthropic-") || was == is {
			continue
		}
		at := breach{Path: strings.ToLower(name), Compare: compareTexts(was, is)}
		switch _, isRequired := c.Wire.Required[name]; {
		case name == betas && is != "" && containsAll(is, was):
			c.Breach("GW-4", at, "the gateway added betas")
		case name == betas || isRequired:
			c.Breach("GW-1", at, "the header %s did not arrive as it was sent", strings.ToLower(name))
		default:
			at.Consequence = specs.Cosmetic
			c.Breach("GW-2", at, "the header %s did not arrive as it was sent", strings.ToLower(name))
		}
	}
	if is := u.Request.Header.Get(betas); is != "" && c.answer.Request.Header.Get(betas) == "" {
		c.Breach("GW-4", breach{Path: strings.ToLower(betas), Compare: compareTexts("", is)},
			"the gateway added betas")
	}
}

func containsAll(list, names string) bool {
	has := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	for _, name := range strings.Split(strings.ReplaceAll(names, " ", ""), ",") {
		if !slices.Contains(has, name) {
			return false
		}
	}
	return true
}

// compareRefusal reports what the strict simulator refuses only because of the gateway. A model behind the gateway
// that refuses the same from a client of its own, such as images, is not the gateway's fault.
func (c *comparer) compareRefusal(u *received) {
	if c.direct == nil || c.direct.Response.Status/100 != 2 || u.Response.Status < 400 || u.Response.Status >= 500 {
		return
	}
	words := wire.ErrorOf(u.reply.Doc).Text("message")
	if strings.HasPrefix(words, "scenario ") {
		return // another turn than the scenario has, as after a failure that the gateway hid
	}
	at := breach{Consequence: specs.Crash}
	if b := rule.Books()[u.Provider]; b != nil {
		at.Rule = b.RuleOf(words)
		if c.behind != nil && c.behind.Response.Status == u.Response.Status &&
			b.RuleOf(wire.ErrorOf(c.behind.Reply.Doc).Text("message")) == at.Rule {
			return
		}
	}
	c.Breach("GW-29", at,
		"the provider refuses what the gateway made of the request, which it accepts from the client: %d %s",
		u.Response.Status, report.Shorten(words))
}

// retryHeaders decide when a client asks again; others tell people and meters.
var retryHeaders = []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// statusOverloaded is the status by which Messages says what other wires say by 503.
const statusOverloaded = 529

// compareErrors compares an answer that is an error.
func (c *comparer) compareErrors(u *received) {
	c.See("GW-14")
	a := c.answer
	isOverload := func(status int) bool { return status == http.StatusServiceUnavailable || status == statusOverloaded }
	isTranslated := c.Wire != c.UpstreamWire && isOverload(u.Response.Status) && isOverload(a.Response.Status)
	if a.Response.Status != u.Response.Status && !isTranslated {
		c.Breach("GW-14", breach{Path: "status"},
			"the upstream answered %d, and the client got %s", u.Response.Status, c.outcomeText())
	}
	got, _ := tree.Parse(a.Response.Body)
	c.compareWords(u.reply.Doc, got, wire.ErrorOf(u.reply.Doc), wire.ErrorOf(got))
	c.compareReplyHeaders(u)
}

// compareWords compares what an error says: its words, and on one wire also the other members of the body or
// of the object in which it stands.
func (c *comparer) compareWords(was, is, err, gotErr *tree.Node) {
	said, got := err.Text("message"), gotErr.Text("message")
	arrives := holdsWords(string(c.answer.Response.Body), strings.TrimSpace(said))
	var changes []string
	if c.Wire == c.UpstreamWire {
		for _, d := range diffBodies(c.Wire, was, is) {
			if d.path != "request_id" {
				changes = append(changes, cmp.Or(d.path, "the body")+" was "+d.changeText())
			}
		}
	}
	at := breach{Path: "error"}
	if said != got {
		at.Path, at.Compare = "error.message", compareTexts(said, got)
	}
	switch {
	case said != "" && !arrives:
		c.Breach("GW-14", at, "the upstream's words of an error do not reach the client")
	case changes != nil:
		c.Breach("GW-14", at, "the upstream's error does not reach the client as it was: %s",
			strings.Join(changes, "; "))
	}
}

// holdsWords reports whether words stand in a body, also where they stand in JSON inside of a text of the body.
func holdsWords(body, words string) bool {
	for range 3 {
		if strings.Contains(body, words) {
			return true
		}
		body = unescaper.Replace(body)
	}
	return false
}

// unescaper undoes the escapes that writers of JSON use.
var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\/`, `/`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\u000a`, "\n",
	`\u0026`, `&`, `\u0027`, `'`, `\u003c`, `<`, `\u003e`, `>`)

// compareReplyHeaders compares what an answer says beside its body. Headers that only people and meters
// read are one finding.
func (c *comparer) compareReplyHeaders(u *received) {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(u.Response.Header)) {
		isRetry := slices.Contains(retryHeaders, name)
		if !isRetry && name != "Request-Id" && name != "X-Request-Id" && !strings.Contains(name, "Ratelimit-") {
			continue
		}
		c.See("GW-15")
		header := c.answer.Response.Header
		was, is := strings.Join(u.Response.Header[name], ","), strings.Join(header.Values(name), ",")
		switch lower := strings.ToLower(name); {
		case was == is, c.Wire != c.UpstreamWire && (was == header.Get("Request-Id") || was == header.Get("X-Request-Id")):
		case !isRetry:
			others = append(others, lower)
		case is == "":
			c.Breach("GW-15", breach{Path: lower},
				"the header %s: %s does not reach the client", lower, was)
		default:
			c.Breach("GW-15", breach{Path: lower, Compare: compareTexts(was, is)},
				"the header %s was changed on its way to the client", lower)
		}
	}
	if others != nil {
		c.Breach("GW-15", breach{Path: others[0], Consequence: specs.Cosmetic},
			"headers that do not reach the client as they were sent: %s", strings.Join(others, ", "))
	}
}

// compareFailure compares a reply that failed after status 200.
func (c *comparer) compareFailure(u *received) {
	isError := u.reply.End == wire.Failed
	id := "GW-28"
	if isError {
		id = "GW-16"
	}
	c.See(id)
	a := c.answer
	switch {
	case a.IsOK() && isError:
		c.Breach(id, breach{},
			"the upstream failed after status 200 (%s), and the client got a whole reply with the stop %q",
			report.Shorten(u.reply.Err.Text("message")), a.Reply.Stop)
	case a.IsOK():
		c.Breach(id, breach{},
			"the upstream's reply broke off, and the client got a whole reply with the stop %q", a.Reply.Stop)
	case isError && a.Response.Status/100 == 2 && a.Reply.End != wire.Failed:
		c.Breach(id, breach{}, "the upstream reported %q, and the client got %s",
			report.Shorten(u.reply.Err.Text("message")), c.outcomeText())
	case isError && a.Response.Status/100 == 2:
		c.See("GW-14")
		c.compareWords(u.reply.Err, a.Reply.Err, u.reply.Err, a.Reply.Err)
	case u.Response.End == "reset" && a.Err == nil && a.Response.Status/100 == 2 && a.Reply.End == wire.Cut:
		c.Breach(id, breach{},
			"the upstream's reply broke off, and the client's ends early without an error")
	case u.Response.End == "reset" && (errors.Is(a.Err, client.ErrTimeout) || errors.Is(a.Err, client.ErrSilent)):
		c.Breach(id, breach{},
			"the upstream's reply broke off, and the client still waited for the end of its reply after %v",
			a.Took.Round(time.Second))
	}
}

// judgeReply judges what the client got by the rules of its wire, where the upstream kept them.
func (c *comparer) judgeReply(u *received) {
	// That another model answers is configured here; that the reply says so is compared as GW-21.
	broken := map[string]bool{"SV-B10": true}
	if c.Wire == c.UpstreamWire {
		for _, pass := range rule.JudgeReply(report.ReplyExchange(&u.Exchange, u.reply)) {
			broken[pass.ID] = broken[pass.ID] || len(pass.Breaches) > 0
		}
	} else if !slices.ContainsFunc(u.reply.Items,
		func(it wire.Item) bool { return it.Continuity() && it.Token != "" }) {
		broken["SV-O16"] = true // the upstream's thinking has nothing encrypted that the client could get
	}
	x := report.ReplyExchange(&c.answer.Exchange, c.answer.Reply)
	x.Cut = u.Response.End == "reset"
	c.JudgeReply(c.n, x, broken)
}

// difference is one place in which two JSON values differ. A nil side has nothing there.
type difference struct {
	path    string
	top     string // the member of the top that holds the place
	member  string // the last name in path
	was, is *tree.Node
}

// maxDifferences bounds what is listed of two bodies.
const maxDifferences = 50

// diffBodies lists where two bodies differ, in the order of the first. A name in camel case and with underscores is one
// where the wire knows both. Numbers are compared by value
// and the order of members does not count, as for every reader of JSON. A name that stands twice in
// an object is passed over, because readers disagree which of its values counts.
func diffBodies(w *wires.Wire, was, is *tree.Node) (list []difference) {
	spelled := func(n *tree.Node, name string) *tree.Node {
		if found := n.Get(name); found != nil || !w.Has(wires.TwoSpellings) {
			return found
		}
		for i, other := range n.Names() {
			if tree.Snake(other) == tree.Snake(name) {
				return n.Items()[i]
			}
		}
		return nil
	}
	add := func(d difference) {
		if len(list) < maxDifferences {
			list = append(list, d)
		}
	}
	var walk func(at difference)
	walk = func(at difference) {
		if tree.Equal(at.was, at.is) {
			return
		}
		switch {
		case at.was.Is(tree.Object) && at.is.Is(tree.Object):
			times := map[string]int{}
			for _, name := range at.was.Names() {
				times[name]++
			}
			for i, name := range at.was.Names() {
				if times[name] == 1 {
					walk(at.atMember(name, at.was.Items()[i], spelled(at.is, name)))
				}
			}
			for i, name := range at.is.Names() {
				if spelled(at.was, name) == nil {
					walk(at.atMember(name, nil, at.is.Items()[i]))
				}
			}
		case at.was.Is(tree.Array) && at.is.Is(tree.Array) && len(at.was.Items()) == len(at.is.Items()):
			for i, item := range at.was.Items() {
				next := at
				next.path += "[" + strconv.Itoa(i) + "]"
				next.was, next.is = item, at.is.Items()[i]
				walk(next)
			}
		default:
			add(at)
		}
	}
	walk(difference{was: was, is: is})
	return list
}

// diffJSON compares two texts of JSON. It returns the values that differ first, and the texts
// themselves where one of them is no JSON.
func diffJSON(was, is string) (one, other string, isEqual bool) {
	before, err := tree.Parse(was)
	after, otherErr := tree.Parse(is)
	if err != nil || otherErr != nil {
		return was, is, was == is
	}
	list := diffBodies(nil, before, after)
	if len(list) == 0 {
		return "", "", true
	}
	one, other = list[0].bothTexts()
	return one, other, false
}

func (d difference) atMember(name string, was, is *tree.Node) difference {
	next := difference{path: name, top: d.top, member: name, was: was, is: is}
	if d.path != "" {
		next.path = d.path + "." + name
	}
	if d.top == "" {
		next.top = name
	}
	return next
}

// changeText says in a word what happened to the value.
func (d difference) changeText() string {
	switch {
	case d.was == nil:
		return "added"
	case d.is == nil:
		return "left out"
	case d.was.Is(tree.Array) && d.is.Is(tree.Array):
		return "changed from " + strconv.Itoa(len(d.was.Items())) + " to " + strconv.Itoa(len(d.is.Items())) +
			" elements"
	}
	return "changed"
}

// bothTexts are both values as texts.
func (d difference) bothTexts() (was, is string) {
	text := func(n *tree.Node) string {
		if n.Is(tree.String) {
			return n.Text()
		}
		return n.Raw()
	}
	return text(d.was), text(d.is)
}
