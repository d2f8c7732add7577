package anthropic

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

var contentRules = []anthropicRule{
	sureRule("A-8", "reported", "there is at least one message", someMessage),
	judged("ORD-015/roles", likelyRule("A-9", "documented", "only newer models take system messages in the conversation", nil), systemTaken),
	everywhere(judged("ORD-015/roles", likelyRule("ANT-B8", "reported", "a system message follows the user, or a server tool's result", nil), systemPlaced)),
	everywhere(judged("ORD-015/parts", sureRule("A-24", "reported", "results and pictures come from the user, thinking and calls from the assistant", nil), blocksPlaced)),
	everywhere(judged("ORD-014/nothing-empty", sureRule("A-12", "reported", "no message is empty but a last one of the assistant", nil), someContent)),
	everywhere(judged("ORD-014/nothing-empty", sureRule("ANT-X6", "reported", "an empty text has no cache mark", nil), markedText)),
	everywhere(judged("ORD-014/nothing-empty", sureRule("A-11", "reported", "no text is empty, and no message white space alone", nil), someText)),
	judged("PAR-009/count", sureRule("A-43", "reported", "there are up to four cache marks", nil), fewMarks),
	judged("PAR-009/lifetimes", sureRule("A-52", "reported", "no cache mark of an hour stands behind one of five minutes", nil), longMarksFirst),
	judged("PAR-010/size", sureRule("A-46", "documented", "there are no more images than the model takes", nil), imagesFew),
	judged("PAR-010/base64", sureRule("A-46", "documented", "images are base64", nil), imagesDecoded),
	judged("PAR-010/size", sureRule("A-46", "documented", "images are within their limits", nil), imagesSmall),
	judged("PAR-010/media-type", sureRule("A-46", "documented", "images are of the type that they are called", nil), imagesNamed),
	everywhere(judged("ORD-015/parts", sureRule("A-47", "reported", "the result of an error has text and nothing but text", nil), errorsSay)),
}

func someMessage(c *call, _ rule.Env) *rule.Refusal {
	if len(c.said) == 0 && c.root.Given("thread") == nil {
		return invalid("%s", "messages: at least one message is required")
	}
	return nil
}

// refusesSystem reports whether the model takes no messages of the system: they came with
// Claude 4.8, and by a beta.
func (c *call) refusesSystem() bool {
	m := specs.ParseModel(c.name)
	return m.Family == "claude" && m.HasVersion() && m.IsBefore(4, 8) && !c.hasBeta(betaSystem)
}

func systemTaken(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if m.role == "system" && c.refusesSystem() {
			p.Observe()
			p.Report(fmt.Sprintf("messages[%d].role", i), "%s takes no message of the system, only the member system", c.name).
				Refuse(invalid("messages.%d.role: Input should be 'user' or 'assistant'", i))
		}
	}
}

func systemPlaced(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if m.role != "system" || c.refusesSystem() {
			continue
		}
		if p.Observe(); i == 0 || c.said[i-1].role == "assistant" && !endsInResult(c.said[i-1]) {
			p.Report(fmt.Sprintf("messages[%d]", i), "a message of the system follows neither the user nor a result of the provider's tools").
				Refuse(invalid("messages.%d: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result", i))
		}
	}
}

func endsInResult(m message) bool {
	return len(m.blocks) > 0 && strings.HasSuffix(m.blocks[len(m.blocks)-1].kind, "_tool_result")
}

// rolesKnown reports what the schema refuses.
func rolesKnown(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if p.Observe(); m.Is(tree.Object) && m.role != "user" && m.role != "assistant" && m.role != "system" {
			p.Report(fmt.Sprintf("messages[%d].role", i), "role %q is none of the provider's", m.role)
		}
	}
}

var idForm = regexp.MustCompile("^[a-zA-Z0-9_-]+$")

// idsSpelled reports what the schema refuses.
func idsSpelled(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_use", "tool_result") {
		if p.Observe(); !idForm.MatchString(b.toolID()) {
			p.Report(b.place(), "tool id %q holds other characters than letters, digits, _ and -", b.toolID())
		}
	}
}

// inputsKeyed reports what the schema refuses.
func inputsKeyed(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_use") {
		if p.Observe(); !b.Get("input").Is(tree.Object) {
			p.Report(b.place(), "input of %s %s is not an object", b.Text("name"), b.toolID())
		}
	}
}

// thinkingSigned reports what the schema refuses, and empty signatures and data.
func thinkingSigned(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking", "redacted_thinking") {
		p.Observe()
		if b.kind == "thinking" && b.Text("signature") == "" {
			p.Report(b.place(), "thinking block without a signature")
		} else if b.kind == "redacted_thinking" && b.Text("data") == "" {
			p.Report(b.place(), "redacted thinking without data").Rule = "A-6"
		}
	}
}

// thinkingSpelled reports what the schema refuses.
func thinkingSpelled(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking") {
		if p.Observe(); !b.Get("thinking").Is(tree.String) {
			p.Report(b.place(), "thinking block without a thinking text, which may be empty but not absent")
		}
	}
}

// thinkingUnmarked reports what the schema refuses.
func thinkingUnmarked(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking", "redacted_thinking") {
		if p.Observe(); b.Has("cache_control") {
			p.Report(b.place(), "%s carries cache_control", b.label())
		}
	}
}

// sides says which role a block belongs to; blocks that are not listed may stand
// anywhere.
var sides = map[string]string{
	"tool_result": "user", "image": "user", "document": "user", "search_result": "user",
	"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
	"server_tool_use": "assistant", "mcp_tool_use": "assistant",
}

func blocksPlaced(c *call, p *rule.Pass) {
	for b := range c.blocksOf(slices.Collect(maps.Keys(sides))...) {
		side, role := sides[b.kind], c.said[b.message].role
		if p.Observe(); role != side && (role == "user" || role == "assistant") {
			p.Report(b.place(), "a %s block stands under %s; it can only be in %s messages", b.kind, role, side).
				Refuse(invalid("messages.%d: `%s` blocks can only be in `%s` messages", b.message, b.kind, side))
		}
	}
}

// someContent passes messages that change settings: they need not say anything.
func someContent(c *call, p *rule.Pass) {
	for i, m := range c.said {
		isLast := i == len(c.said)-1 && m.role == "assistant"
		if p.Observe(); m.isEmpty() && !isLast && m.Given("output_config") == nil {
			p.Report(fmt.Sprintf("messages[%d].content", i), "message has no content").
				Refuse(invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i))
		}
	}
}

// isEmpty reports whether the message holds neither a block nor a character.
func (m message) isEmpty() bool {
	return len(m.blocks) == 0 || m.blocks[0].Node == nil && m.blocks[0].text == ""
}

func markedText(c *call, p *rule.Pass) {
	for b := range c.blocksOf("text") {
		if b.text == "" && b.Given("cache_control") != nil {
			p.Report(b.place(), "an empty text block carries cache_control").
				Refuse(invalid("messages.%d.content.%d.text: cache_control cannot be set for empty text blocks", b.message, b.index))
		}
	}
}

// someText lets white space pass beside other blocks: https://github.com/LibreChat-AI/agents/pull/124
// tried both on the API.
func someText(c *call, p *rule.Pass) {
	says := func(b block) bool { return b.kind != "text" || strings.TrimSpace(b.text) != "" }
	for i, m := range c.said {
		for _, b := range m.blocks {
			if b.kind == "text" && b.Node != nil && b.text == "" && b.Given("cache_control") == nil {
				p.Report(b.place(), "text block is empty").Refuse(invalid("messages: text content blocks must be non-empty"))
			}
		}
		if !m.isEmpty() && !slices.ContainsFunc(m.blocks, says) {
			p.Report(fmt.Sprintf("messages[%d].content", i), "the message is white space alone").
				Refuse(invalid("messages: text content blocks must contain non-whitespace text"))
		}
	}
}

func fewMarks(c *call, p *rule.Pass) {
	const most = 4
	p.Observe()
	if n := len(marksOf(c.root)); n > most {
		p.Report("cache_control", "%d places carry cache_control; %d may", n, most).
			Refuse(invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", most, n))
	}
}

// longMarksFirst has the words of https://github.com/cnighswonger/claude-code-cache-fix/issues/44.
func longMarksFirst(c *call, p *rule.Pass) {
	short := ""
	for _, mark := range marksOf(c.root) {
		p.Observe()
		isLong, path := mark.Mark.Text("ttl") == "1h", strings.TrimPrefix(mark.Path+".cache_control", ".")
		if isLong && short != "" {
			dotted := strings.NewReplacer("[", ".", "]", "").Replace(path)
			p.Report(path+".ttl", "a cache mark of one hour stands behind the mark of five minutes at %s", short).
				Refuse(invalid("%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", dotted))
			return
		}
		short = path
		if isLong {
			short = ""
		}
	}
}

// marksOf lists the marks for the cache. The mark of the request itself falls on the last block, unless
// that block has one of its own.
func marksOf(root *tree.Node) (marks []wire.CacheMark) {
	at := 0
	look := func(v *tree.Node, path string) {
		if mark := v.Given("cache_control"); mark != nil {
			marks = append(marks, wire.CacheMark{At: at, Path: path, Mark: mark})
		}
	}
	for _, name := range []string{"tools", "system"} {
		for i, v := range root.List(name) {
			look(v, fmt.Sprintf("%s[%d]", name, i))
			at++
		}
	}
	for i, m := range root.List("messages") {
		content := m.Get("content")
		for j, b := range content.List() {
			path := fmt.Sprintf("messages[%d].content[%d]", i, j)
			for k, inner := range b.List("content") {
				look(inner, fmt.Sprintf("%s.content[%d]", path, k))
			}
			look(b, path)
			at++
		}
		if content.Is(tree.String) {
			at++
		}
	}
	if at--; len(marks) == 0 || marks[len(marks)-1].At != at {
		look(root, "")
	}
	return marks
}

func errorsSay(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_result") {
		if !b.True("is_error") {
			continue
		}
		p.Observe()
		content := b.Get("content")
		other := slices.IndexFunc(content.List(), func(part *tree.Node) bool { return part.Text("type") != "text" })
		switch {
		case other >= 0:
			p.Report(b.place(), "error result %s holds a block of type %q; it may hold text only", b.toolID(), rule.Shorten(content.List()[other].Text("type"))).
				Refuse(invalid("messages.%d.content.%d.tool_result: all content must be type text if is_error is true", b.message, b.index))
		case content.Text() == "" && len(content.List()) == 0:
			p.Report(b.place(), "error result %s says nothing", b.toolID()).
				Refuse(invalid("messages.%d.content.%d.tool_result: content cannot be empty if is_error is true", b.message, b.index))
		}
	}
}
