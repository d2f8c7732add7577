package bench

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf16"
)

// The functions of this file write the same values in another spelling.

func rotateKeys(_ *draft, _ int, p *page, _ *rand.Rand) string {
	if p.root.countMembers() < 2 {
		return ""
	}
	rotateMembers(p.root)
	return "="
}

// rotateMembers moves the first member of an object to its end.
func rotateMembers(n *node) {
	k, v := n.members[0].key, n.members[0].value
	last := len(n.members) - 1
	for i := range last {
		n.members[i].key, n.members[i].keyRaw, n.members[i].value = n.members[i+1].key, n.members[i+1].keyRaw, n.members[i+1].value
	}
	n.members[last].key, n.members[last].keyRaw, n.members[last].value = k, stringNode(k).raw, v
}

func rotateTurnKeys(_ *draft, _ int, p *page, _ *rand.Rand) string {
	for _, turn := range elementsOf(p.turnList()) {
		if turn.countMembers() > 1 {
			rotateMembers(turn)
		}
	}
	for _, b := range p.blocks {
		if b.node.isObject() && len(b.path) > 2 && b.node.countMembers() > 1 {
			rotateMembers(b.node)
		}
	}
	if p.turnList().countMembers() == 0 {
		return ""
	}
	return "="
}

// walkNodes visits every node below n.
func walkNodes(n *node, visit func(*node)) {
	visit(n)
	for i := range n.members {
		walkNodes(n.members[i].value, visit)
	}
}

func escapeStrings(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	walkNodes(p.root, func(n *node) {
		if n.kind != '"' || bytes.IndexByte(n.raw, '\\') >= 0 {
			return
		}
		var out strings.Builder
		for _, c := range string(n.raw) {
			switch {
			case c == '/':
				out.WriteString(`\/`)
			case c > 0xFFFF:
				hi, lo := utf16.EncodeRune(c)
				fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
			case c > 126:
				fmt.Fprintf(&out, `\u%04x`, c)
			default:
				out.WriteRune(c)
			}
		}
		if out.Len() != len(n.raw) {
			n.raw, changed = []byte(out.String()), "="
		}
	})
	return changed
}

// indentBody puts white space around the members of the request and its turns.
func indentBody(_ *draft, _ int, p *page, _ *rand.Rand) string {
	for _, n := range append([]*node{p.root}, elementsOf(p.turnList())...) {
		for i := range n.members {
			n.members[i].before = []byte("\n  ")
		}
	}
	return "="
}

func spellNumbers(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	c, _ := p.root.firstOf("generationConfig", "generation_config")
	for _, holder := range []*node{p.root, c} {
		for _, key := range []string{"temperature", "topP", "top_p"} {
			n := holder.at(key)
			if n == nil || n.kind != '0' || bytes.ContainsAny(n.raw, "eE") {
				continue
			}
			if bytes.IndexByte(n.raw, '.') < 0 {
				n.raw = append(bytes.Clone(n.raw), '.', '0')
			} else {
				n.raw = append(bytes.Clone(n.raw), '0')
			}
			changed = key
		}
	}
	return changed
}

var snakeNames = map[string]string{
	"systemInstruction": "system_instruction", "generationConfig": "generation_config", "functionDeclarations": "function_declarations",
	"toolConfig": "tool_config", "functionCallingConfig": "function_calling_config", "allowedFunctionNames": "allowed_function_names",
	"thinkingConfig": "thinking_config", "includeThoughts": "include_thoughts", "thinkingLevel": "thinking_level", "thinkingBudget": "thinking_budget",
	"maxOutputTokens": "max_output_tokens", "functionCall": "function_call", "functionResponse": "function_response",
	"thoughtSignature": "thought_signature", "inlineData": "inline_data", "mimeType": "mime_type", "parametersJsonSchema": "parameters_json_schema",
	"topP": "top_p", "topK": "top_k", "stopSequences": "stop_sequences", "responseMimeType": "response_mime_type",
}

// snakeCase spells the known names of requests the other way that protocol
// buffers allow. What lies in arguments, results and schemas stays.
func snakeCase(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	var rename func(n *node)
	rename = func(n *node) {
		for i := range n.members {
			m := &n.members[i]
			if slices.Contains([]string{"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"}, m.key) {
				if s := snakeNames[m.key]; s != "" {
					m.key, m.keyRaw, changed = s, stringNode(s).raw, s
				}
				continue
			}
			if s := snakeNames[m.key]; s != "" {
				m.key, m.keyRaw, changed = s, stringNode(s).raw, s
			}
			rename(m.value)
		}
	}
	rename(p.root)
	return changed
}

func lowerLevel(_ *draft, _ int, p *page, _ *rand.Rand) string {
	level := p.root.at("generationConfig", "thinkingConfig", "thinkingLevel")
	if !level.isString() || strings.ToLower(level.stringValue()) == level.stringValue() {
		return ""
	}
	level.replaceWith(stringNode(strings.ToLower(level.stringValue())))
	return "generationConfig.thinkingConfig.thinkingLevel"
}

func bareTools(_ *draft, _ int, p *page, _ *rand.Rand) string {
	list := p.root.at("tools")
	if !list.isArray() || list.countMembers() != 1 {
		return ""
	}
	p.root.setMember("tools", list.at(0))
	return "tools"
}

func dropUserRoles(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, turn := range elementsOf(p.turnList()) {
		if turn.at("role").stringValue() == "user" {
			turn.removeKey("role")
			changed = "contents"
		}
	}
	return changed
}

func urlTokens(_ *draft, _ int, p *page, _ *rand.Rand) string {
	changed := ""
	for _, b := range p.blocks {
		raw, err := base64.StdEncoding.DecodeString(b.token)
		if b.token == "" || err != nil {
			continue
		}
		if s := base64.URLEncoding.EncodeToString(raw); s != b.token {
			p.setToken(b, s)
			changed = pathString(b.path)
		}
	}
	return changed
}
