package transcript

import "pgregory.net/rapid"

// hostile strings: what streams, tools and users are known to send.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"", "<&>\u2028", "\xed\xa0\x80", "\xff", "\uFFFD", "a\x00b", "\"\\/\b", "😀", `\ud800`, "null", "{}",
		}),
	)
}

func argBytes() *rapid.Generator[[]byte] {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{`{}`, `{"a":1.0,"a":2}`, `{ "b" : [1e400, -0] }`, `{"a":`, "null", `"x"`, "{}\n",
			"{\"a\":\"\xfe<\"}",
			`{"a":"\ud800","<":"&"}`, `[[[[]]]]`, "\u2028", `{"n":123456789012345678901234567890}`}),
		hostile().Filter(func(s string) bool { return s != "" }),
	)
	return rapid.Map(text, func(s string) []byte { return []byte(s) })
}

func anyMeta() *rapid.Generator[*Meta] {
	return rapid.Custom(func(t *rapid.T) *Meta {
		m := &Meta{
			Provider: rapid.SampledFrom([]MetaProvider{
				MetaAnthropic, MetaAnthropicRedacted, MetaGemini, MetaOpenAI,
			}).Draw(t, "provider"),
		}
		s := hostile()
		switch m.Provider {
		case MetaAnthropic:
			m.Signature = s.Draw(t, "signature")
		case MetaAnthropicRedacted:
			m.Data = s.Draw(t, "data")
		case MetaGemini:
			m.ThoughtSignature = s.Draw(t, "thoughtSignature")
		case MetaOpenAI:
			m.ID, m.Phase = s.Draw(t, "id"), s.Draw(t, "phase")
			m.EncryptedContent = rapid.Ptr(s, true).Draw(t, "encrypted")
			m.Summary = rapid.SliceOfN(s, 0, 3).Draw(t, "summary")
		}
		return m
	})
}

func anyOrigin() *rapid.Generator[*Origin] {
	return rapid.Custom(func(t *rapid.T) *Origin {
		s := hostile()
		return &Origin{Provider: s.Draw(t, "provider"), API: s.Draw(t, "api"), Model: s.Draw(t, "model"),
			Account: s.Draw(t, "account"), ResponseID: s.Draw(t, "response"), Index: rapid.Int().Draw(t, "index")}
	})
}

func anyBlock() *rapid.Generator[Block] {
	return rapid.Custom(func(t *rapid.T) Block {
		b := Block{
			Type: rapid.SampledFrom([]BlockType{BlockText, BlockReasoning, BlockToolUse, BlockOpaque}).Draw(t, "type"),
		}
		switch b.Type {
		case BlockText, BlockReasoning:
			b.Text = hostile().Draw(t, "text")
		case BlockToolUse:
			b.ID, b.Name, b.Args = hostile().Draw(t, "id"), hostile().Draw(t, "name"), argBytes().Draw(t, "args")
		case BlockOpaque:
			b.Kind = hostile().Draw(t, "kind")
		}
		if rapid.Bool().Draw(t, "meta?") {
			b.Meta = anyMeta().Draw(t, "meta")
		}
		if rapid.Bool().Draw(t, "origin?") {
			b.Origin = anyOrigin().Draw(t, "origin")
		}
		if rapid.Bool().Draw(t, "raw?") {
			b.Raw = argBytes().Draw(t, "raw")
		}
		b.Parts = rapid.SliceOfN(anyPart(), 0, 1).Draw(t, "parts")
		return b
	})
}

func anyPart() *rapid.Generator[Part] {
	return rapid.Custom(func(t *rapid.T) Part {
		return Part{
			Type: "image", MediaType: hostile().Draw(t, "media"), URL: hostile().Draw(t, "url"),
			Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
		}
	})
}

func anyMessage() *rapid.Generator[Message] {
	return rapid.Custom(func(t *rapid.T) Message {
		m := Message{
			Role: rapid.SampledFrom([]Role{
				RoleSystem, RoleUser, RoleDeveloper, RoleAssistant, RoleToolResults,
			}).Draw(t, "role"),
		}
		switch m.Role {
		case RoleAssistant:
			m.Blocks = rapid.SliceOfN(anyBlock(), 0, 4).Draw(t, "blocks")
			m.StopReason = StopReason(hostile().Draw(t, "stop"))
		case RoleToolResults:
			m.Results = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ToolResult {
				return ToolResult{ToolUseID: hostile().Draw(t, "id"), Content: hostile().Draw(t, "content"),
					IsError: rapid.Bool().Draw(t, "error"), Status: ResultStatus(hostile().Draw(t, "status")),
					Parts: rapid.SliceOfN(anyPart(), 0, 2).Draw(t, "parts")}
			}), 0, 3).Draw(t, "results")
		default:
			m.Content = hostile().Draw(t, "content")
			m.Parts = rapid.SliceOfN(anyPart(), 0, 2).Draw(t, "parts")
		}
		return m
	})
}
