package bench

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// scene is evidence with its requests and replies read. It is shared between
// kinds and not changed; alterations work on draft.
type scene struct {
	ev       evidence.Evidence
	provider string
	requests []*node // nil where the body is absent or not JSON
	blocks   [][]*block
	replies  [][]issued
	asked    []int // the calls of the model, in order
	accepted []int // those of them that were accepted
}

// ownHosts are the hosts of the providers themselves. Others speak the format
// but follow their own policies, so that a fault there is not decidable.
var ownHosts = map[string]string{
	evidence.Anthropic: "api.anthropic.com", evidence.OpenAI: "api.openai.com",
	evidence.Gemini: "generativelanguage.googleapis.com",
}

// newScene reads ev. It returns nil for evidence the bench cannot work with:
// several providers, other hosts, edited tokens or no accepted request.
func newScene(ev *evidence.Evidence) *scene {
	providers := ev.Providers()
	if len(providers) != 1 {
		return nil
	}
	s := &scene{ev: *ev, provider: providers[0]}
	for i := range ev.Exchanges {
		ex := &ev.Exchanges[i]
		if hostOf(ex.Request.URL) != ownHosts[s.provider] || bytes.Contains(ex.Request.Body, []byte("_REDACTED_")) {
			return nil
		}
		root, _ := parseJSON(ex.Request.Body)
		reply := readReply(s.provider, ex.Response)
		s.requests = append(s.requests, root)
		s.replies = append(s.replies, reply)
		if !root.isObject() || !isGeneration(ex) {
			s.blocks = append(s.blocks, nil)
			continue
		}
		s.blocks = append(s.blocks, readBlocks(s.provider, root))
		s.asked = append(s.asked, i)
		if ex.Response.Status/100 == 2 {
			s.accepted = append(s.accepted, i)
		}
	}
	if len(s.accepted) == 0 {
		return nil
	}
	for k := range s.blocks {
		s.linkBlocks(k)
		s.markSentBefore(k)
	}
	return s
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// isGeneration tells a call of the model from a token count and the like.
func isGeneration(ex *evidence.Exchange) bool {
	u, err := url.Parse(ex.Request.URL)
	if err != nil || ex.Request.Method != http.MethodPost {
		return false
	}
	switch ex.Provider {
	case evidence.Anthropic:
		return strings.HasSuffix(u.Path, "/messages")
	case evidence.OpenAI:
		return strings.HasSuffix(u.Path, "/responses")
	}
	return strings.HasSuffix(u.Path, ":generateContent") || strings.HasSuffix(u.Path, ":streamGenerateContent")
}

// linkBlocks finds the reply that issued each block of the model in request k: by
// token, by id, and by text when only one reply said it.
func (s *scene) linkBlocks(k int) {
	for _, b := range s.blocks[k] {
		if b.role != "assistant" {
			continue
		}
		var found []origin
		for j := range k {
			for i, it := range s.replies[j] {
				if sameBlock(b, it) {
					found = append(found, origin{j, i})
				}
			}
		}
		if len(found) == 1 {
			b.from = found[0]
		}
	}
}

func (s *scene) markSentBefore(k int) {
	for _, b := range s.blocks[k] {
		for _, j := range s.accepted {
			if j < k && slices.ContainsFunc(s.blocks[j], func(c *block) bool { return isSameBlock(c, b) }) {
				b.sentBefore = true
			}
		}
	}
}

func sameBlock(b *block, it issued) bool {
	if b.kind != it.kind {
		return false
	}
	switch {
	case b.token != "" || it.token != "":
		return b.token == it.token
	case b.kind == callBlock:
		return b.id != "" && b.id == it.id || b.id == "" && it.id == "" && b.name == it.name
	case b.kind == textBlock || b.kind == thinkingBlock:
		return strings.TrimSpace(b.text) != "" && b.text == it.text
	}
	return false
}

// modelCalls lists the accepted calls of the model, in order.
func (s *scene) modelCalls() []int { return slices.Clone(s.accepted) }

func (s *scene) modelName(k int) string { return modelOf(&s.ev.Exchanges[k], s.requests[k]) }

// hasTokens reports whether any request carries a continuity token.
func (s *scene) hasTokens() bool {
	return slices.ContainsFunc(s.blocks, func(list []*block) bool {
		return slices.ContainsFunc(list, func(b *block) bool { return b.token != "" })
	})
}

// draft is a copy of evidence under alteration.
type draft struct {
	*scene
	ev evidence.Evidence
}

func (s *scene) newDraft() *draft {
	d := &draft{scene: s, ev: s.ev}
	d.ev.Exchanges = slices.Clone(s.ev.Exchanges)
	d.ev.Process = slices.Clone(s.ev.Process)
	return d
}

// editableRequest returns a changeable copy of request k.
func (d *draft) editableRequest(k int) *page {
	root := d.requests[k].deepCopy()
	return &page{provider: d.provider, root: root, blocks: relocateBlocks(d.blocks[k], root)}
}

// relocateBlocks copies blocks so that they point into root.
func relocateBlocks(blocks []*block, root *node) []*block {
	out := make([]*block, len(blocks))
	for i, b := range blocks {
		c := *b
		c.node = root.at(b.path...)
		out[i] = &c
	}
	return out
}

// commitPage makes p the request of exchange k. It reports whether that changes it.
func (d *draft) commitPage(k int, p *page) bool {
	body := p.root.encodeJSON()
	ex := &d.ev.Exchanges[k]
	if bytes.Equal(body, ex.Request.Body) {
		return false
	}
	ex.Request.Body = body
	if len(ex.Request.Header["Content-Length"]) > 0 {
		ex.Request.Header = ex.Request.Header.Clone()
		ex.Request.Header.Del("Content-Length")
	}
	return true
}

// page is a request under alteration.
type page struct {
	provider string
	root     *node
	blocks   []*block
}

func (p *page) turnList() *node { return p.root.at(listKey[p.provider]) }

// siblingsOf is the array that holds b, nil for a string.
func (p *page) siblingsOf(b *block) (*node, int) {
	last := len(b.path) - 1
	i, ok := b.path[last].(int)
	if !ok {
		return nil, 0
	}
	return p.root.at(b.path[:last]...), i
}

// dropBlock removes b, and its turn when nothing else is in it.
func (p *page) dropBlock(b *block) {
	list, i := p.siblingsOf(b)
	if list == nil || len(b.path) > 2 && list.countMembers() == 1 {
		p.turnList().removeAt(b.turn)
		return
	}
	list.removeAt(i)
}

// insertBeside puts n before b (after = 0) or behind it (after = 1).
func (p *page) insertBeside(b *block, after int, n *node) bool {
	list, i := p.siblingsOf(b)
	if list == nil {
		return false
	}
	list.insertAt(i+after, n)
	return true
}

func (p *page) setText(b *block, s string) bool {
	v := stringNode(s)
	switch {
	case b.node.isString():
		b.node.replaceWith(v)
	case p.provider == evidence.Anthropic && b.kind == thinkingBlock:
		b.node.setMember("thinking", v)
	case p.provider == evidence.OpenAI && b.kind == thinkingBlock:
		if b.node.at("summary", 0, "text") == nil {
			return false
		}
		b.node.at("summary", 0).setMember("text", v)
	default:
		b.node.setMember("text", v)
	}
	return true
}

func (p *page) setToken(b *block, s string) {
	b.node.setMember(b.tokenKey, stringNode(s))
}

// setID changes the id of a call, or the id a result answers.
func (p *page) setID(b *block, id string) bool {
	v := stringNode(id)
	switch {
	case p.provider == evidence.OpenAI:
		b.node.setMember("call_id", v)
	case p.provider == evidence.Anthropic && b.kind == callBlock:
		b.node.setMember("id", v)
	case p.provider == evidence.Anthropic:
		b.node.setMember("tool_use_id", v)
	default:
		body, _ := b.node.firstOf("functionCall", "function_call", "functionResponse", "function_response")
		if body.at("id") == nil {
			return false
		}
		body.setMember("id", v)
	}
	return true
}

// argumentsOf is the node of a call's arguments and the object that holds it.
func (p *page) argumentsOf(b *block) (holder *node, key string) {
	switch p.provider {
	case evidence.Anthropic:
		return b.node, "input"
	case evidence.OpenAI:
		return b.node, "arguments"
	}
	call, _ := b.node.firstOf("functionCall", "function_call")
	return call, "args"
}

// resultBody is the object and member that hold what a result says.
func (p *page) resultBody(b *block) (holder *node, key string) {
	switch p.provider {
	case evidence.Anthropic:
		return b.node, "content"
	case evidence.OpenAI:
		return b.node, "output"
	}
	response, _ := b.node.firstOf("functionResponse", "function_response")
	return response, "response"
}

// newTurn is a turn of role that says text.
func (p *page) newTurn(role, text string) *node {
	quoted := string(stringNode(text).raw)
	switch {
	case p.provider == evidence.Anthropic:
		return parseLiteral(`{"role":"` + role + `","content":[{"type":"text","text":` + quoted + `}]}`)
	case p.provider == evidence.Gemini && role == "assistant":
		return parseLiteral(`{"role":"model","parts":[{"text":` + quoted + `}]}`)
	case p.provider == evidence.Gemini:
		return parseLiteral(`{"role":"user","parts":[{"text":` + quoted + `}]}`)
	case role == "assistant":
		return parseLiteral(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + quoted + `}]}`)
	}
	return parseLiteral(`{"role":"user","content":` + quoted + `}`)
}
