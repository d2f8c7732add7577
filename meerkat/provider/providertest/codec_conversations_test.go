package providertest_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// toolDefs are the definitions that the conversations call. The schema has its
// keys in an order, and a number in a form, that no JSON library would choose.
func toolDefs() []transcript.ToolDef {
	return []transcript.ToolDef{
		{
			Name: "read_file", Description: "Read a <file> & return it",
			InputSchema: transcript.RawJSON(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"integer","maximum":1.0}}}`),
		},
		{Name: "list_dir"},
	}
}

func originOf(provider, api, model string) *transcript.Origin {
	return &transcript.Origin{Provider: provider, API: api, Model: model}
}

// madeBy stamps blocks with where they were made.
func madeBy(o *transcript.Origin, blocks ...transcript.Block) []transcript.Block {
	for i := range blocks {
		at := *o
		at.Index = i
		blocks[i].Origin = &at
	}
	return blocks
}

func signedThinking(text, signature string) transcript.Block {
	return transcript.Reasoning(text, &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: signature})
}

func redactedThinking(data string) transcript.Block {
	return transcript.Reasoning("", &transcript.Meta{Provider: transcript.MetaAnthropicRedacted, Data: data})
}

func reasoningItem(id, sealed string, summary ...string) transcript.Block {
	meta := &transcript.Meta{Provider: transcript.MetaOpenAI, ID: id, Summary: append([]string{}, summary...)}
	if sealed != "" {
		meta.EncryptedContent = &sealed
	}
	text := ""
	for i, s := range summary {
		if i > 0 {
			text += "\n"
		}
		text += s
	}
	return transcript.Reasoning(text, meta)
}

func withSignature(b transcript.Block, signature string) transcript.Block {
	b.Meta = &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: signature}
	return b
}

func withPhase(b transcript.Block, name string) transcript.Block {
	b.Meta = &transcript.Meta{Provider: transcript.MetaOpenAI, ID: "msg_1", Phase: name}
	return b
}

func withRaw(b transcript.Block, object string) transcript.Block {
	b.Raw = []byte(object)
	return b
}

func okResult(id, content string) transcript.ToolResult {
	return transcript.ToolResult{ToolUseID: id, Content: content}
}

func failedResult(id, content string) transcript.ToolResult {
	return transcript.ToolResult{ToolUseID: id, Content: content, IsError: true}
}

// conversation is one named conversation.
type conversation struct {
	Name     string
	System   string
	Messages []transcript.Message
}

// conversations returns the conversations that every renderer must render;
// each was begun with one provider and may go on with any.
func conversations() []conversation {
	return []conversation{
		plainConversation(), anthropicLoop(), openAILoop(), geminiLoop(), edgeCases(), partsConversation(),
	}
}

func plainConversation() conversation {
	return conversation{Name: "plain", System: "You are <terse> & exact.", Messages: []transcript.Message{
		transcript.User("Say \"hi\" & <stop>.\n\u2028"),
	}}
}

func anthropicLoop() conversation {
	return conversation{Name: "anthropic-loop", System: "You are a coding agent.", Messages: []transcript.Message{
		transcript.User("Read a.txt and list the directory."),
		transcript.Assistant(transcript.StopToolUse, madeBy(originOf("anthropic", "messages", "claude-opus-4-5"),
			signedThinking("Two lookups\nare needed.", "EsYBCkYI+sig/1=="),
			redactedThinking("EmwKAhgBEgy+data=="),
			transcript.Text("Checking both."),
			transcript.ToolUse("toolu_01A", "read_file", []byte(`{"path": "a.txt","limit":1.0,"path":"\u00e9"}`)),
			signedThinking("", "EqQBCkYI-empty"),
			transcript.ToolUse("toolu_01B", "list_dir", []byte(`{}`)),
		)...),
		transcript.ToolResults(okResult("toolu_01B", ""), failedResult("toolu_01A", "")),
		transcript.Assistant(transcript.StopEndTurn, madeBy(originOf("anthropic", "messages", "claude-opus-4-5"),
			transcript.Text("Done.  "),
		)...),
		transcript.User("Thanks."),
	}}
}

func openAILoop() conversation {
	return conversation{Name: "openai-loop", Messages: []transcript.Message{
		transcript.System("You are a coding agent."),
		transcript.User("Read a.txt."),
		transcript.Assistant(transcript.StopToolUse, madeBy(originOf("openai", "responses", "gpt-5.2"),
			reasoningItem("rs_1", "gAAAAABblob1==", "**Plan**\n\nRead.", "**Check**"),
			withPhase(transcript.Text("Let me look."), "commentary"),
			reasoningItem("rs_2", "gAAAAABblob2=="),
			withRaw(transcript.ToolUse("call_A", "read_file", []byte(`{"path":"a.txt"}`)),
				`{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"path\":\"a.txt\"}","call_id":"call_A","name":"read_file"}`),
		)...),
		transcript.ToolResults(okResult("call_A", "hello")),
		transcript.Assistant(transcript.StopMaxTokens, madeBy(originOf("openai", "responses", "gpt-5.2"),
			transcript.Text("It says hello."), reasoningItem("rs_3", "gAAAAABtrailing=="),
		)...),
		transcript.User("And now?"),
	}}
}

func geminiLoop() conversation {
	return conversation{Name: "gemini-loop", System: "You are a coding agent.", Messages: []transcript.Message{
		transcript.User("Read a.txt and list the directory."),
		transcript.Assistant(transcript.StopToolUse,
			madeBy(originOf("gemini", "generateContent", "gemini-3-flash-preview"),
				transcript.Reasoning("Thinking about it", nil),
				withRaw(withSignature(
					transcript.ToolUse("22synth8", "read_file", []byte(`{"path":"a.txt"}`)), "EjQKMgER+sig/ur=",
				),
					`{"functionCall":{"id":"22synth8","name":"read_file","args":{"path":"a.txt"}},"thoughtSignature":"EjQKMgER+sig/ur="}`),
				withRaw(
					transcript.ToolUse("made-up-1", "list_dir", []byte(`{}`)),
					`{"functionCall":{"name":"list_dir","args":{}}}`,
				),
			)...),
		transcript.ToolResults(failedResult("made-up-1", "permission denied"), okResult("22synth8", "hello")),
		transcript.Assistant(transcript.StopEndTurn,
			madeBy(originOf("gemini", "generateContent", "gemini-3-flash-preview"),
				withSignature(transcript.Text("It says"), "EjQKfirst+part=="), transcript.Text(" hello."),
				withSignature(transcript.Text(""), "EjQKtrailing+empty/text="),
			)...),
		transcript.User("Thanks."),
	}}
}

func edgeCases() conversation {
	return conversation{Name: "edges", System: "Same.", Messages: append([]transcript.Message{
		transcript.User("Look at this."),
		transcript.System("The date is 2026-11-21."),
		transcript.User("cut \xf0\x9f\x98"),
		transcript.Assistant(transcript.StopToolUse,
			transcript.Reasoning("unsigned, from an aborted stream", nil),
			transcript.Text(" \n"),
			transcript.ToolUse("call|fc:1", "read_file", []byte(`{"path":"a`)),
			transcript.ToolUse("toolu_01A", "list_dir", nil),
		),
		transcript.ToolResults(
			failedResult("call|fc:1", "arguments are not JSON; not executed"),
			okResult("toolu_01A", "lone \xed\xa0\xbd surrogate"),
		),
		transcript.Assistant(transcript.StopEndTurn, transcript.Reasoning("nothing said", nil)),
		transcript.Assistant(transcript.StopEndTurn, transcript.Text("First."), transcript.Text("Second.")),
		transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("toolu_01A", "list_dir", []byte(`[1,2]`))),
		transcript.ToolResults(okResult("toolu_01A", "again")),
	}, from2()...)}
}

func partsConversation() conversation {
	return conversation{Name: "parts", Messages: []transcript.Message{
		{Role: transcript.RoleUser, Content: "What is this?", Parts: []transcript.Part{
			{Type: "image", MediaType: "image/png", Data: []byte("\x89PNG")},
			{Type: "image", URL: "https://example.com/a?b=1&c=2"},
			{Type: "file", MediaType: "application/pdf", Data: []byte("%PDF")},
			{Type: "audio"},
		}},
		transcript.Assistant(
			transcript.StopToolUse, transcript.ToolUse("a", "read_file", []byte(`{}`)),
			transcript.ToolUse("b", "list_dir", []byte(`{}`)),
		),
		transcript.ToolResults(
			transcript.ToolResult{
				ToolUseID: "a",
				Parts: []transcript.Part{
					{Type: "image", MediaType: "image/jpeg", Data: []byte("jpg")}, {Type: "clip"},
				},
			},
			transcript.ToolResult{
				ToolUseID: "b", Content: "broken", IsError: true,
				Parts: []transcript.Part{{Type: "image", MediaType: "image/jpeg", Data: []byte("jpg")}},
			},
		),
	}}
}

// from2 ends the edges with blocks that must come back byte for byte: WTF-8
// and broken UTF-8 in text and thinking, opaque blocks, and a reply that only
// thought.
func from2() []transcript.Message {
	var all []transcript.Message
	for _, o := range []*transcript.Origin{
		originOf("anthropic", "messages", "claude-opus-4-5"),
		originOf("openai", "responses", "gpt-5.2"),
		originOf("gemini", "generateContent", "gemini-3-flash-preview"),
	} {
		opaque := transcript.Block{
			Type: transcript.BlockOpaque, Kind: "web", Raw: []byte(`{"type":"web_` + o.Provider + `", "x":1.0}`),
		}
		text := transcript.Text("lone \xed\xa0\xbd and \xff from " + o.Provider)
		all = append(all,
			transcript.Assistant(transcript.StopEndTurn, madeBy(
				o, signedThinking("broken \xff", "EsYB"), opaque, text,
			)...),
			transcript.User("go on"),
			transcript.Assistant(transcript.StopMaxTokens, madeBy(o, signedThinking("only thought", "EsYC"))...),
			transcript.User("go on"),
		)
	}
	return all
}

// texts has what breaks renderers: blanks, quotes, controls, WTF-8, bytes that
// are not UTF-8.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{
		"", " ", "\n\t", "a\"b\\c", "é 漢 😀", "\u2028<&>", "\xed\xa0\xbd", "\xff\xfe", "\x00\x1f",
	}),
	rapid.String(),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

// prompts are texts that every provider takes from a user.
var prompts = rapid.Map(texts, func(s string) string { return "> " + s })

var arguments = rapid.SampledFrom([]string{
	``, `{}`, `{"b":1.0,"a":1e400}`, `{"z":"\u00e9","z":12345678901234567890}`, " {\n\"a\" : [ ] }", `{"cut":`, `[1]`,
	`null`, "{\"x\":\"\xff\"}",
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
		return &transcript.Meta{
			Provider: transcript.MetaOpenAI, ID: "rs_1", EncryptedContent: &token, Summary: []string{"a", ""},
			Phase: "commentary",
		}
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
		Type: rapid.SampledFrom([]transcript.BlockType{
			transcript.BlockText, transcript.BlockReasoning, transcript.BlockOpaque,
		}).Draw(t, "type"),
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
				transcript.RoleSystem, transcript.RoleUser, transcript.RoleAssistant, transcript.RoleToolResults,
				"tool",
			}).Draw(t, "role"),
			Content: texts.Draw(t, "content"),
			Blocks:  rapid.SliceOfN(block, 0, 3).Draw(t, "blocks"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			m.Results = append(m.Results, transcript.ToolResult{
				ToolUseID: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.Blocks = append(m.Blocks, transcript.ToolUse(
				rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"), "x", nil,
			))
		}
		return m
	}), 0, 6).Draw(t, "messages")
}
