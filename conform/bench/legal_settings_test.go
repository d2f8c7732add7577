package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// The functions of this file change what stands beside the conversation: the model, the
// settings, the host, and what a client adds of its own.

var modelDates = map[string]string{
	"gpt-5": "gpt-5-2025-08-07", "gpt-5-mini": "gpt-5-mini-2025-08-07", "gpt-5-nano": "gpt-5-nano-2025-08-07", "gpt-5.2": "gpt-5.2-2025-12-11",
	"gpt-4o": "gpt-4o-2024-08-06", "gpt-4o-mini": "gpt-4o-mini-2024-07-18", "gpt-4.1": "gpt-4.1-2025-04-14", "gpt-5.5": "gpt-5.5-2026-04-23",
	"claude-sonnet-4-5": "claude-sonnet-4-5-20250929", "claude-opus-4-5": "claude-opus-4-5-20251101", "claude-haiku-4-5": "claude-haiku-4-5-20251001",
}

func datedModel(_ *draft, _ int, p *page, _ *rand.Rand) string {
	dated := modelDates[p.root.at("model").stringValue()]
	if dated == "" {
		return ""
	}
	p.root.setMember("model", stringNode(dated))
	return "model"
}

var dateTail = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d)$`)

func aliasModel(_ *draft, _ int, p *page, _ *rand.Rand) string {
	name := p.root.at("model").stringValue()
	alias := dateTail.ReplaceAllString(name, "")
	if alias == name || strings.HasPrefix(name, "claude-3") {
		return ""
	}
	p.root.setMember("model", stringNode(alias))
	return "model"
}

func otherParameters(p *page, _ *rand.Rand) string {
	switch p.provider {
	case evidence.Anthropic:
		n := p.root.at("max_tokens").intValue()
		if n < 2 || p.root.at("thinking") != nil {
			return ""
		}
		p.root.setMember("max_tokens", intNode(n-1))
		return "max_tokens"
	case evidence.OpenAI:
		p.root.setMember("max_output_tokens", parseLiteral("4096"))
		return "max_output_tokens"
	}
	return setConfig(p, `{"maxOutputTokens":4096}`)
}

func setConfig(p *page, members string) string {
	c, key := p.root.firstOf("generationConfig", "generation_config")
	if c == nil {
		c, key = parseLiteral("{}"), "generationConfig"
		p.root.setMember(key, c)
	}
	if c.at("thinking_config") != nil {
		return ""
	}
	return key + "." + setMembers(c, members)
}

func otherMetadata(p *page, _ *rand.Rand) string {
	if p.provider == evidence.Anthropic {
		return setMembers(p.root, `{"metadata":{"user_id":"user_b71c"}}`)
	}
	return setMembers(p.root, `{"metadata":{"turn":"2"}}`)
}

func otherToolChoice(p *page, _ *rand.Rand) string {
	if list, _ := p.toolList(); list.countMembers() == 0 || p.root.at("tool_choice") != nil {
		return ""
	}
	if p.provider == evidence.Anthropic {
		return setMembers(p.root, `{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`)
	}
	return setMembers(p.root, `{"tool_choice":"auto","parallel_tool_calls":false}`)
}

func appendDeveloper(d *draft, k int, p *page, _ *rand.Rand) string {
	if !p.turnList().isArray() || k != lastOf(d.scene) || len(d.accepted) > 1 && !d.continuesReply(k) || len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].role != "user" {
		return ""
	}
	p.turnList().appendValue(parseLiteral(`{"role":"developer","content":"From now on answer in French."}`))
	return "input"
}

func appendSystem(d *draft, k int, p *page, _ *rand.Rand) string {
	if k != lastOf(d.scene) || len(d.accepted) > 1 && !d.continuesReply(k) || len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].role != "user" {
		return ""
	}
	p.turnList().appendValue(parseLiteral(`{"role":"system","content":"From now on answer in French."}`))
	return "messages"
}

// attributionBlock puts Claude Code's block with a checksum of the request in front
// of the system prompt.
func attributionBlock(_ *draft, k int, p *page, _ *rand.Rand) string {
	block := parseLiteral(fmt.Sprintf(`{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.0.%03x; cc_entrypoint=cli; cch=%05x;"}`, 3, 74565+k*9173))
	s := p.root.at("system")
	switch {
	case s == nil:
		return ""
	case s.isString():
		list := parseLiteral(`[{"type":"text","text":` + string(s.raw) + `}]`)
		list.insertAt(0, block)
		p.root.setMember("system", list)
	default:
		s.insertAt(0, block)
	}
	return "system[0]"
}

// promptMarks lets the user say what would be an edit in a token.
func promptMarks(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	p := d.editableRequest(k)
	if len(p.blocks) == 0 {
		return Place{}, false
	}
	b := p.blocks[len(p.blocks)-1]
	if b.kind != textBlock || b.role != "user" || !isNew(d.scene, k, d.blocks[k][len(p.blocks)-1]) {
		return Place{}, false
	}
	p.setText(b, b.text+" … [REDACTED] \uFFFD (cch=1a2b3)")
	return d.placeAt(k, b.path), d.commitPage(k, p)
}

// otherHost serves the same traffic from a host that only speaks the format.
func otherHost(d *draft, _ *rand.Rand) (Place, bool) {
	var every []issued
	for _, reply := range d.replies {
		every = append(every, reply...)
	}
	for i := range d.ev.Exchanges {
		ex := &d.ev.Exchanges[i]
		ex.Request.URL = strings.Replace(ex.Request.URL, "https://api.openai.com/", "https://llm.example.com/", 1)
		for _, it := range every {
			if strings.HasPrefix(it.id, "call_") {
				other := []byte("chatcmpl-tool-" + strings.TrimPrefix(it.id, "call_"))
				ex.Request.Body = bytes.ReplaceAll(ex.Request.Body, []byte(it.id), other)
				ex.Response.Body = bytes.ReplaceAll(ex.Response.Body, []byte(it.id), other)
				ex.Response.Chunks = nil
			}
		}
	}
	return Place{}, true
}

func explicitDefaults(_ *draft, _ int, p *page, _ *rand.Rand) string {
	switch p.provider {
	case evidence.Anthropic:
		if p.root.at("stream") != nil {
			return ""
		}
		return setMembers(p.root, `{"stream":false}`)
	case evidence.OpenAI:
		if p.root.at("truncation") != nil || p.root.at("parallel_tool_calls") != nil {
			return ""
		}
		return setMembers(p.root, `{"truncation":"disabled","parallel_tool_calls":true}`)
	}
	return setConfig(p, `{"candidateCount":1}`)
}
