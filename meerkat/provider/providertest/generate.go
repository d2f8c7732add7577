package providertest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// texts has what breaks renderers: blanks, quotes, controls, WTF-8, bytes that
// are not UTF-8.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", " ", "\n\t", "a\"b\\c", "é 漢 😀", "\u2028<&>", "\xed\xa0\xbd", "\xff\xfe", "\x00\x1f"}),
	rapid.String(),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

// prompts are texts that every provider takes from a user.
var prompts = rapid.Map(texts, func(s string) string { return "> " + s })

var arguments = rapid.SampledFrom([]string{
	``, `{}`, `{"b":1.0,"a":1e400}`, `{"z":"\u00e9","z":12345678901234567890}`, " {\n\"a\" : [ ] }", `{"cut":`, `[1]`, `null`, "{\"x\":\"\xff\"}",
})

var tokens = rapid.SampledFrom([]string{"", "EsYBCkYI", "EjQKMgER+/8=", "not base64!", "gAAAAAB=="})

var metas = rapid.Custom(func(t *rapid.T) *transcript.Meta {
	token := tokens.Draw(t, "token")
	switch rapid.IntRange(0, 4).Draw(t, "meta") {
	case 0:
		return nil
	case 1:
		return &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: token}
	case 2:
		return &transcript.Meta{Provider: transcript.MetaAnthropicRedacted, Data: token}
	case 3:
		return &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: token}
	default:
		return &transcript.Meta{Provider: transcript.MetaOpenAI, ID: "rs_1", EncryptedContent: &token, Summary: []string{"a", ""}, Phase: "commentary"}
	}
})

var origins = rapid.SampledFrom([]*transcript.Origin{
	nil,
	originOf("anthropic", "messages", "claude-opus-4-5"),
	originOf("openai", "responses", "gpt-5.2"),
	originOf("gemini", "generateContent", "gemini-3-flash-preview"),
	originOf("gemini", "", "gemini-2.5-pro"),
})

// block draws any block but a call.
var block = rapid.Custom(func(t *rapid.T) transcript.Block {
	b := transcript.Block{
		Type:   rapid.SampledFrom([]transcript.BlockType{transcript.BlockText, transcript.BlockReasoning, transcript.BlockOpaque}).Draw(t, "type"),
		Text:   texts.Draw(t, "text"),
		Meta:   metas.Draw(t, "meta"),
		Origin: origins.Draw(t, "origin"),
	}
	if b.Type == transcript.BlockOpaque {
		b.Text, b.Raw = "", []byte(rapid.SampledFrom([]string{``, `{"cut`, `{"type":"web", "x":1.0}`}).Draw(t, "raw"))
	}
	return b
})

// messagesOf draws a legal conversation: it starts with a user message, every
// call is answered, and it ends with a message that a model can answer.
func messagesOf(t *rapid.T) []transcript.Message {
	all := []transcript.Message{transcript.User(prompts.Draw(t, "prompt"))}
	calls := 0
	for range rapid.IntRange(0, 5).Draw(t, "turns") {
		blocks := rapid.SliceOfN(block, 0, 4).Draw(t, "blocks")
		var results []transcript.ToolResult
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			calls++
			id := fmt.Sprintf(rapid.SampledFrom([]string{"toolu_%d", "call|%d"}).Draw(t, "id"), calls)
			if len(results) == 0 && rapid.Bool().Draw(t, "reuse") {
				id = "same"
			}
			call := transcript.ToolUse(id, "read_file", []byte(arguments.Draw(t, "args")))
			call.Meta, call.Origin = metas.Draw(t, "meta"), origins.Draw(t, "origin")
			at := rapid.IntRange(0, len(blocks)).Draw(t, "at")
			blocks = append(blocks[:at:at], append([]transcript.Block{call}, blocks[at:]...)...)
			results = append(results, transcript.ToolResult{
				ToolUseID: id, Content: texts.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "failed"),
			})
		}
		all = append(all, transcript.Assistant(transcript.StopEndTurn, blocks...))
		if len(results) > 0 {
			all = append(all, transcript.ToolResults(results...))
			continue
		}
		all = append(all, transcript.User(prompts.Draw(t, "prompt")))
	}
	return all
}

// anyBlock draws messages that need not be legal in any way.
func anyBlock(t *rapid.T) []transcript.Message {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) transcript.Message {
		m := transcript.Message{
			Role: rapid.SampledFrom([]transcript.Role{
				transcript.RoleSystem, transcript.RoleUser, transcript.RoleAssistant, transcript.RoleToolResults, "tool",
			}).Draw(t, "role"),
			Content: texts.Draw(t, "content"),
			Blocks:  rapid.SliceOfN(block, 0, 3).Draw(t, "blocks"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			m.Results = append(m.Results, transcript.ToolResult{ToolUseID: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.Blocks = append(m.Blocks, transcript.ToolUse(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"), "x", nil))
		}
		return m
	}), 0, 6).Draw(t, "messages")
}
