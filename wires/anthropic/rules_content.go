package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var contentRules = []anthropicRule{
	sureRule("A-8", "reported", "there is at least one message", someMessage),
	likelyRule("A-9", "documented", "only newer models take system messages in the conversation", systemTaken),
	likelyRule("ANT-B8", "reported", "a system message follows the user, or a server tool's result", systemPlaced),
	sureRule("A-24", "reported", "results and pictures come from the user, thinking and calls from the assistant", blocksPlaced),
	sureRule("A-12", "reported", "no message is empty but a last one of the assistant", someContent),
	sureRule("ANT-X6", "reported", "an empty text has no cache mark", markedText),
	sureRule("A-11", "reported", "no text is empty, and no message white space alone", someText),
	sureRule("A-43", "reported", "there are up to four cache marks", fewMarks),
	sureRule("A-52", "reported", "no cache mark of an hour stands behind one of five minutes", longMarksFirst),
	judged("PAR-010/size", sureRule("A-46", "documented", "there are no more images than the model takes", nil), imagesFew),
	judged("PAR-010/base64", sureRule("A-46", "documented", "images are base64", nil), imagesDecoded),
	judged("PAR-010/size", sureRule("A-46", "documented", "images are within their limits", nil), imagesSmall),
	judged("PAR-010/media-type", sureRule("A-46", "documented", "images are of the type that they are called", nil), imagesNamed),
	sureRule("A-47", "reported", "the result of an error has text and nothing but text", errorsSay),
}

func someMessage(c *call, _ rule.Env) *rule.Refusal {
	return invalidIf(len(c.said) == 0 && c.root.Given("thread") == nil, "messages: at least one message is required")
}

func systemTaken(c *call, _ rule.Env) *rule.Refusal {
	if c.model == nil || c.model.system || c.hasBeta(betaSystem) {
		return nil
	}
	for i, m := range c.said {
		if m.role == "system" {
			return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
	}
	return nil
}

func systemPlaced(c *call, _ rule.Env) *rule.Refusal {
	for i, m := range c.said {
		if m.role != "system" {
			continue
		}
		if i == 0 || c.said[i-1].role == "assistant" && !endsInResult(c.said[i-1]) {
			return invalid("messages.%d: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result", i)
		}
	}
	return nil
}

func endsInResult(m message) bool {
	return len(m.blocks) > 0 && strings.HasSuffix(m.blocks[len(m.blocks)-1].kind, "_tool_result")
}

// sides says which role a block belongs to; blocks that are not listed may stand
// anywhere.
var sides = map[string]string{
	"tool_result": "user", "image": "user", "document": "user", "search_result": "user",
	"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
	"server_tool_use": "assistant", "mcp_tool_use": "assistant",
}

func blocksPlaced(c *call, _ rule.Env) *rule.Refusal {
	for i, m := range c.said {
		for _, b := range m.blocks {
			if side := sides[b.kind]; side != "" && m.role != side && m.role != "system" {
				return invalid("messages.%d: `%s` blocks can only be in `%s` messages", i, b.kind, side)
			}
		}
	}
	return nil
}

func someContent(c *call, _ rule.Env) *rule.Refusal {
	for i, m := range c.said {
		if c.root.Get("messages").List()[i].Given("output_config") != nil {
			continue // it changes settings and need not say anything
		}
		empty := len(m.blocks) == 0 || len(m.blocks) == 1 && m.blocks[0].Node == nil && m.blocks[0].text == ""
		if empty && (i < len(c.said)-1 || m.role != "assistant") {
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
	}
	return nil
}

// someText lets white space pass beside other blocks: https://github.com/LibreChat-AI/agents/pull/124
// tried both on the API.
func someText(c *call, _ rule.Env) *rule.Refusal {
	for _, m := range c.said {
		says := func(b block) bool { return b.kind != "text" || strings.TrimSpace(b.text) != "" }
		switch {
		case slices.ContainsFunc(m.blocks, func(b block) bool { return b.kind == "text" && b.Node != nil && b.text == "" }):
			return invalid("messages: text content blocks must be non-empty")
		case len(m.blocks) > 0 && m.blocks[0].text != "" && !slices.ContainsFunc(m.blocks, says):
			return invalid("messages: text content blocks must contain non-whitespace text")
		}
	}
	return nil
}

func markedText(c *call, _ rule.Env) *rule.Refusal {
	for i, m := range c.said {
		for j, b := range m.blocks {
			if b.kind == "text" && b.text == "" && b.Given("cache_control") != nil {
				return invalid("messages.%d.content.%d.text: cache_control cannot be set for empty text blocks", i, j)
			}
		}
	}
	return nil
}

func fewMarks(c *call, _ rule.Env) *rule.Refusal {
	const most = 4
	if n := len(c.cacheMarks()); n > most {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", most, n)
	}
	return nil
}

// longMarksFirst has the words of https://github.com/cnighswonger/claude-code-cache-fix/issues/44.
func longMarksFirst(c *call, _ rule.Env) *rule.Refusal {
	isShort := false
	for _, mark := range c.cacheMarks() {
		isLong := mark.Get("ttl").Text() == "1h"
		if isLong && isShort {
			return invalid("%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", mark.path)
		}
		isShort = !isLong
	}
	return nil
}

// cacheMark is a place that the request marks for the cache.
type cacheMark struct {
	*tree.Node
	path string
}

// cacheMarks lists the marks in the order in which they are read. The mark of the request
// itself falls on the last block, unless that block has one of its own.
func (c *call) cacheMarks() (marks []cacheMark) {
	isLastMarked := false
	look := func(v *tree.Node, path string) {
		mark := v.Given("cache_control")
		if isLastMarked = mark != nil; isLastMarked {
			marks = append(marks, cacheMark{mark, path + "cache_control"})
		}
	}
	for _, name := range []string{"tools", "system"} {
		for i, v := range c.root.Get(name).List() {
			look(v, fmt.Sprintf("%s.%d.", name, i))
		}
	}
	for i, m := range c.said {
		for j, b := range m.blocks {
			path := fmt.Sprintf("messages.%d.content.%d.", i, j)
			for k, inner := range b.Get("content").List() {
				look(inner, fmt.Sprintf("%scontent.%d.", path, k))
			}
			look(b.Node, path)
		}
	}
	if !isLastMarked {
		look(c.root, "")
	}
	return marks
}

func errorsSay(c *call, _ rule.Env) *rule.Refusal {
	for i, m := range c.said {
		for j, b := range m.blocks {
			if b.kind != "tool_result" || !b.Get("is_error").True() {
				continue
			}
			content := b.Get("content")
			for _, part := range content.List() {
				if part.Get("type").Text() != "text" {
					return invalid("messages.%d.content.%d.tool_result: all content must be type text if is_error is true", i, j)
				}
			}
			if content.Text() == "" && len(content.List()) == 0 {
				return invalid("messages.%d.content.%d.tool_result: content cannot be empty if is_error is true", i, j)
			}
		}
	}
	return nil
}
