package repair_test

import (
	"encoding/base64"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/repair"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

var (
	photo = transcript.Part{Type: "image", MediaType: "image/png", Data: []byte("a photo")}
	chart = transcript.Part{Type: "image", MediaType: "image/png", Data: []byte("a chart of it")}
)

// conversation is one with everything in it that a provider may refuse.
func conversation() []transcript.Message {
	origin := &transcript.Origin{Provider: "anthropic", API: "messages", Model: "claude-opus-4-6"}
	thought := transcript.Reasoning("hm", &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "EjQK"})
	future := transcript.Block{
		Type: transcript.BlockOpaque, Kind: "future_block", Raw: []byte(`{"type":"future_block"}`),
	}
	thought.Origin, future.Origin = origin, origin
	ask := transcript.User("look")
	ask.Parts = []transcript.Part{photo}
	return []transcript.Message{
		ask,
		transcript.Assistant(transcript.StopToolUse, thought, future, transcript.ToolUse("c1", "look", []byte("{}"))),
		transcript.ToolResults(transcript.ToolResult{
			ToolUseID: "c1", Content: "seen", Parts: []transcript.Part{chart},
		}),
	}
}

// refuse returns what Decide gets when a provider refuses the conversation.
func refuse(t testing.TB, words, param string, repairs ...handoff.Repair) repair.Refused {
	t.Helper()
	entry, err := catalog.Lookup("claude-opus-4-6")
	if err != nil {
		t.Fatal(err)
	}
	target := handoff.Target{Provider: "anthropic", API: "messages", Account: "api.anthropic.com/api-key", Model: entry}
	half := 0.5
	h := handoff.History{Messages: conversation(), Repairs: repairs}
	req := &provider.Request{
		Model: entry.Model, Temperature: &half, Effort: "low", MaxOutputTokens: 100, CacheTTL: "5m", CacheKey: "k",
		CompactAt: 160_000, ToolChoice: "auto",
		Tools: []transcript.ToolDef{{Name: "look"}, {Name: "touch"}},
	}
	repair.Apply(req, repairs, target)
	out, err := handoff.Build(h, target)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = out.Messages
	body := `{"messages":[{"content":[{"type":"text","text":"look"},{"type":"image","source":{"data":"` +
		base64.StdEncoding.EncodeToString(photo.Data) +
		`"}}]},{"content":[{"type":"thinking"},{"type":"future_block"},{"type":"tool_use"}]},{"content":[{"type":"tool_result","content":[{"type":"text"},{"type":"image","source":{"data":"` + base64.StdEncoding.EncodeToString(chart.Data) + `"}}]}]}]}`
	return repair.Refused{
		Err: &provider.Error{
			Kind: provider.InvalidRequest, Provider: "anthropic", Status: 400, Message: words, Param: param,
		},
		Request: req, Body: []byte(body), History: h, Target: target,
	}
}

func TestDecide(t *testing.T) {
	done := func(kind handoff.RepairKind, name string) handoff.Repair {
		return handoff.Repair{Kind: kind, Name: name, Provider: "anthropic", Through: 3}
	}
	first, second := handoff.PartDigest(&photo), handoff.PartDigest(&chart)
	for _, c := range []struct {
		words, param string
		done         []handoff.Repair
		kind         handoff.RepairKind // "": none
		name         string
	}{
		// The words of the providers, as specs/wire-rules.md has them.
		{"messages.1.content.0: Invalid `signature` in `thinking` block", "", nil, handoff.RepairTokens, ""},
		{"messages.1.content.0: Invalid `data` in `redacted_thinking` block", "", nil, handoff.RepairTokens, ""},
		{
			"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
			"", nil, handoff.RepairTokens, "",
		},
		{"The encrypted content gAAA...xx== could not be verified.", "", nil, handoff.RepairTokens, ""},
		{
			"Item 'rs_X' of type 'reasoning' was provided without its required following item.", "input", nil,
			handoff.RepairTokens, "",
		},
		{"Corrupted thought signature.", "", nil, handoff.RepairTokens, ""},
		{
			"Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"x\"",
			"", nil, handoff.RepairTokens, "",
		},
		{
			"messages.0.content.1.image.source.base64.data: image exceeds 5 MB maximum: 5300000 bytes > 5242880 bytes",
			"", nil, handoff.RepairMedia, first,
		},
		{"messages.2.content.0.content.1.image: Could not process image", "", nil, handoff.RepairMedia, second},
		{
			"Invalid file data: 'messages[0].content[1].file_data'.", "messages[0].content[1]", nil,
			handoff.RepairMedia, first,
		},
		{"Unable to process input image.", "", nil, handoff.RepairMedia, ""},
		{
			"Invalid schema for function 'touch': array schema missing items.", "tools[0].parameters", nil,
			handoff.RepairTool, "touch",
		},
		{"tools.1.custom.input_schema.type: Field required", "", nil, handoff.RepairTool, "touch"},
		{
			"* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties: should be non-empty for OBJECT type",
			"", nil, handoff.RepairTool, "touch",
		},
		{
			"`temperature` may only be set to 1 when thinking is enabled.", "", nil, handoff.RepairParameter,
			"temperature",
		},
		{"This model does not support effort level 'xhigh'.", "", nil, handoff.RepairParameter, "effort"},
		{
			"max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens", "", nil,
			handoff.RepairParameter, "max_output_tokens",
		},
		{
			"context_management.edits.0.compact_20260112: trigger.value must be at least 50000", "", nil,
			handoff.RepairParameter, "compact_at",
		},
		{"Unknown parameter: 'context_management'.", "context_management", nil, handoff.RepairParameter, "compact_at"},
		{
			"Thinking may not be enabled when tool_choice forces tool use.", "", nil, handoff.RepairParameter,
			"tool_choice",
		},
		{"Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key", nil, handoff.RepairParameter, "cache_key"},
		{
			"Unexpected value(s) `compact-2026-01-12` for the `anthropic-beta` header.", "", nil,
			handoff.RepairParameter, "compact_at",
		},
		{
			"context_management: Extra inputs are not permitted", "",
			[]handoff.Repair{done(handoff.RepairParameter, "compact_at")}, "", "",
		},
		{"Unsupported value", "reasoning.effort", nil, handoff.RepairParameter, "effort"},
		{
			"messages.1.content.1: Input tag 'future_block' found using 'type' does not match any of the expected tags",
			"", nil, handoff.RepairOpaque, "future_block",
		},
		{"messages.1.content.1: Invalid value", "", nil, handoff.RepairOpaque, "future_block"},
		// Places that are not, or that hold something else.
		{"messages.9.content.9: Could not process image", "", nil, handoff.RepairMedia, ""},
		{"messages.0.content.0: Could not process image", "", nil, handoff.RepairMedia, ""},
		{"tools.7.custom.input_schema: JSON schema is invalid", "", nil, "", ""},
		{"", "messages[0].content[1]", nil, handoff.RepairMedia, first},
		// What was left out already is not left out again.
		{
			"messages.0.content.1.image: Could not process image", "",
			[]handoff.Repair{done(handoff.RepairMedia, first)}, handoff.RepairMedia, "",
		},
		{"Could not process image", "", []handoff.Repair{done(handoff.RepairMedia, "")}, "", ""},
		{"Corrupted thought signature.", "", []handoff.Repair{done(handoff.RepairTokens, "")}, "", ""},
		{"tools.1.x: JSON schema is invalid", "", []handoff.Repair{done(handoff.RepairTool, "touch")}, "", ""},
		// Of another provider or account nothing is known.
		{
			"Corrupted thought signature.", "",
			[]handoff.Repair{{Kind: handoff.RepairTokens, Provider: "gemini", Through: 3}}, handoff.RepairTokens, "",
		},
		{
			"Corrupted thought signature.", "",
			[]handoff.Repair{{Kind: handoff.RepairTokens, Provider: "anthropic", Account: "other", Through: 3}},
			handoff.RepairTokens, "",
		},
		// Without a word: the results of the last tools, then what stands further back.
		{"No.", "", nil, handoff.RepairMessages, ""},
		{
			"No.", "", []handoff.Repair{{Kind: handoff.RepairMessages, Provider: "anthropic", From: 2, Through: 3}},
			handoff.RepairTokens, "",
		},
	} {
		fix, ok := repair.Decide(refuse(t, c.words, c.param, c.done...))
		if ok != (c.kind != "") || fix.Kind != c.kind || fix.Name != c.name {
			t.Errorf(
				"%s (%s) after %v: %s %s, want %s %s", c.words, c.param, c.done, fix.Kind, fix.Name, c.kind, c.name,
			)
		}
	}
}

// FuzzDecide: whatever a provider says, and however often, the repairs end soon, and
// each takes something out of the request.
func FuzzDecide(f *testing.F) {
	f.Add("messages.0.content.1.image: x", "tools[0]")
	f.Add("Corrupted thought signature.", "")
	f.Add("function `look` temperature effort future_block", "input[99999999999999999999].x")
	f.Fuzz(func(t *testing.T, words, param string) {
		var repairs []handoff.Repair
		for {
			r := refuse(t, words, param, repairs...)
			fix, ok := repair.Decide(r)
			if !ok {
				return
			}
			if repairs = append(repairs, fix); len(repairs) > 16 {
				t.Fatalf("%d repairs: %v", len(repairs), repairs)
			}
			if after := refuse(t, words, param, repairs...); sameRequest(r.Request, after.Request) {
				t.Fatalf("%v changes nothing", fix)
			}
		}
	})
}

// sameRequest compares what a codec would write.
func sameRequest(a, b *provider.Request) bool {
	size := func(r *provider.Request) (n int) {
		for i := range r.Messages {
			text, _ := r.Messages[i].AppendJSON(nil)
			n += len(text)
		}
		return n
	}
	return size(a) == size(b) && len(a.Tools) == len(b.Tools) && (a.Temperature == nil) == (b.Temperature == nil) &&
		a.Effort == b.Effort &&
		a.MaxOutputTokens == b.MaxOutputTokens && a.CacheTTL == b.CacheTTL && a.CacheKey == b.CacheKey &&
		a.CompactAt == b.CompactAt && a.ToolChoice == b.ToolChoice
}
