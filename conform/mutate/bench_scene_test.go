package mutate

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
)

// issued is one finished item of a reply.
type issued struct {
	kind, id, itemID, name, text, token, draft, arguments string
}

// link says which reply issued an item.
type link struct{ exchange, item int }

// unlinked is the link of an item that no recorded reply issued.
var unlinked = link{-1, -1}

// scene is evidence with its requests and replies read. Faults share it and do not change it.
type scene struct {
	ev       evidence.Evidence
	provider string
	pages    []*page
	links    [][]link
	replies  [][]issued
	// asked are the calls of the model, accepted those that were answered with 2xx.
	asked, accepted []int
}

// newScene reads ev. It returns nil for evidence in which a fault cannot be decided: several
// providers, other hosts, edited tokens or no accepted request.
func newScene(ev *evidence.Evidence) *scene {
	providers := ev.Providers()
	if len(providers) != 1 {
		return nil
	}
	s := &scene{ev: *ev, provider: providers[0]}
	host := map[string]string{
		evidence.Anthropic: "api.anthropic.com", evidence.OpenAI: "api.openai.com",
		evidence.Gemini: "generativelanguage.googleapis.com",
	}[s.provider]
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		u, err := url.Parse(x.Request.URL)
		isOther := err != nil || u.Host != host
		if s.provider == chat {
			isOther = !x.IsOwnHost()
		}
		if isOther || bytes.Contains(x.Request.Body, []byte("_REDACTED_")) {
			return nil
		}
		p := openCall(&s.ev, i)
		s.pages, s.replies, s.links = append(s.pages, p), append(s.replies, issuedBy(x)),
			append(s.links, make([]link, len(p.items)))
		if !p.doc.Is(tree.Object) || !p.isGeneration() || x.Request.Method != http.MethodPost {
			p.items = nil
			continue
		}
		s.asked = append(s.asked, i)
		if x.Response.Status/100 == 2 {
			s.accepted = append(s.accepted, i)
		}
		for k, it := range p.items {
			s.links[i][k] = s.findLink(i, it)
		}
	}
	if len(s.accepted) == 0 {
		return nil
	}
	return s
}

// openCall opens a request. An input that is a text alone has no items.
func openCall(ev *evidence.Evidence, n int) *page {
	p := openPage(ev, n, nil)
	if p.doc.Get("input").Is(tree.String) {
		p.items = nil
	}
	return p
}

func issuedBy(x *evidence.Exchange) (list []issued) {
	if x.Response.Status/100 != 2 || len(x.Response.Body) == 0 {
		return nil
	}
	r := x.ReadReply()
	if r.Doc.Get("object").Text() == "response.compaction" {
		return nil // of another endpoint
	}
	for _, it := range r.Items {
		was := issued{kind: kindOfWire(&it), id: it.ID, itemID: it.ItemID, name: it.Name, text: it.Text,
			token: it.Token, arguments: it.Args}
		if token := it.Node.Get("encrypted_content"); it.Node.Text("type") == "compaction" && token != nil {
			was.kind, was.token = "hidden", token.Text()
		}
		if was.kind == "thinking" && len(it.Summary) > 0 {
			was.text = it.Summary[0]
		}
		if len(it.DraftTokens) > 0 {
			was.draft = it.DraftTokens[0]
		}
		list = append(list, was)
	}
	return list
}

// findLink finds the only reply before request k that issued the item.
func (s *scene) findLink(k int, it *item) link {
	found := unlinked
	for j := range k {
		for i, was := range s.replies[j] {
			if it.role != "assistant" || !isIssued(it, was) {
				continue
			}
			if found != unlinked {
				return unlinked
			}
			found = link{j, i}
		}
	}
	return found
}

func isIssued(it *item, was issued) bool {
	switch {
	case it.kind != was.kind:
		return false
	case it.token != "" || was.token != "":
		return it.token == was.token
	case it.kind == "call":
		return it.id != "" && it.id == was.id || it.id == "" && was.id == "" && it.name == was.name
	}
	return (it.kind == "text" || it.kind == "thinking") && strings.TrimSpace(it.text) != "" && it.text == was.text
}

// isSameItem reports whether b is a again in another request.
func isSameItem(a, b *item) bool {
	return a.kind == b.kind && a.role == b.role && a.turn == b.turn && a.inTurn == b.inTurn &&
		a.node.Raw() == b.node.Raw()
}

func (p *page) hasItem(it *item) bool {
	return slices.ContainsFunc(p.items, func(o *item) bool { return isSameItem(o, it) })
}

// continuesReply holds for a request that sends back a reply of the recording and begins as
// the request of that reply did.
func (s *scene) continuesReply(k int) bool {
	for _, from := range s.links[k] {
		if from == unlinked {
			continue
		}
		first, now := s.pages[from.exchange], s.pages[k]
		if len(first.items) == 0 || !isSameItem(first.items[0], now.items[0]) {
			continue
		}
		prefix := []string{"system", "tools", "instructions", "systemInstruction", "system_instruction"}
		return !slices.ContainsFunc(prefix,
			func(name string) bool { return first.doc.Get(name).Raw() != now.doc.Get(name).Raw() })
	}
	return false
}

func (s *scene) lastAccepted() int { return s.accepted[len(s.accepted)-1] }

// openTurn is the ordinal of the last turn in which the user said something new.
func openTurn(items []*item) int {
	last := -1
	for _, it := range items {
		if it.role == "user" && it.kind != "result" {
			last = it.turn
		}
	}
	return last
}

// saidAround lists the items around item i up to the next of another speaker.
func saidAround(items []*item, i int) []*item {
	from, to := i, i
	for from > 0 && items[from-1].role == items[i].role {
		from--
	}
	for to+1 < len(items) && items[to+1].role == items[i].role {
		to++
	}
	return items[from : to+1]
}

// draft is a copy of a scene's evidence under change.
type draft struct {
	*scene
	ev   evidence.Evidence
	dice *rand.Rand
	// path is the place of the item that was changed.
	path string
	// isPrepared holds while evidence is prepared, which may find it ready.
	isPrepared bool
	// isCopy holds after the request of a page became another exchange.
	isCopy bool
	// call is what a reply issued that is changed.
	call issued
}

func newDraft(s *scene, dice *rand.Rand) *draft {
	d := &draft{scene: s, ev: s.ev, dice: dice}
	d.ev.Exchanges, d.ev.Process = slices.Clone(s.ev.Exchanges), slices.Clone(s.ev.Process)
	return d
}

func draftOf(c *cursor) *draft { return c.host.(*draft) } //nolint:forcetypeassert // faults are made in a draft

// pickItem returns the ordinal of the last item that the user or the assistant said.
func (d *draft) pickItem(c *cursor, name string) int {
	found := -1
	for i, it := range c.items {
		if it.role == name && (it.kind != "result" || d.provider == evidence.Anthropic) {
			found = i
		}
	}
	return found
}

// openCopy returns a cursor on a copy of request k.
func (d *draft) openCopy(k int) *cursor {
	x := &d.ev.Exchanges[k]
	x.Request.Header, x.Response.Header = x.Request.Header.Clone(), x.Response.Header.Clone()
	return &cursor{page: openCall(&d.ev, k), at: -1, host: d}
}

// saveCall makes the page the request of its exchange.
func (d *draft) saveCall(c *cursor) {
	if d.isCopy || c.doc == nil {
		return
	}
	if body := encodeTree(c.doc); string(body) != c.doc.Raw() {
		c.theExchange().Request.Body = body
	}
}

// viewCall returns a cursor on request k as it was recorded.
func (d *draft) viewCall(k, i int) *cursor { return &cursor{page: d.pages[k], at: i, host: d} }

// takeSteps takes steps on item i of request k. It reports whether they changed something.
func (d *draft) takeSteps(k, i int, dice *rand.Rand, do step) bool {
	kept := slices.Clone(d.ev.Exchanges)
	c := d.openCopy(k)
	c.at, d.dice, d.isCopy = i, dice, false
	ok := do(c)
	if ok {
		d.saveCall(c)
	}
	if at, _ := firstChange(kept, d.ev.Exchanges); !ok || at < 0 && !d.isPrepared {
		d.ev.Exchanges = kept
		return false
	}
	for n := range d.ev.Exchanges {
		x := &d.ev.Exchanges[n]
		if x.Index = n; n >= len(kept) || !bytes.Equal(x.Request.Body, kept[n].Request.Body) {
			x.Request.Header = x.Request.Header.Clone()
			x.Request.Header.Del("Content-Length")
		}
		if n >= len(kept) || !bytes.Equal(x.Response.Body, kept[n].Response.Body) {
			x.Response.Header, x.Response.Chunks = x.Response.Header.Clone(), nil
			x.Response.Header.Del("Content-Length")
		}
	}
	return true
}

// firstChange finds the first exchange that differs, and where its request does; -1 for none.
func firstChange(before, after []evidence.Exchange) (at int, path string) {
	isSame := func(a, b http.Header) bool { return maps.EqualFunc(a, b, slices.Equal) }
	for i := range after {
		if i >= len(before) {
			return i, ""
		}
		a, b := &before[i], &after[i]
		if !bytes.Equal(a.Request.Body, b.Request.Body) {
			was, errWas := tree.Parse(a.Request.Body)
			is, errIs := tree.Parse(b.Request.Body)
			if path, _ = tree.Diff(was, is); errWas != nil || errIs != nil {
				path = ""
			}
			path = strings.Trim(path, ".=")
			if end := strings.LastIndexByte(path, ']'); end >= 0 {
				path = path[:end+1] // the item
			}
			return i, path
		}
		isReply := a.Response.Status == b.Response.Status && a.Response.End == b.Response.End &&
			bytes.Equal(a.Response.Body, b.Response.Body)
		if !isReply || a.Request.URL != b.Request.URL || a.Process != b.Process ||
			!isSame(a.Request.Header, b.Request.Header) || !isSame(a.Response.Header, b.Response.Header) {
			return i, ""
		}
	}
	if len(after) < len(before) {
		return len(after) - 1, ""
	}
	return -1, ""
}

// onItem changes one item that fits, in the request chosen and in every later one that
// repeats it: a faulty agent keeps its history.
func (d *draft) onItem(fits condition, do step) bool {
	type candidate struct{ k, i int }
	var found []candidate
	for _, k := range d.accepted {
		for i := range d.pages[k].items {
			if fits(d.viewCall(k, i)) {
				found = append(found, candidate{k, i})
			}
		}
	}
	d.dice.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	seed := d.dice.Uint64()
	for _, c := range found {
		it := d.pages[c.k].items[c.i]
		if !d.takeSteps(c.k, c.i, newDice(seed), do) {
			continue
		}
		for _, later := range d.accepted {
			if i := slices.IndexFunc(d.pages[later].items, func(o *item) bool { return isSameItem(it, o) }); later > c.k && i >= 0 {
				d.takeSteps(later, i, newDice(seed), do)
			}
		}
		d.path = it.path
		return true
	}
	return false
}

// onCalls changes the requests at which a fault is made, all of them or the first for which
// the steps succeed. A place of one request is taken or left.
func (d *draft) onCalls(at string, when condition, do step) bool {
	list, dice := d.accepted, func() *rand.Rand { return d.dice }
	isEvery := slices.Contains([]string{"every", "later", "all", "replies"}, at)
	switch at {
	case "every":
		list = d.asked
	case "all":
		list = nil
		for k := range d.ev.Exchanges {
			list = append(list, k)
		}
	case "page":
		list = slices.Clone(list)
		d.dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case "later":
		list = slices.DeleteFunc(slices.Clone(list), func(k int) bool { return !d.continuesReply(k) })
		if len(list) > 0 {
			list = list[d.dice.IntN(len(list)):]
		}
	case "last":
		list = []int{d.lastAccepted()}
	case "newest":
		list = slices.DeleteFunc(slices.Clone(d.asked), func(k int) bool { return k < len(d.ev.Exchanges)-1 })
	case "first":
		list = list[:1]
	case "any":
		list = []int{list[d.dice.IntN(len(list))]}
	case "once":
		i := slices.IndexFunc(list, func(k int) bool { return when(d.viewCall(k, -1)) })
		list = list[max(i, 0) : i+1]
	}
	if isEvery || at == "page" {
		seed := d.dice.Uint64()
		dice = func() *rand.Rand { return newDice(seed) }
	}
	done := false
	for _, k := range list {
		if done && !isEvery {
			break
		}
		done = when(d.viewCall(k, -1)) && d.takeSteps(k, -1, dice(), do) || done
	}
	return done
}

// onIssuers changes a reply that a later request sends back: of an item that fits, or any
// one in events.
func (d *draft) onIssuers(fits condition, do step) bool {
	var found []link
	for _, k := range d.accepted {
		for i := range d.pages[k].items {
			from := d.links[k][i]
			if fits == nil && from != unlinked {
				from.item = 0
			}
			isNew := fits != nil || isStreamed(d.ev.Exchanges[max(from.exchange, 0)].Response.Body) &&
				!slices.Contains(found, from)
			if from != unlinked && isNew && (fits == nil || fits(d.viewCall(k, i))) {
				found = append(found, from)
			}
		}
	}
	d.dice.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return slices.ContainsFunc(found, func(from link) bool {
		d.call = d.replies[from.exchange][from.item]
		return d.takeSteps(from.exchange, -1, d.dice, do)
	})
}

// atBorder changes the requests of the second process, the first one among them.
func (d *draft) atBorder(when condition, do step) bool {
	done := false
	border := slices.IndexFunc(d.ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == 1 })
	for _, k := range d.accepted {
		if border < 0 || k < border {
			continue
		}
		ok := when(d.viewCall(k, -1)) && d.takeSteps(k, -1, newDice(3), do)
		if !ok && k == border {
			return false
		}
		done = done || ok
	}
	return done
}

func newDice(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed,
		11))
} //nolint:gosec // a seeded sample, no secret

// renewTokens gives a reply, and requests that repeat it, other ids and tokens of the same form.
func renewTokens(body []byte, reply []issued) []byte {
	urlForm := strings.NewReplacer("+", "-", "/", "_")
	for _, it := range reply {
		for _, old := range []string{it.token, it.draft, it.id, it.itemID} {
			if len(old) < 8 {
				continue
			}
			fresh := old[:len(old)-6] + strings.Map(otherCharacter, old[len(old)-6:len(old)-2]) + old[len(old)-2:]
			body = bytes.ReplaceAll(body, []byte(old), []byte(fresh))
			body = bytes.ReplaceAll(body, []byte(urlForm.Replace(old)), []byte(urlForm.Replace(fresh)))
		}
	}
	return body
}

func otherCharacter(r rune) rune {
	switch {
	case r >= 'a' && r < 'z', r >= 'A' && r < 'Z', r >= '0' && r < '9':
		return r + 1
	case r == 'z', r == 'Z':
		return r - 1
	case r == '9':
		return '0'
	}
	return r
}

// runTwice runs the same conversation twice, with other ids and tokens.
func runTwice(d *draft, isInterleaved bool) bool {
	d.isCopy = true
	every := slices.Concat(d.replies...)
	if len(d.ev.Exchanges) > 12 || len(d.accepted) != len(d.ev.Exchanges) {
		return false
	}
	var twins, first []evidence.Exchange
	for k, x := range d.ev.Exchanges {
		if cutByBudget.Match(x.Response.Body) || d.pages[k].doc.Any("previous_response_id", "conversation") != nil {
			return false
		}
		twin := x
		twin.Request.Body, twin.Response.Body = renewTokens(x.Request.Body, every), renewTokens(x.Response.Body, every)
		if first = append(first, x); isInterleaved {
			first = append(first, twin)
		} else {
			twins = append(twins, twin)
		}
	}
	d.ev.Exchanges = slices.Concat(first, twins)
	for i := range d.ev.Exchanges {
		d.ev.Exchanges[i].Index = i
	}
	both := newScene(&d.ev)
	return both != nil && both.countOf(every) == d.countOf(every)
}

// countOf counts the tokens and ids of replies in the requests and replies of a scene.
func (s *scene) countOf(every []issued) (n int) {
	old := map[string]bool{}
	for _, it := range every {
		old[it.token], old[it.id] = true, true
	}
	delete(old, "")
	for k, p := range s.pages {
		for _, it := range s.replies[k] {
			n += map[bool]int{true: 1}[old[it.token]] + map[bool]int{true: 1}[old[it.id]]
		}
		for _, it := range p.items {
			n += map[bool]int{true: 1}[old[it.token]] + map[bool]int{true: 1}[old[it.id]]
		}
	}
	return n
}
