package check_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	rules "github.com/meerkat-go/conformance/wires/rule"
)

var readSamples = sync.OnceValues(mutate.Samples)

// samples returns the hand-written cases by name; bodies may be replaced.
func samples(tb testing.TB) map[string]evidence.Evidence {
	tb.Helper()
	all, err := readSamples()
	if err != nil {
		tb.Fatal(err)
	}
	byName := map[string]evidence.Evidence{}
	for _, ev := range all {
		ev.Exchanges, ev.Process, ev.ToolRuns = slices.Clone(ev.Exchanges), slices.Clone(ev.Process), slices.Clone(ev.ToolRuns)
		byName[ev.Case] = ev
	}
	return byName
}

// find returns the check called id.
func find(t *testing.T, id string) check.Check {
	t.Helper()
	for _, c := range check.All() {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return check.Check{}
}

// TestGoodEvidence: well-behaved agents break nothing, and between them they
// show every check something.
func TestGoodEvidence(t *testing.T) {
	observed := map[string]int{}
	for name, ev := range samples(t) {
		trace := check.Decode(&ev)
		for _, c := range check.All() {
			res := c.Run(trace)
			observed[c.ID] += res.Observed
			for _, f := range res.Findings {
				t.Errorf("%s: %s: %s", name, c.ID, f.Message)
			}
		}
	}
	for _, c := range check.All() {
		if observed[c.ID] == 0 {
			t.Errorf("%s sees nothing in any sample", c.ID)
		}
	}
}

// TestNothingSeen: without exchanges no check has seen anything.
func TestNothingSeen(t *testing.T) {
	nothing := check.Decode(&evidence.Evidence{})
	for _, c := range check.All() {
		if res := c.Run(nothing); res.Observed != 0 || len(res.Findings) != 0 {
			t.Errorf("%s: %+v", c.ID, res)
		}
	}
}

// breach is one edit of a sample and what the check must say about it.
type breach struct {
	check, sample string
	// at is the place of the edit: "N>" the request of exchange N, "N<" its
	// response, "pN" the process N.
	at       string
	old, new string // new replaces the first old
	path     string // of the first finding
	rule     string
	message  string // part of it
}

var breaches = []breach{
	{"ORD-001/answered", "anthropic-loop", "1>", `{"type":"tool_result","tool_use_id":"toolu_01A","content":"heron","is_error":false},`, ``, "messages[1].content[2]", "A-15", "tool call echo toolu_01A has no result"},
	{"ORD-001/answered", "gemini-loop", "1>", `,{"functionResponse":{"name":"noargs","id":"c0d4e5f6","response":{"output":"12:00"}}}`, ``, "contents[1].parts[2]", "G-15", "equal to the number of function call parts"},
	{"ORD-008/block-order", "anthropic-loop", "2>", `{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="},{"type":"redacted_thinking","data":"EsYBCkYIDBgCKkDceF3zeF3zeF3zeF3zc3ludGhldGljeF3z=="}`, `{"type":"redacted_thinking","data":"EsYBCkYIDBgCKkDceF3zeF3zeF3zeF3zc3ludGhldGljeF3z=="},{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="}`, "messages[3].content[1]", "A-37", "thinking stands after redacted thinking, which was emitted later"},
	{"ORD-008/own-turn", "anthropic-loop", "2>", `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A","content":"heron","is_error":false},{"type":"tool_result","tool_use_id":"toolu_01B","content":"12:00","is_error":false}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="},`, `,{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A","content":"heron","is_error":false},{"type":"tool_result","tool_use_id":"toolu_01B","content":"12:00","is_error":false}]},{"role":"assistant","content":[`, "messages[1].content[4]", "A-37", "thinking stands among what another reply emitted, apart from the rest of its own (emitted in exchange 1"},
	{"ORD-009/calls-kept", "gemini-loop", "1>", `,{"functionCall":{"name":"noargs","args":{},"id":"c0d4e5f6"}}`, ``, "contents[1].parts[0]", "", "tool call noargs c0d4e5f6 of the reply is not sent back (emitted in exchange 0, event 3"},
	{"ORD-009/calls-kept", "anthropic-loop", "1>", `{"type":"tool_use","id":"toolu_01B"`, `{"type":"tool_use","id":"toolu_9","name":"ls","input":{}},{"type":"tool_use","id":"toolu_01B"`, "messages[1].content[3]", "", "tool call ls toolu_9 was not emitted by the reply it stands in (exchange 0)"},
	{"ORD-010/sent-once", "openai-loop", "1>", `{"id":"fc_01ad"`, `{"id":"fc_01ac","type":"function_call","arguments":"{\"text\": \"heron\", \"n\": 1.0}","call_id":"call_01A","name":"echo"},{"id":"fc_01ad"`, "input[4]", "O-9", "tool call is sent back a second time"},
	{"ORD-011/arguments", "anthropic-loop", "1>", `"n":[1.0,2]`, `"n":[1.5,2]`, "messages[1].content[2]", "", "arguments of tool call echo toolu_01A"},
	{"ORD-011/arguments", "openai-loop", "1>", `{\"text\": \"heron\", \"n\": 1.0}`, `{\"text\":\"heron\",\"n\":1}`, "input[3]", "", "differs from byte 8 on: was 27 bytes"},
	{"ORD-011/arguments", "gemini-loop", "1>", `"functionCall":{"name":"noargs"`, `"functionCall":{"name":"time"`, "contents[1].parts[2]", "", `tool call "noargs" is sent back as "time"`},
	{"ORD-012/result-order", "anthropic-loop", "1>", `{"type":"tool_result","tool_use_id":"toolu_01A","content":"heron","is_error":false},{"type":"tool_result","tool_use_id":"toolu_01B","content":"12:00","is_error":false}`, `{"type":"tool_result","tool_use_id":"toolu_01B","content":"12:00"},{"type":"tool_result","tool_use_id":"toolu_01A","content":"heron"}`, "messages[2].content[1]", "", "result of echo toolu_01A stands after the result of a later call"},
	{"ORD-012/one-message", "anthropic-loop", "1>", `,{"type":"tool_result","tool_use_id":"toolu_01B"`, `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01B"`, "messages[3].content[0]", "", "result of noargs toolu_01B stands in another message than that of echo toolu_01A, a call of the same turn"},
	{"ORD-013/text-unchanged", "anthropic-loop", "1>", `"text":"Checking both."`, `"text":"Checking both"`, "messages[1].content[1]", "", `differs from byte 13 on: was 14 bytes with "hecking both." there, is 13 bytes`},
	{"ORD-013/text-unchanged", "gemini-loop", "3>", `{"text":"The tools answered heron and again."},{"text":"",`, `{"text":"The tools answered heron and ",`, "contents[5].parts[0]", "", "text of the reply of exchange 2"},
	{"SIG-021/hosted-kept", "openai-hosted", "1>", `{"id":"ws_31aa","type":"web_search_call","status":"completed","action":{"type":"search","query":"heron"}},`, ``,
		"input[1]", "", "web_search_call ws_31aa of the open turn is not sent back"},
	{"SIG-013/no-bare-ids", "openai-hosted", "1>", `,"result":"iVBORw0KGgo="`, ``, "input[3]", "O-14", "image_generation_call ig_31aa relies on storage"},
	{"SIG-021/encrypted", "anthropic-server-tool", "1>", `LTQ1NGUtODgx"`, `LTQ1NGUtODg"`, "messages[1].content[1]", "", "its end was cut off"},
	{"SIG-021/namespace", "openai-namespace", "1>", `,"namespace":"mcp__docs"}`, `}`, "input[1]", "", `issued in the namespace "mcp__docs"`},
	{"SIG-021/server-results", "anthropic-server-tool", "1>", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_05A","content":[{"type":"web_search_result","title":"Herons","url":"https://birds.example/heron","encrypted_content":"EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgx","page_age":null}]},`, ``, "messages[1].content[0]", "ANT-S1", "is not sent back"},
	{"ORD-015/unicode", "anthropic-loop", "1>", `"text":"Use both`, `"text":"\ud83dUse both`, "messages[0].content[0].text", "ANT-X10", "half of a surrogate pair"},

	{"SIG-001/signature-bytes", "anthropic-loop", "1>", `KkDcaB1x`, `KkDcaB2x`, "messages[1].content[0].signature", "A-34", "differs from byte 18 on: was 50 bytes EsYBCk…1x==, is 50 bytes"},
	{"SIG-001/signature-bytes", "anthropic-loop", "1>", `{"type":"text","text":"Checking both."}`, `{"type":"thinking","thinking":"","signature":"b3RoZXI="},{"type":"text","text":"Checking both."}`, "messages[1].content[1]", "A-37", "was not emitted by the reply it stands in"},
	{"SIG-001/thinking-text", "anthropic-loop", "1>", `Two lookups are needed.`, `Two lookups are needed`, "messages[1].content[0].thinking", "A-37", "emitted in exchange 0, event 1"},
	{"SIG-002/kept", "anthropic-loop", "2>", `{"type":"redacted_thinking","data":"EsYBCkYIDBgCKkDceF3zeF3zeF3zeF3zc3ludGhldGljeF3z=="},`, ``, "messages[3].content[0]", "A-37", "redacted thinking block EsYBCk…3z== of the open turn is not sent back"},
	{"SIG-003/redacted-data", "anthropic-loop", "2>", `KkDceF3z`, `KkDceF3Z`, "messages[3].content[1].data", "A-36", "data of redacted thinking differs from byte 19"},
	{"SIG-004/leads", "anthropic-loop", "1>", `{"type":"thinking","thinking":"Two lookups are needed.","signature":"EsYBCkYIDBgCKkDcaB1xaB1xaB1xaB1xc3ludGhldGljaB1x=="},`, ``, "messages[1].content[0]", "A-38", "starts with text, not with the thinking"},
	{"SIG-006/contiguous", "anthropic-loop", "3>", `{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="},`, ``, "messages[3].content[0]", "A-41", "left out between others"},
	{"SIG-007/final-blob", "openai-loop", "1>", `gAAAAABsyntheticaaaaaaaaaa==`, `gAAAAABdraftrs_01aa`, "input[1].encrypted_content", "O-15", "is the draft of output_item.added"},
	{"SIG-007/final-blob", "openai-loop", "1>", `gAAAAABsyntheticaaaaaaaaaa==`, `gAAAAABsyntheticaaaaaaaaab==`, "input[1].encrypted_content", "O-15", "differs from byte 25"},
	{"SIG-008/reasoning-kept", "openai-loop", "2>", `{"id":"rs_01ba","type":"reasoning","encrypted_content":"gAAAAABsyntheticbababababa==","summary":[]},`, ``, "input[7]", "O-13", "reasoning item rs_01ba of the open turn is not sent back"},
	{"SIG-009/followed", "openai-loop", "2>", `,{"id":"fc_01bb","type":"function_call","status":"completed","arguments":"{\"text\":\"again\"}","call_id":"call_01C","name":"echo"}`, ``, "input[7]", "O-12", "rs_01ba is followed by nothing"},
	{"SIG-010/summary", "openai-loop", "1>", `{"type":"summary_text","text":"**Plan**\n\nTwo calls."},{"type":"summary_text","text":"**Check**\n\nThen answer."}`, `{"type":"summary_text","text":"**Plan**\n\nTwo calls.\n**Check**\n\nThen answer."}`, "input[1].summary", "", "summary had 2 parts, has 1"},
	{"SIG-010/summary", "openai-loop", "1>", `Two calls.`, `2 calls.`, "input[1].summary", "", "summary part 0"},
	{"SIG-011/own-id", "openai-loop", "1>", `"id":"rs_01aa"`, `"id":"rs_77"`, "input[1].id", "O-15", "sent under the id rs_77"},
	{"SIG-012/stateless", "openai-loop", "0>", `"store":false`, `"store":true`, "store", "O-14", "store is not false"},
	{"SIG-012/stateless", "openai-loop", "0>", `["reasoning.encrypted_content"]`, `[]`, "include", "", "does not ask for reasoning.encrypted_content"},
	{"SIG-013/no-bare-ids", "openai-loop", "1>", `"encrypted_content":"gAAAAABsyntheticaaaaaaaaaa==",`, ``, "input[1]", "O-14", "relies on storage"},
	{"SIG-015/signature-bytes", "gemini-loop", "1>", `TTIKaaaa`, `TTIKaaba`, "contents[1].parts[1].thoughtSignature", "G-18", "signature of tool call differs from byte 14"},
	{"SIG-016/same-part", "gemini-loop", "2>", `,"thoughtSignature":"EjQKMgERTTIKbbbbbbbbbbbbbbbbbbbbbbbbc3ludA=="}]},{"role":"user","parts":[{`, `}]},{"role":"user","parts":[{"thoughtSignature":"EjQKMgERTTIKbbbbbbbbbbbbbbbbbbbbbbbbc3ludA==",`, "contents[4].parts[0].thoughtSignature", "G-21", "is sent on a functionResponse"},
	{"SIG-017/signed-parts", "gemini-loop", "3>", `,{"text":"","thoughtSignature":"EjQKMgERTTIKccccccccccccccccccccccccc3ludA=="}`, ``, "contents[5].parts[0]", "", "signed text part of 0 bytes is not sent back"},
	{"SIG-017/signed-parts", "gemini-loop", "1>", `"text":"I call both tools.","thoughtSignature":"EjQKMgERTTIKffffffffffffffffffffffffc3ludA=="`, `"text":"I call both tools."`, "contents[1].parts[0]", "", "text part is sent back without its signature EjQKMg…dA=="},
	{"SIG-017/signed-parts", "gemini-loop", "2>", `"thoughtSignature":"EjQKMgERTTIKbbbbbbbbbbbbbbbbbbbbbbbbc3ludA=="`, `"thoughtSignature":"skip_thought_signature_validator"`, "contents[3].parts[0].thoughtSignature", "G-20", "stand-in that skips validation in place of its signature EjQKMg…dA=="},
	{"SIG-017/signed-parts", "gemini-loop", "3>", `{"text":"The tools answered heron and again."},{"text":"",`, `{"text":"The tools answered heron and again.",`, "contents[5].parts[0]", "", "issued on a text part of 0 bytes and is sent on one of 35"},
	{"SIG-019/own-model", "anthropic-loop", "1>", `"model":"claude-opus-4-5"`, `"model":"claude-fable-5"`, "messages[1].content[0]", "A-34", "of model claude-opus-4-5 at api.anthropic.com to model claude-fable-5 at api.anthropic.com"},
	{"SIG-020/phase", "openai-loop", "1>", `"phase":"commentary",`, ``, "input[2]", "", `emitted with phase "commentary" and is sent back with ""`},

	{"MOD-001/allowed", "openai-loop", "0>", `"model":"gpt-5.2"`, `"model":"gpt-4o"`, "model", "", `model "gpt-4o" is not on the allowlist: no family`},
	{"MOD-001/allowed", "anthropic-loop", "0>", `"model":"claude-opus-4-5"`, `"model":"claude-opus-4-20250514"`, "model", "", "version 4.0 is below the minimum 4.5"},
	{"MOD-002/constant", "openai-loop", "3>", `"model":"gpt-5.2"`, `"model":"gpt-5.4"`, "model", "", `was with "gpt-5.2" until exchange`},
	{"MOD-003/no-traffic", "refused-model", "p0", `exit 77`, `exit 0`, "process[0]", "", "exited 0"},
	{"MOD-003/no-traffic", "refused-model", "p0", `gpt-4o: unsupported`, `unsupported`, "process[0]", "", "without naming it on stderr"},

	{"SIG-017/signed-parts", "gemini-loop", "3>", `,"thoughtSignature":"EjQKMgERTTIKaaaaaaaaaaaaaaaaaaaaaaaac3ludA=="`, ``, "contents[1].parts[1]", "", "tool call part is sent back without its signature"},
	{"RES-001/reasoning", "openai-loop", "3>", `{"id":"rs_01ba","type":"reasoning","encrypted_content":"gAAAAABsyntheticbababababa==","summary":[]},`, ``,
		"input[7]", "", "reasoning item rs_01ba, which exchange 2 held at input[7], is gone"},
	{"MOD-004/answers", "openai-hosted", "0<", `"model":"gpt-5.5-2026-04-23"`, `"model":"gpt-5.4-2026-03-05"`, "model", "SV-B10", `"gpt-5.5" was asked for, and the reply is of "gpt-5.4-2026-03-05"`},
	{"RES-001/prefix", "openai-loop", "3>", `then report."}`, `then stop."}`, "input[0]", "", "that exchange 2 sent at input[0] is not what stands there now: differs from byte 21"},
	{"RES-001/prefix", "anthropic-loop", "4>", `"content":"12:00"`, `"content":"13:00"`, "messages[2].content[1]", "", ".content changed"},
	{"RES-002/system", "anthropic-loop", "2>", `You are a careful`, `Today is Monday. You are a careful`, "system", "", "the system prompt is not that of exchange 1"},
	{"RES-002/tools", "gemini-loop", "1>", `Say the time.`, `Say the date.`, "tools", "", "tool noargs.description changed"},
	{"RES-003/history", "anthropic-loop", "2>", `"content":"heron"`, `"content":"(cleared)"`, "messages[2].content[0]", "", "tool result that exchange 1 sent at messages[2].content[0]"},
	{"RES-004/last-reply", "openai-loop", "3>", `,{"id":"rs_01ca","type":"reasoning","encrypted_content":"gAAAAABsyntheticcacacacaca==","summary":[]},{"id":"msg_01cb","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[{"type":"output_text","annotations":[],"text":"The tools answered heron and again."}]}`, ``, "", "", "goes on without the last reply (emitted in exchange 2"},
	{"RES-005/closed", "anthropic-loop", "4>", `{"type":"tool_result","tool_use_id":"toolu_01D","content":"last","is_error":false}`, `{"type":"text","text":"Go on."}`, "messages[5].content[1]", "A-15", "tool call echo toolu_01D has no result"},
	{"RES-006/once", "openai-loop", "3>", `{"type":"message","role":"user","content":[{"type":"input_text","text":"Thank you."}]}`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"Thank you."}]},{"type":"function_call_output","call_id":"call_01C","output":"again"}`, "input[13]", "", "tool result stands again"},
	{"RES-007/bytes", "anthropic-loop", "2>", `"input":{"text":"heron","n":[1.0,2]}`, `"input":{"n":[1.0,2],"text":"heron"}`, "messages[1].content[2]", "", "written differently: differs from byte 2"},

	{"RED-001/token", "anthropic-loop", "1>", `EsYBCkYIDBgCKkDcaB1xaB1xaB1xaB1xc3ludGhldGljaB1x==`, `EsYBCk…1x==`, "messages[1].content[0].signature", "A-34", "it was shortened with an ellipsis"},
	{"RED-001/token", "openai-loop", "1>", `gAAAAABsyntheticaaaaaaaaaa==`, `gAAAAAB[REDACTED]aaaaaaaaaa==`, "input[1].encrypted_content", "O-15", "a redactor wrote over a part of it"},
	{"RED-001/signed-text", "anthropic-loop", "1>", `Two lookups are needed.`, `Two lookups are needed.\n`, "messages[1].content[0]", "A-37", "white space was trimmed or added"},
	{"RED-002/arguments", "anthropic-loop", "1>", `{"text":"heron","n":[1.0,2]}`, `{"text":"***","n":[1.0,2]}`, "messages[1].content[2]", "R54", "a redactor wrote over a part of it"},
	{"RED-002/text", "anthropic-loop", "1>", `Checking both.`, `Checking b\ufffdth.`, "messages[1].content[1]", "R54", "replaced by U+FFFD"},
	{"RED-003/result", "anthropic-loop", "2>", `"content":"12:00"`, `"content":"1***"`, "messages[2].content[1]", "", "was edited afterwards by the agent's own redactor"},

	{"TOOL-001/unknown-tool", "anthropic-tools", "1>", `"content":"unknown tool ls; the tools are list_dir and mcp__docs__read","is_error":true`, `"content":"3 files"`, "messages[2].content[1]", "", "the model called \"ls\", which exchange 0 did not offer, and is told \"3 files\" as if it had run"},
	{"TOOL-001/unknown-tool", "anthropic-tools", "1>", `mcp__docs__read","is_error":true`, `mcp__docs__read"`, "messages[2].content[1]", "", "not marked with is_error"},
	{"TOOL-002/printed", "anthropic-loop", "1>", `"content":"12:00"`, `"content":"[object Object],[object Object]"`, "messages[2].content[1]", "", "an object that was printed and not written out"},
	{"TOOL-003/cut-notice", "anthropic-tools", "1>", `,{\"name\":\"heron-13.txt\",\"bytes\":1213,\"kind\":\"text\"}]}`, `,{\"name\":\"her`, "messages[2].content[0]", "", "nothing says that it was cut"},
	{"TOOL-004/forced-once", "anthropic-tools", "1>", `"messages":`, `"tool_choice":{"type":"tool","name":"list_dir"},"messages":`, "tool_choice", "", "forces \"list_dir\" again"},
	{"MCP-001/found", "anthropic-tools", "2>", `{\"content\":[{\"type\":\"text\",\"text\":\"no such document\"}],\"isError\":true}`, `Unknown tool: read`, "messages[4].content[0]", "", "is offered under this name"},
	{"MCP-002/error-marked", "anthropic-tools", "2>", `\"isError\":true}","is_error":true`, `\"isError\":true}"`, "messages[4].content[0]", "", "isError true"},
	{"MCP-003/list-appended", "openai-tool-list", "1>", `"tools":[`, `"tools":[{"type":"function","name":"new","parameters":null},`, "tools[1]", "", "was added before tool \"read\""},
	{"WSK-002/increment", "openai-websocket", "1>", `"input":[`, `"input":[{"id":"fc_08a","type":"function_call","arguments":"{}","call_id":"call_08A","name":"read"},`, "input[0]", "O-9", "holds it already (exchange 0)"},
	{"WSK-002/increment", "openai-websocket", "1>", `"input":[`, `"input":[{"type":"function_call","arguments":"{}","call_id":"call_08A","name":"read"},`, "input[0]", "R49", "and it may run twice"},
	{"WSK-003/whole-input", "openai-websocket", "3>", `{"id":"fc_08a","type":"function_call","status":"completed","arguments":"{\"name\":\"a\"}","call_id":"call_08A","name":"read"},`, ``, "input[1]", "O-11", "it is an increment, and this WebSocket (2) knows nothing"},
	{"CAC-002/tools-order", "openai-loop", "1>", `"parameters":{"type":"object","properties":{}}`, `"parameters":{"properties":{},"type":"object"}`, "tools[1].parameters", "", "with its members in another order"},
	{"CAC-003/marks", "anthropic-tools", "1>", `"content":"unknown tool ls; the tools are list_dir and mcp__docs__read","is_error":true,"cache_control":{"type":"ephemeral"}`, `"content":"unknown tool ls; the tools are list_dir and mcp__docs__read","is_error":true`, "messages[0].content[0]", "", "the provider counted 1200 cached tokens in exchange 0"},
	{"CAC-004/cache-key", "openai-namespace", "1>", `"session-6"`, `"session-7"`, "prompt_cache_key", "", "in the same conversation"},

	{"STR-001/framing", "anthropic-loop", "0<", `event: ping`, `evnt ping`, "", "SV-H3", "line is not a field"},
	{"STR-001/framing", "anthropic-loop", "0<", `{"type":"ping"}`, `{"type":"ping"`, "", "SV-H3", "data of the event is not JSON"},
	{"STR-002/terminal", "openai-loop", "0<", `"type":"response.completed"`, `"type":"response.nearly"`, "", "SV-O10", "without response.completed, incomplete or failed"},
	{"STR-003/grammar", "anthropic-loop", "0<", `"type":"content_block_start","index":2`, `"type":"content_block_start","index":4`, "", "SV-A2", "index 4 where 2 is next"},
	{"STR-003/grammar", "anthropic-loop", "0<", `"type":"content_block_stop","index":0`, `"type":"content_block_stop","index":7`, "", "SV-A2", "for block 7, which is not open"},
	{"STR-003/grammar", "anthropic-loop", "0<", `"type":"thinking_delta","thinking":`, `"type":"text_delta","text":`, "", "SV-A3", "text_delta for block 0, which is a thinking block"},
	{"STR-003/grammar", "anthropic-loop", "0<", `event: ping`, `event: pong`, "", "SV-H2", `event "pong" holds JSON of type "ping"`},
	{"STR-004/grammar", "openai-loop", "0<", `"sequence_number":5`, `"sequence_number":6`, "", "SV-O2", "sequence_number 6 follows 4"},
	{"STR-004/grammar", "openai-loop", "0<", `"sequence_number":4,"item_id":"rs_01aa","output_index":0`, `"sequence_number":4,"item_id":"rs_01aa","output_index":6`, "", "SV-O3", "for item 6, which was not added"},
	{"STR-005/grammar", "gemini-loop", "0<", `"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":20},"modelVersion":"gemini-3-flash-preview","responseId":"Resp0000A"`, `"role":"user"},"index":0}],"usageMetadata":{"promptTokenCount":9,"totalTokenCount":20},"modelVersion":"gemini-3-flash-preview","responseId":"Resp0000A"`, "", "SV-G8", `role "user", not model`},
	{"STR-006/deltas", "openai-loop", "0<", `"delta":"I call bo"`, `"delta":"I called bo"`, "", "SV-O5", "is not what its deltas add up to"},
	{"STR-007/partial-turn", "gemini-cut", "1>", `{"text":"Say hello."}]}`, `{"text":"Say hello."}]},{"role":"model","parts":[{"text":"Hello to you, my"}]},{"role":"user","parts":[{"text":"Go on."}]}`, "contents[1].parts[0]", "§4", "text of a cut stream is sent back"},
	{"STR-008/exit-code", "openai-failed", "p0", `exit 1`, `exit 0`, "process[0]", "", "its last reply (exchange 0) was failed"},
	{"STR-010/exit-code", "anthropic-truncated", "p0", `exit 1`, `exit 0`, "process[0]", "", "its last reply (exchange 0) ended with max_tokens"},
	{"STR-011/exit-code", "anthropic-new", "p0", `exit 0`, `exit 1`, "process[0]", "", `holds an event of the new type "future_event"`},
	{"STR-011/exit-code", "openai-new", "p0", `exit 0`, `exit 1`, "process[0]", "", `holds a block of the new type "future_item"`},
	{"STR-011/exit-code", "gemini-new", "p0", `exit 0`, `exit 1`, "process[0]", "", `holds an event of the new type "futureUpdate" and a block of the new type "futurePart"`},
	{"STR-009/not-executed", "anthropic-malformed", "1>", `"is_error":true`, `"is_error":false`, "messages[2].content[0]", "R29", "is answered as if it had run"},
}

// TestBreaches makes one edit at a time and reads what the check says: where,
// under which rule, in which words, and how to mend it.
func TestBreaches(t *testing.T) {
	tried := map[string]bool{}
	for _, b := range breaches {
		tried[b.check] = true
		t.Run(strings.ReplaceAll(b.check, "/", " ")+" "+b.sample+" "+b.at, func(t *testing.T) {
			ev, ok := samples(t)[b.sample]
			if !ok {
				t.Fatal("no such sample")
			}
			c := find(t, b.check)
			if res := c.Run(check.Decode(&ev)); len(res.Findings) > 0 || res.Observed == 0 {
				t.Fatalf("before the edit: %+v", res)
			}
			edit(t, &ev, b)
			res := c.Run(check.Decode(&ev))
			if len(res.Findings) == 0 {
				t.Fatal("nothing found")
			}
			f := res.Findings[0]
			if f.Check != b.check || f.Path != b.path || f.Rule != b.rule || !strings.Contains(f.Message, b.message) {
				t.Errorf("%s %q %q\n got %s\nwant %s", f.Check, f.Path, f.Rule, f.Message, b.message)
			}
			if f.Fix == "" {
				t.Error("does not say how to mend it")
			}
			placed(t, ev, f, b)
		})
	}
	for _, c := range check.All() {
		if elsewhere := slices.Contains([]string{"ERR", "PAR", "TSC", "HYG", "MED", "CMP", "NSP", "SRV", "BET", "REC", "OPS", "BUD"}, c.ID[:3]); elsewhere {
			continue // refusal_test.go, par_test.go, tsc_test.go, schema_test.go, distorted_test.go and ops_test.go
		}
		if !tried[c.ID] && !isJudgedByWire(c.ID) && !slices.Contains([]string{"SIG-012/asked-for", "SIG-018/own-provider", "STR-001/content-type", "CAS-001/recorded", "CAC-001/volatile", "WSK-001/own-response", "WSK-004/not-found"}, c.ID) {
			t.Errorf("%s: no breach in the table", c.ID)
		}
	}
}

// isJudgedByWire reports whether the rules of a wire judge the check, and its tests hold them.
func isJudgedByWire(id string) bool {
	for _, b := range rules.Books() {
		if slices.Contains(b.Aspects, id) {
			return true
		}
	}
	return false
}

func edit(t *testing.T, ev *evidence.Evidence, b breach) {
	t.Helper()
	if b.at[0] == 'p' {
		p := &ev.Process[0]
		text := fmt.Sprintf("exit %d\n%s", p.ExitCode, p.Stderr)
		text = strings.Replace(text, b.old, b.new, 1)
		if _, err := fmt.Sscanf(text, "exit %d\n", &p.ExitCode); err != nil {
			t.Fatal(err)
		}
		_, stderr, _ := strings.Cut(text, "\n")
		p.Stderr = []byte(stderr)
		return
	}
	x := &ev.Exchanges[int(b.at[0]-'0')]
	body := &x.Request.Body
	if b.at[1] == '<' {
		body = &x.Response.Body
	}
	edited := bytes.Replace(*body, []byte(b.old), []byte(b.new), 1)
	if bytes.Equal(edited, *body) {
		t.Fatal("the edit changes nothing")
	}
	*body = edited
}

// placed holds that the finding points into the exchange that was edited, and
// its offset into the right body.
func placed(t *testing.T, ev evidence.Evidence, f check.Finding, b breach) {
	t.Helper()
	if b.at[0] == 'p' {
		return
	}
	n := int(b.at[0] - '0')
	if int(f.Exchange) != n && !strings.HasPrefix(f.Check, "MOD-002") {
		t.Errorf("points to exchange %d, not %d", f.Exchange, n)
	}
	if b.at[1] == '<' {
		if f.Offset < 0 || int(f.Offset) > len(ev.Exchanges[n].Response.Body) {
			t.Errorf("offset %d outside the reply", f.Offset)
		}
		return
	}
	if f.Event != -1 || int(f.Offset) >= len(ev.Exchanges[n].Request.Body) {
		t.Errorf("event %d, offset %d in a request", f.Event, f.Offset)
	}
	if f.Emitted != nil && int(f.Emitted.Exchange) >= n {
		t.Errorf("was emitted in exchange %d, after it was sent", f.Emitted.Exchange)
	}
}

// TestTokensAreMasked: no message shows a whole token.
func TestTokensAreMasked(t *testing.T) {
	for _, b := range breaches {
		ev := samples(t)[b.sample]
		edit(t, &ev, b)
		trace := check.Decode(&ev)
		for _, c := range check.All() {
			for _, f := range c.Run(trace).Findings {
				for _, token := range []string{"EsYBCkYIDBgCKkDc", "gAAAAABsynthetic", "EjQKMgERTTIKa", "EjQKMgERTTIKb"} {
					if strings.Contains(f.Message, token) {
						t.Fatalf("%s shows a token: %s", c.ID, f.Message)
					}
				}
			}
		}
	}
}

// legal are edits that providers accept (regressions §3.4): no check may mind.
var legal = []struct {
	name, sample, at string
	replace          []string // old, new, old, new …
}{
	{"closed turn without its thinking", "anthropic-loop", "4>", []string{
		`{"type":"thinking","thinking":"Two lookups are needed.","signature":"EsYBCkYIDBgCKkDcaB1xaB1xaB1xaB1xc3ludGhldGljaB1x=="},`, ``,
		`{"type":"thinking","thinking":"","signature":"EsYBCkYIDBgCKkDccD2ycD2ycD2ycD2yc3ludGhldGljcD2y=="},`, ``,
		`{"type":"redacted_thinking","data":"EsYBCkYIDBgCKkDceF3zeF3zeF3zeF3zc3ludGhldGljeF3z=="},`, ``,
		`{"type":"thinking","thinking":"Now the answer.","signature":"EsYBCkYIDBgCKkDcgH4wgH4wgH4wgH4wc3ludGhldGljgH4w=="},`, ``,
		`{"type":"thinking","thinking":"Done.","signature":"EsYBCkYIDBgCKkDciJ5viJ5viJ5viJ5vc3ludGhldGljiJ5v=="},`, ``}},
	{"thinking switched off, thinking left out", "anthropic-loop", "1>", []string{
		`"thinking":{"type":"enabled","budget_tokens":1024}`, `"thinking":{"type":"disabled"}`,
		`{"type":"thinking","thinking":"Two lookups are needed.","signature":"EsYBCkYIDBgCKkDcaB1xaB1xaB1xaB1xc3ludGhldGljaB1x=="},`, ``}},
	{"arguments as equal JSON", "anthropic-loop", "1>", []string{`{"text":"heron","n":[1.0,2]}`, `{ "n": [1, 2e0], "text": "\u0068eron" }`}},
	{"cache marks", "anthropic-loop", "2>", []string{`"content":"heron"`, `"cache_control":{"type":"ephemeral"},"content":"heron"`}},
	{"a cache mark on the system prompt", "anthropic-loop", "4>", []string{`"system":"You are a careful test subject."`, `"system":[{"type":"text","text":"You are a careful test subject.","cache_control":{"type":"ephemeral"}}]`}},
	{"prompt as a plain string", "anthropic-loop", "2>", []string{`"content":[{"type":"text","text":"Use both tools, then report."}]`, `"content":"Use both tools, then report."`}},
	{"two user messages in a row", "anthropic-loop", "4>", []string{`{"type":"text","text":"Thank you."}]}`, `{"type":"text","text":"Thank you."}]},{"role":"user","content":"Really."}`}},
	{"text after results", "anthropic-loop", "1>", []string{`"content":"12:00","is_error":false}`, `"content":"12:00","is_error":false},{"type":"text","text":"Hurry."}`}},
	{"assistant first", "anthropic-cut", "0>", []string{`"messages":[`, `"messages":[{"role":"assistant","content":"Hello."},`}},
	{"reasoning without its id", "openai-loop", "1>", []string{`"id":"rs_01aa",`, ``}},
	{"calls without their item ids", "openai-loop", "1>", []string{`"id":"fc_01ac",`, ``, `"id":"fc_01ad",`, ``}},
	{"the blob of the terminal event", "openai-loop", "1>", []string{`gAAAAABsyntheticaaaaaaaaaa==`, `gAAAAABsyntheticaaaaaaaaaa_again==`}},
	{"closed turn without its reasoning", "openai-loop", "3>", []string{
		`{"id":"rs_01aa","type":"reasoning","encrypted_content":"gAAAAABsyntheticaaaaaaaaaa==","summary":[{"type":"summary_text","text":"**Plan**\n\nTwo calls."},{"type":"summary_text","text":"**Check**\n\nThen answer."}]},`, ``,
		`{"id":"rs_01ba","type":"reasoning","encrypted_content":"gAAAAABsyntheticbababababa==","summary":[]},`, ``}},
	{"results not directly after their calls", "openai-loop", "1>", []string{`{"type":"function_call_output","call_id":"call_01A"`, `{"type":"message","role":"developer","content":"Be brief."},{"type":"function_call_output","call_id":"call_01A"`}},
	{"snake case and the URL alphabet", "gemini-loop", "1>", []string{`"thoughtSignature":"EjQKMgERTTIKaaaaaaaaaaaaaaaaaaaaaaaac3ludA=="`, `"thought_signature":"EjQKMgERTTIKaaaaaaaaaaaaaaaaaaaaaaaac3ludA"`}},
	{"signature on the response as well", "gemini-loop", "1>", []string{`{"functionResponse":{"name":"echo"`, `{"thoughtSignature":"EjQKMgERTTIKaaaaaaaaaaaaaaaaaaaaaaaac3ludA==","functionResponse":{"name":"echo"`}},
	{"thoughts sent back", "gemini-loop", "1>", []string{`{"text":"I call both tools."`, `{"text":"**Plan** two calls.","thought":true},{"text":"I call both tools."`}},
	{"text in the pieces it streamed in", "gemini-loop", "3>", []string{`{"text":"The tools answered heron and again."}`, `{"text":"The tools "},{"text":"answered heron and again."}`}},
	{"ids on neither side", "gemini-loop", "2>", []string{`,"id":"c0a1b2c3"`, ``, `,"id":"c0d4e5f6"`, ``, `"id":"c0a1b2c3",`, ``, `"id":"c0d4e5f6",`, ``}},
	{"comments and a BOM in the stream", "anthropic-loop", "0<", []string{"event: ping\n", ": keep alive\nevent: ping\n"}},
	{"events nobody knows, first and last", "openai-loop", "0<", []string{"event: response.created", "event: news\ndata: {\"type\":\"news\"}\n\nevent: response.created"}},
	{"events nobody knows", "anthropic-loop", "0<", []string{"event: ping\ndata: {\"type\":\"ping\"}\n", "event: news\ndata: {\"type\":\"news\",\"index\":9}\n"}},
}

func TestLegal(t *testing.T) {
	rules := catalogue(t)
	for _, l := range legal {
		t.Run(l.name, func(t *testing.T) {
			ev := samples(t)[l.sample]
			for k := 0; k < len(l.replace); k += 2 {
				edit(t, &ev, breach{at: l.at, old: l.replace[k], new: l.replace[k+1]})
			}
			for _, res := range report.Judge(rules, &ev) {
				// An agent that does so does it in every request; here only one is
				// edited, so that its history seems to change.
				if res.Area() == "RES" && int(l.at[0]-'0') < len(ev.Exchanges)-1 {
					continue
				}
				if res.Check == "RES-001/reasoning" {
					continue // and here nothing shows that it does so in one process as well
				}
				if res.Verdict != report.Pass && len(res.Findings) > 0 {
					t.Errorf("%s: %s: %s", res.Check, res.Verdict, res.Findings[0].Message)
				}
			}
		})
	}
}

// TestExitIsPromised: what an exit code says is the agent's own matter, unless its profile
// promises it.
func TestExitIsPromised(t *testing.T) {
	for promises, want := range map[bool]report.Verdict{false: report.Warn, true: report.Fail} {
		ev := samples(t)["anthropic-truncated"]
		ev.Process[0].ExitCode, ev.PromisesExit = 0, promises
		for _, res := range report.Judge(catalogue(t), &ev) {
			if res.Check == "STR-010/exit-code" && res.Verdict != want {
				t.Errorf("promised %t: %s, want %s", promises, res.Verdict, want)
			}
		}
	}
}
