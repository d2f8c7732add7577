package providertest

import (
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Tools are the definitions that the conversations call. The schema has its
// keys in an order, and a number in a form, that no JSON library would choose.
func Tools() []transcript.ToolDef {
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
	return []conversation{plainConversation(), anthropicLoop(), openAILoop(), geminiLoop(), edgeCases(), partsConversation()}
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
		transcript.Assistant(transcript.StopToolUse, madeBy(originOf("gemini", "generateContent", "gemini-3-flash-preview"),
			transcript.Reasoning("Thinking about it", nil),
			withRaw(withSignature(transcript.ToolUse("22synth8", "read_file", []byte(`{"path":"a.txt"}`)), "EjQKMgER+sig/ur="),
				`{"functionCall":{"id":"22synth8","name":"read_file","args":{"path":"a.txt"}},"thoughtSignature":"EjQKMgER+sig/ur="}`),
			withRaw(transcript.ToolUse("made-up-1", "list_dir", []byte(`{}`)), `{"functionCall":{"name":"list_dir","args":{}}}`),
		)...),
		transcript.ToolResults(failedResult("made-up-1", "permission denied"), okResult("22synth8", "hello")),
		transcript.Assistant(transcript.StopEndTurn, madeBy(originOf("gemini", "generateContent", "gemini-3-flash-preview"),
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
		transcript.ToolResults(failedResult("call|fc:1", "arguments are not JSON; not executed"), okResult("toolu_01A", "lone \xed\xa0\xbd surrogate")),
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
		transcript.Assistant(transcript.StopToolUse, transcript.ToolUse("a", "read_file", []byte(`{}`)), transcript.ToolUse("b", "list_dir", []byte(`{}`))),
		transcript.ToolResults(
			transcript.ToolResult{ToolUseID: "a", Parts: []transcript.Part{{Type: "image", MediaType: "image/jpeg", Data: []byte("jpg")}, {Type: "clip"}}},
			transcript.ToolResult{ToolUseID: "b", Content: "broken", IsError: true, Parts: []transcript.Part{{Type: "image", MediaType: "image/jpeg", Data: []byte("jpg")}}},
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
		opaque := transcript.Block{Type: transcript.BlockOpaque, Kind: "web", Raw: []byte(`{"type":"web_` + o.Provider + `", "x":1.0}`)}
		text := transcript.Text("lone \xed\xa0\xbd and \xff from " + o.Provider)
		all = append(all,
			transcript.Assistant(transcript.StopEndTurn, madeBy(o, signedThinking("broken \xff", "EsYB"), opaque, text)...),
			transcript.User("go on"),
			transcript.Assistant(transcript.StopMaxTokens, madeBy(o, signedThinking("only thought", "EsYC"))...),
			transcript.User("go on"),
		)
	}
	return all
}
