package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/mutate"
)

// distorted are breaches that a mutant makes of a sample, and what the check must say
// about the first of them.
var distorted = []struct {
	check, sample, mutant string
	exchange              int
	path, rule, message   string
}{
	{"MED-002/document-type", "anthropic-media", "word-document", 0, "messages[0].content[1].source", "A-46", "the document is of type \"application/msword\", not application/pdf"},
	{"MED-002/pdf", "anthropic-media", "page-for-pdf", 0, "messages[0].content[1].source", "A-46", "the document is called application/pdf and begins with \"<!doctype html><titl\""},
	{"MED-003/text", "openai-tool-search", "image-as-text", 0, "input[0]", "", "text holds an image in base64 as text, of 1353 bytes altogether"},
	{"MED-004/left-out", "anthropic-media", "carry-media", 3, "messages[4].content[1].source", "A-46", "the image that exchange 2 was refused for at messages[4].content[1].source is sent again: messages.4.content.1.image.source.base64.data: Could not process image"},
	{"MED-005/address", "anthropic-media", "local-address", 0, "messages[0].content[2].source.url", "", "the provider cannot fetch \"http://localhost:8080/heron.png\": it leads to this machine"},
	{"MED-005/address", "anthropic-media", "path-for-address", 0, "messages[0].content[2].source.url", "", "the provider cannot fetch \"file:///home/me/heron.png\": it is a path on this machine"},
	{"CMP-001/item-id", "openai-compaction", "rename-compaction", 2, "input[1]", "O-15", "the compaction was issued with the id cmp_09a and carries the id cmp_99z"},
	{"CMP-002/own-provider", "openai-compaction", "compaction-to-gateway", 4, "input[1]", "O-15", "the compaction that api.openai.com issued is sent to gateway.example"},
	{"CMP-002/own-model", "openai-compaction", "compaction-to-model", 2, "input[1]", "O-15", "the compaction of model gpt-5.5 is sent to model gpt-5.2"},
	{"CMP-003/whole-window", "openai-compaction", "prune-window", 2, "input[0]", "", "the message of the compacted window is not sent, or not in its place"},
	{"CMP-004/kept", "openai-compaction", "lose-compaction", 3, "input[0]", "", "the compaction is not sent back, nor is what it stands for"},
	{"CMP-004/as-item", "openai-compaction", "compaction-as-text", 4, "input[2]", "", "a text holds the ciphertext of a compaction"},
	{"CMP-005/ciphertext", "openai-compaction", "plain-compaction", 2, "input[1]", "O-15", "the compaction holds no ciphertext of the provider's"},
	{"CMP-006/summary", "anthropic-compaction", "rewrite-compaction", 1, "messages[3].content[0]", "", "the summary of the compaction differs from byte 61 on: was 62 bytes with \"by the river.\" there, is 64 bytes with \"by the river…\"; it was shortened with an ellipsis"},
	{"CMP-006/summary", "anthropic-compaction", "unsign-compaction", 1, "messages[3].content[0]", "A-34", "the signature of the compaction differs from byte 0 on: was 40 bytes EqUBCk…01==, is 0 bytes (empty); it was emptied"},
	{"NSP-001/kept", "openai-tool-search", "forget-search", 1, "input[1]", "", "tool_search_output is not sent back, and a call of a tool that the search loaded is"},
	{"NSP-001/kept", "anthropic-tool-search", "forget-search", 1, "messages[1].content[0]", "", "tool_search_tool_result is not sent back, and a call of a tool that the search loaded is"},
	{"NSP-002/answered", "openai-client-search", "no-search-output", 1, "input[1]", "O-10", "the search for tools call_11A has no output after it"},
	{"NSP-002/no-orphan", "openai-client-search", "orphan-search-output", 1, "input[1]", "O-11", "the output call_11A answers no search for tools before it"},
	{"SRV-001/call-kept", "anthropic-pause", "drop-server-call", 1, "messages[1].content[1]", "ANT-S1", "web_search_tool_result answers srvtoolu_14A, and no call of the provider's tool before it has that id"},
	{"SRV-001/answered", "anthropic-pause", "open-server-call", 2, "messages[2].content[1]", "ANT-S1", "server_tool_use srvtoolu_99z has no result, and the user speaks behind it"},
	{"SRV-001/code-kept", "gemini-code", "drop-program", 1, "contents[1].parts[1]", "", "the outcome of a program stands without the program"},
	{"SRV-002/container", "anthropic-programmatic", "forget-container", 1, "container", "R52", "a program waits in the container container_013heronsandcranes, and the request names none"},
	{"SRV-003/caller", "anthropic-programmatic", "drop-caller", 1, "messages[1].content[2]", "", "tool call count toolu_13A was made by {\"type\":\"code_execution_20260120\",\"tool_id\":\"srvtoolu_13A\"} and is sent back with no caller"},
	{"SRV-003/caller", "anthropic-programmatic", "change-caller", 1, "messages[1].content[2]", "", "tool call count toolu_13A was made by {\"type\":\"code_execution_20260120\",\"tool_id\":\"srvtoolu_13A\"} and is sent back with the caller {\"type\":\"direct\"}"},
	{"SRV-004/results-alone", "anthropic-programmatic", "text-among-results", 1, "messages[2].content[2]", "", "a text stands among the results of calls that a program made"},
	{"SRV-005/goes-on", "anthropic-pause", "restart-paused", 1, "messages[0]", "ANT-S2", "the turn of exchange 0 paused, and the conversation goes on without what it said"},
	{"SRV-005/not-the-end", "anthropic-pause", "end-on-pause", -1, "process[0]", "", "process 0 exited 0 although its last reply (exchange 0) only paused"},
	{"SRV-006/asked", "openai-approval", "approve-unasked", 1, "input[2]", "", "the approval answers mcpr_99z, and no request for one before it has that id"},
	{"SRV-007/citations-kept", "anthropic-pause", "alter-citation", 2, "messages[2].content[0].citations", "", "the place of a citation differs from byte 38 on: was 44 bytes Eo8BCi…ODgz, is 43 bytes Eo8BCi…ODgz"},
	{"SRV-008/results", "anthropic-server-tool", "forget-search-result", 1, "messages[1].content[0]", "", "web_search_tool_result of the reply is not sent back, nor is its call"},
	{"SRV-008/citations", "anthropic-pause", "drop-citations", 2, "messages[2].content[0]", "", "text is sent back with 0 of its 1 citations of search results"},
	{"BET-001/history", "anthropic-betas", "drop-history-beta", 1, "messages[1].content[1]", "R53", "a mcp_tool_use block belongs to the beta mcp-client, which anthropic-beta does not name"},
	{"BET-002/tool-version", "anthropic-betas", "other-tool-beta", 0, "tools[1]", "R53", "the tool computer_20250124 belongs to the beta computer-use-2025-01-24, and anthropic-beta names computer-use-2024-10-22, mcp-client-2025-11-20, interleaved-thinking-2025-05-14"},
	{"BET-003/version", "anthropic-clouds", "no-cloud-version", 0, "anthropic_version", "", "Vertex AI wants anthropic_version \"vertex-2023-10-16\" in the body, and it is \"\""},
	{"BET-003/address", "anthropic-clouds", "model-to-cloud", 0, "model", "A-5", "Vertex AI has model in the address and refuses it in the body"},
	{"BET-004/same-betas", "anthropic-betas", "drop-turn-beta", 1, "anthropic-beta", "", "the turn began with the beta \"interleaved-thinking-2025-05-14\", which its next request does not ask for (exchange 0)"},
	{"REC-001/waits", "anthropic-recovery", "hasty-retry", 2, "retry-after", "", "exchange 1 was turned down (529) for 5s, and the request is answered again after 0s"},
	{"REC-002/not-again", "anthropic-recovery", "repeat-hopeless", 4, "", "", "the request was refused once before (quota) and is sent again: Your credit balance is too low to access the Anthropic API."},
	{"REC-003/shorter", "anthropic-recovery", "repeat-overflow", 6, "", "A-45", "exchange 5 was too long for the model with 2548 bytes, and the conversation goes on with 2548: prompt is too long: 208310 tokens > 200000 maximum"},
	{"REC-004/same-results", "anthropic-recovery", "rerun-tools", 2, "messages[2].content[0]", "", "exchange 1 failed, and the result of toolu_18A has changed when it is tried again: .content changed"},
	{"REC-004/from-there", "anthropic-recovery", "start-over", 2, "", "", "exchange 1 failed with results of tools in it, and the run starts over with the request of exchange 0, whose calls were answered"},
	{"REC-004/runs-once", "anthropic-recovery", "run-twice", -1, "echo", "", "the agent ran it 2 times with the same arguments to its end, and the model asked for that once"},
}

// TestDistorted: each check finds nothing in the sample and explains what the mutant did to
// it: where, by which rule, and how to mend it.
func TestDistorted(t *testing.T) {
	tried := map[string]bool{}
	for _, d := range distorted {
		t.Run(d.check+" "+d.mutant, func(t *testing.T) {
			tried[d.check] = true
			c, ev := find(t, d.check), samples(t)[d.sample]
			if res := c.Run(check.Decode(&ev)); len(res.Findings) > 0 || res.Observed == 0 {
				t.Fatalf("before it is distorted: %+v", res)
			}
			i := slices.IndexFunc(mutate.All(), func(m mutate.Mutant) bool { return m.ID == d.mutant })
			if i < 0 {
				t.Fatal("no such mutant")
			}
			bad, ok := mutate.All()[i].Apply(ev)
			if !ok {
				t.Fatal("the mutant finds nothing to distort")
			}
			res := c.Run(check.Decode(&bad))
			if len(res.Findings) == 0 {
				t.Fatal("nothing found")
			}
			f := res.Findings[0]
			if int(f.Exchange) != d.exchange || f.Path != d.path || f.Rule != d.rule || !strings.Contains(f.Message, d.message) {
				t.Errorf("{%q, %q, %q, %d, %q, %q, %q},\nwant %+v", d.check, d.sample, d.mutant, f.Exchange, f.Path, f.Rule, f.Message, d)
			}
			if f.Fix == "" {
				t.Error("does not say how to mend it")
			}
		})
	}
	for _, c := range check.All() {
		if area := c.ID[:3]; slices.Contains([]string{"MED", "CMP", "NSP", "SRV", "BET", "REC"}, area) && !tried[c.ID] && !isJudgedByWire(c.ID) {
			t.Errorf("%s: no breach in the table", c.ID)
		}
	}
}
