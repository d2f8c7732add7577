package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
)

// readCorpus reads the recorded traffic of other tools, or skips the test.
func readCorpus(tb testing.TB) (root string, recordings []evidence.Recording) {
	tb.Helper()
	root = filepath.Join(corpus.Dir(tb), "data")
	loaded.Do(func() { loaded.recordings, loaded.err = evidence.Load(root) })
	if loaded.err != nil {
		tb.Fatal(loaded.err)
	}
	return filepath.ToSlash(filepath.Clean(root)) + "/", loaded.recordings
}

var loaded struct {
	sync.Once
	recordings []evidence.Recording
	err        error
}

func catalogue(tb testing.TB) []report.Rule {
	tb.Helper()
	all, err := specs.Requirements()
	if err != nil {
		tb.Fatal(err)
	}
	rules, err := report.Rules(all, check.All())
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// defects are the findings on the corpus. Each is what that recording really
// shows; none is there to keep the test quiet.
var defects = []struct {
	reason string
	checks []string
	cases  []string // below <provider>/
}{
	{"the provider refused it with these words: a sound is no document", []string{"PAR-010/file"}, []string{
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_direct-url-audio-openai_responses",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_tool_return_content-url-audio-openai_responses",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_direct-url_force_download-audio-open-6290faf7",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_tool_return_content-url_force_downlo-4d049429",
	}},
	{"the model reasoned before its calls, and the client neither asks for the reasoning nor names a stored response",
		[]string{"SIG-012/asked-for"}, []string{
			"cagent__TestExec_ToolCallsNeedAcceptance",
			"fantasy__TestOpenAIResponsesCommon.openai-gpt-5.multi_tool",
			"fantasy__TestOpenAIResponsesCommon.openai-gpt-5.multi_tool_streaming",
			"fantasy__TestOpenAIResponsesCommon.openai-gpt-5.tool",
			"fantasy__TestOpenAIResponsesCommon.openai-gpt-5.tool_streaming",
			"fantasy__TestOpenAIResponsesCommon.openai-o4-mini.tool",
			"fantasy__TestOpenAIResponsesCommon.openai-o4-mini.tool_streaming",
		}},
	{"the client keeps the compaction alone of a compacted window, and not the message beside it",
		[]string{"CMP-003/whole-window"}, []string{
			"pydantic-ai__test_openai_responses.test_openai_responses_compact_with_auto_previous_response_id_chain",
		}},
	{"the client sends the search for tools back without what it found; accepted, and the tool is not loaded any more",
		[]string{"NSP-001/kept"}, []string{
			"pydantic-ai__test_tool_search.test_openai_native_tool_search_gpt_5_6",
			"pydantic-ai__test_tool_search.test_openai_native_tool_search_round_trip",
			"pydantic-ai__test_tool_search.test_openai_native_tool_search_streaming",
		}},
	{"the client sends texts back without the citations that the provider wants back; accepted",
		[]string{"SRV-008/citations"}, []string{
			"ellmer__anthropic-web-search",
			"fantasy__TestAnthropicWebSearch.stream",
			"pydantic-ai__test_anthropic.test_anthropic_web_search_tool",
		}},
	{"the provider refused it with these words: no such effort", []string{"PAR-004/effort"}, []string{
		"pydantic-ai__test_anthropic.test_anthropic_explicit_effort_xhigh_unsupported_model_errors",
	}},
	{"the provider refused it with these words: the bound of a number is not supported",
		[]string{"TSC-007/output-keywords"}, []string{
			"req_llm__anthropic.claude_3_5_haiku_20241022.object_basic",
			"req_llm__anthropic.claude_haiku_4_5_20251001.object_basic",
		}},
	{"the provider refused it with these words: the number is out of range", []string{"PAR-007/range"}, []string{
		"opentelemetry-python-contrib__vertexai.test_generate_content_invalid_temperature",
		"pydantic-ai__test_openai_responses.test_openai_responses_model_http_error",
		"rig__anthropic.error_identity_edge.validation_error_carries_identity",
	}},
	{"the provider refused it with these words: strict schemas have limits", []string{"PAR-008/strict"}, []string{
		"dd-trace-js__dd-trace.test.llmobs.openai.openai_responses_post_c4a90328",
		"rig__anthropic.strict_schema_limits.seventeen_union_parameters_are_rejected",
		"rig__anthropic.strict_schema_limits.sixteen_union_parameters_in_one_schema_hit_internal_limit",
		"rig__anthropic.strict_schema_limits.twenty_five_optional_parameters_are_rejected",
		"rig__anthropic.strict_schema_limits.twenty_one_strict_tools_are_rejected",
	}},
	{"the provider refused it with these words: the form of the answer is that of another API",
		[]string{"PAR-006/known", "PAR-006/required"}, []string{
			"braintrust-sdk-ruby__anthropic.beta_structured_outputs",
		}},
	{"the provider refused it for its form with these words", []string{"ERR-001/form"}, []string{
		"activeagent__anthropic-1.14.docs.actions.structured_output.anthropic_json",
		"braintrust-sdk-ruby__anthropic.beta_structured_outputs",
		"dd-trace-js__dd-trace.test.llmobs.openai.openai_responses_post_c4a90328",
		"opentelemetry-python-contrib__vertexai.test_generate_content_invalid_role",
		"opentelemetry-python-contrib__vertexai.test_generate_content_invalid_temperature",
		"pydantic-ai__test_anthropic.test_anthropic_explicit_effort_xhigh_unsupported_model_errors",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_direct-url-audio-openai_responses",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_direct-url_force_download-audio-open-6290faf7",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_tool_return_content-url-audio-openai_responses",
		"pydantic-ai__test_multimodal_tool_returns.test_multimodal_tool_return_matrix_tool_return_content-url_force_downlo-4d049429",
		"pydantic-ai__test_openai_responses.test_openai_responses_model_http_error",
		"req_llm__anthropic.claude_3_5_haiku_20241022.object_basic",
		"req_llm__anthropic.claude_haiku_4_5_20251001.object_basic",
		"rig__anthropic.error_identity_edge.validation_error_carries_identity",
		"rig__anthropic.strict_schema_limits.seventeen_union_parameters_are_rejected",
		"rig__anthropic.strict_schema_limits.sixteen_union_parameters_in_one_schema_hit_internal_limit",
		"rig__anthropic.strict_schema_limits.twenty_five_optional_parameters_are_rejected",
		"rig__anthropic.strict_schema_limits.twenty_one_strict_tools_are_rejected",
		"rig__openai.error_identity_edge.nonexistent_previous_response_reference_carries_identity",
		"vertexai-sdk-test-data__googleai.streaming-failure-image-rejected",
		"vertexai-sdk-test-data__vertexai.unary-failure-context-cache-model-doesnt-match",
		"vertexai-sdk-test-data__vertexai.unary-failure-image-rejected",
		"vertexai-sdk-test-data__vertexai.unary-failure-invalid-context-cache-id",
	}},
	{"the source's authors answered with a document of their own to test their reader",
		[]string{"ERR-003/provider-object"}, []string{
			"vertexai-sdk-test-data__vertexai.unary-failure-invalid-response",
		}},
	{"the provider refused it with these words: no prefilled answer on this model",
		[]string{"ORD-016/user-ends"}, []string{
			"activeagent__anthropic-1.14.docs.actions.structured_output.anthropic_json",
		}},
	{"the provider refused it with these words: the test sends a role that does not exist",
		[]string{"ORD-015/roles"}, []string{
			"opentelemetry-python-contrib__vertexai.test_generate_content_invalid_role",
		}},
	{"the client answers a function call with plain text instead of a function response; Gemini 2 let it pass",
		[]string{"ORD-001/answered"}, []string{
			"req_llm__google.gemini_2_0_flash_lite.tool_round_trip",
			"req_llm__google.gemini_2_5_flash_preview_05_20.tool_round_trip",
			"req_llm__google.gemini_2_5_pro.tool_round_trip",
			"req_llm__google.gemini_flash_latest.tool_round_trip",
			"req_llm__google_vertex.gemini_2_0_flash.tool_round_trip",
			"req_llm__google_vertex.gemini_2_5_flash.tool_round_trip",
			"req_llm__google_vertex.gemini_2_5_flash_lite.tool_round_trip",
		}},
	{"the client names the function response after the call id", []string{"ORD-006/one-content"}, []string{
		"cagent__TestExec_Gemini_ToolCall",
	}},
	{"the client reuses the id of one call for the call it adds to it", []string{"ORD-005/unique-calls"}, []string{
		"pydantic-ai__test_tool_search.test_cross_provider_capability_replay_google-gemini-3-flash-preview-anthropic-claud-b0e4b331~2",
	}},
	{"the client adds a search_tools call to the model's turn", []string{"ORD-009/calls-kept"}, []string{
		"pydantic-ai__test_tool_search.test_cross_provider_capability_replay_anthropic-claude-sonnet-4-5-openai-responses-gpt-5.4",
		"pydantic-ai__test_tool_search.test_cross_provider_capability_replay_google-gemini-3-flash-preview-openai-responses-gpt-5.4",
	}},
	{"the test's hook repairs the name of a call before it is sent back", []string{"ORD-011/arguments"}, []string{
		"rig__anthropic.response_identity_edge.repaired_invalid_call_keeps_call_identity",
		"rig__gemini.agent_run_streamed.streamed_repair_continues_the_same_stream",
	}},
	{"the plug-in under test takes arguments of its own out of the call", []string{"ORD-011/arguments"}, []string{
		"adk-go__plugin.functioncallmodifier.TestPluginCallbackIntegration_agent_tool_default_schema",
	}},
	{"the client parses the argument string and writes it with other spaces", []string{"ORD-011/arguments"}, []string{
		"llm-openai-plugin__test_openai.test_tools",
		"llm__test_openai_responses.test_responses_interleaved_reasoning_between_tool_calls",
		"llm__test_openai_responses.test_responses_round_trips_encrypted_reasoning",
		"llm__test_openai_responses.test_responses_tool_use",
		"llm__test_openai_responses.test_responses_tool_use_streaming",
	}},
	{"the client drops the text before a tool call", []string{"ORD-013/text-unchanged"}, []string{
		"fantasy__TestAnthropicComputerUse.claude-sonnet-4.computer_use",
		"fantasy__TestAnthropicComputerUse.claude-sonnet-4.computer_use_streaming",
	}},
	{"the test sends back the server tool blocks of a reply without its text",
		[]string{"ORD-013/text-unchanged"}, []string{
			"rig__anthropic.opus_4_8.messages_preserve_system_role_after_server_tool_result",
		}},
	{"the recorder replaced typographic quotes in JSON bodies, not in streams",
		[]string{"ORD-013/text-unchanged", "RED-002/text"}, []string{
			"pydantic-ai__test_openai_responses.test_openai_responses_compact_stateful_mode_stream",
			"pydantic-ai__test_openai_responses.test_openai_responses_phase_streamed_on_part_start",
		}},
	{"the test changes the system prompt in the middle of the conversation", []string{"RES-002/system"}, []string{
		"ruby_llm__chat_basic_chat_functionality_openai_gpt-5-nano_replaces_previous_system_messages_by_default",
		"ruby_llm__chat_basic_chat_functionality_anthropic_claude-haiku-4-5_replaces_previous_system_messages_by_default",
		"ruby_llm__chat_basic_chat_functionality_gemini_gemini-2_5-flash_replaces_previous_system_messages_by_default",
		"ruby_llm__chat_basic_chat_functionality_vertexai_gemini-2_5-flash_replaces_previous_system_messages_by_default",
	}},
	{"the client takes the tools away when it sends their results", []string{"RES-002/tools"}, []string{
		"anthropic-sdk-go__toolrunner.tool_runner_custom_handling",
		"req_llm__anthropic.claude_3_5_haiku_20241022.tool_round_trip",
		"req_llm__anthropic.claude_3_7_sonnet_latest.tool_round_trip",
		"req_llm__anthropic.claude_haiku_4_5_20251001.tool_round_trip",
		"req_llm__anthropic.claude_opus_4_0.tool_round_trip",
		"req_llm__anthropic.claude_opus_4_1_20250805.tool_round_trip",
		"req_llm__anthropic.claude_sonnet_4_0.tool_round_trip",
		"req_llm__anthropic.claude_sonnet_4_5.tool_round_trip",
		"req_llm__anthropic.claude_sonnet_4_5_20250929.tool_round_trip",
		"req_llm__google.gemini_2_0_flash_lite.tool_round_trip",
		"req_llm__google.gemini_2_5_flash_preview_05_20.tool_round_trip",
		"req_llm__google.gemini_2_5_pro.tool_round_trip", "req_llm__google.gemini_flash_latest.tool_round_trip",
		"req_llm__google_vertex.gemini_2_0_flash.tool_round_trip",
		"req_llm__google_vertex.gemini_2_5_flash.tool_round_trip",
		"req_llm__google_vertex.gemini_2_5_flash_lite.tool_round_trip",
		"rig__anthropic.opus_4_8.messages_preserve_system_role_after_server_tool_result",
		"rig__openai.streaming_grammar.three_turn_tool_session",
		"rig__openai.streaming_grammar.tool_then_followup_text",
	}},
	{"the client adds a tool in the middle of the conversation that no search found",
		[]string{"RES-002/tools"}, []string{
			"pydantic-ai__test_tool_search.test_cross_provider_capability_replay_google-gemini-3-flash-preview-anthropic-claud-b0e4b331",
			"pydantic-ai__test_tool_search.test_google_deferred_capability_announcement_live",
		}},
	{"the client puts what its own search found before the search tool", []string{"MCP-003/list-appended"}, []string{
		"pydantic-ai__test_tool_search.test_openai_deferred_capability_runs_on_model_without_native_tool_search",
		"pydantic-ai__test_tool_search.test_tool_search_eval_google",
	}},
	{"the test sends back a reply in place of the prompt, without tools",
		[]string{"RES-002/tools", "RES-003/history"}, []string{
			"rig__anthropic.empty_end_turn.raw_followup_empty_end_turn_normalizes_to_empty_text_choice",
		}},
	{"the test sends back a reply without the prompt before it", []string{"RES-003/history"}, []string{
		"rig__openai.streaming_tools.raw_responses_stream_preserves_tool_then_followup_text_ordering",
	}},
	{"the test sends back the server tool blocks of a reply in place of the prompt",
		[]string{"RES-003/history"}, []string{
			"rig__anthropic.opus_4_8.messages_preserve_system_role_after_server_tool_result",
		}},
	{"the client drops thinking with empty text in a tool loop (adaptive model, accepted, reasoning lost)",
		[]string{"SIG-002/kept"}, []string{
			"ellmer__anthropic-tool", "ellmer__anthropic-tool-image",
		}},
	{"the client drops encrypted reasoning in a tool loop", []string{"SIG-008/reasoning-kept"}, []string{
		"fantasy__TestOpenAIResponsesWithSummaryThinking.openai-gpt-5.thinking",
		"fantasy__TestOpenAIResponsesWithSummaryThinking.openai-gpt-5.thinking-streaming",
		"fantasy__TestOpenAIResponsesWithSummaryThinking.openai-o4-mini.thinking",
		"fantasy__TestOpenAIResponsesWithSummaryThinking.openai-o4-mini.thinking-streaming",
	}},
	{"the client copies the signature of the first call to the others; Gemini 2.5 let it pass",
		[]string{"SIG-016/same-part"}, []string{
			"ruby_llm__chat_function_calling_gemini_gemini-2_5-flash_can_use_parallel_tool_calls",
			"ruby_llm__chat_function_calling_vertexai_gemini-2_5-flash_can_handle_multiple_tool_calls_in_a_single_response",
			"ruby_llm__chat_function_calling_vertexai_gemini-2_5-flash_can_use_parallel_tool_calls",
		}},
	{"the client sends signed text back without its signature", []string{"SIG-017/signed-parts"}, []string{
		"ellmer__google-tool", "ellmer__google-upload", "ellmer__google-web-fetch", "ellmer__google-web-search",
		"rig__gemini.chat_history.five_turn_chat_history_stress_preserves_context_and_tools",
	}},
	{"the client drops the signed empty text at the end of a stream", []string{"SIG-017/signed-parts"}, []string{
		"adk-go__internal.llminternal.TestParallelFunctionCalls_test_parallel_function_calls_gemini-3.1-pro-preview",
	}},
	{"the client sends a signed call back without its signature; only a warning before Gemini 3",
		[]string{"SIG-017/signed-parts"}, []string{
			"req_llm__google.gemini_2_5_flash_preview_05_20.tool_round_trip",
			"req_llm__google.gemini_2_5_pro.tool_round_trip",
			"req_llm__google_vertex.gemini_2_5_flash.tool_round_trip",
		}},
	{"the client forgets the phase of messages", []string{"SIG-020/phase"}, []string{
		"ellmer__chat-tools-dangling", "ellmer__inst._vcr.chat_openai", "ellmer__openai-v2-pdf",
		"ellmer__openai-v2-tool",
		"ellmer__openai-v2-tool-image", "rig__openai.gpt_5_6_reasoning.five_turn_metadata_roundtrip",
		"rig__openai.gpt_5_6_reasoning.five_turn_streaming_metadata_roundtrip",
		"rig__openai.streaming_grammar.three_turn_tool_session",
	}},
	{"the stored body lost the blank line at its end", []string{"STR-001/framing"}, []string{
		"rig__anthropic.prompt_caching.streaming_prompt_caching_reuses_tool_cache",
		"vertexai-sdk-test-data__googleai.streaming-failure-prompt-blocked-safety",
		"vertexai-sdk-test-data__googleai.streaming-success-finish-message",
		"vertexai-sdk-test-data__googleai.streaming-success-no-content-parts",
		"vertexai-sdk-test-data__vertexai.streaming-failure-prompt-blocked-safety-with-message",
		"vertexai-sdk-test-data__vertexai.streaming-success-quotes-escaped",
	}},
	{"the source's authors cut or edited the stream to test their reader", []string{"STR-002/terminal"}, []string{
		"vertexai-sdk-test-data__vertexai.streaming-failure-empty-content",
		"vertexai-sdk-test-data__vertexai.streaming-failure-invalid-json",
		"vertexai-sdk-test-data__vertexai.streaming-failure-malformed-content",
		"vertexai-sdk-test-data__vertexai.streaming-success-quotes-escaped",
	}},
}

// TestCorpus holds every recording to the whole catalogue. What it finds is a
// defect listed above; what is listed is found.
func TestCorpus(t *testing.T) {
	root, recordings := readCorpus(t)
	want := map[string]string{} // check and case to reason
	for _, d := range defects {
		for _, id := range d.checks {
			for _, c := range d.cases {
				want[id+" "+c] = d.reason
			}
		}
	}
	rules := catalogue(t)
	observed := map[string]int{}
	for _, rec := range recordings {
		_, name, _ := strings.Cut(strings.TrimPrefix(rec.Path, root), "/")
		for _, res := range report.Judge(rules, &rec.Evidence) {
			observed[res.Requirement] += res.Observed
			if res.Verdict == report.HarnessError {
				t.Fatalf("%s: %s: %s", name, res.Check, res.Reason)
			}
			key := res.Check + " " + name
			if _, known := want[key]; len(res.Findings) > 0 && !known {
				t.Errorf("%s: %s", key, res.Findings[0].Message)
			} else if known && len(res.Findings) == 0 {
				t.Errorf("%s: listed (%s) and not found", key, want[key])
			}
			delete(want, key)
		}
	}
	for key, reason := range want {
		t.Errorf("%s: listed (%s), but there is no such recording", key, reason)
	}
	for _, id := range []string{"ORD-001", "ORD-008", "SIG-001", "SIG-007", "SIG-014", "STR-003", "STR-004",
		"STR-005"} {
		if observed[id] < 20 {
			t.Errorf("%s: saw only %d places in the whole corpus", id, observed[id])
		}
	}
}

// TestCorpusReplays compares what the linker finds with what the corpus says
// which request sends back which reply, computed there from tokens and texts.
func TestCorpusReplays(t *testing.T) {
	_, recordings := readCorpus(t)
	found, missed := 0, 0
	for _, rec := range recordings {
		var meta struct {
			Edges [][]int `json:"replay_edges"`
		}
		data, err := os.ReadFile(filepath.Join(rec.Path, "meta.json"))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			t.Fatal(rec.Path, err)
		}
		replays := check.Decode(&rec.Evidence).Replays()
		for _, e := range meta.Edges {
			if slices.Contains(replays, [2]int{e[0] - 1, e[1] - 1}) {
				found++
				continue
			}
			missed++
			if why := unlinkable(rec, e[1]-1); why == "" {
				t.Errorf("%s: request %d sends reply %d back and is not linked to it", rec.Path, e[1], e[0])
			}
		}
	}
	if found < 860 || missed > 40 {
		t.Errorf("%d replays found, %d missed", found, missed)
	}
}

// unlinkable says why a replay the corpus lists is none for the linker.
func unlinkable(rec evidence.Recording, request int) string {
	body := string(rec.Evidence.Exchanges[request].Request.Body)
	switch {
	case strings.HasSuffix(rec.Evidence.Exchanges[request].Request.URL, "/compact"):
		return "asks for a summary, not for an answer"
	case strings.Contains(body, `"previous_response_id":"`) || strings.Contains(body, `"previous_response_id": "`):
		return "the provider holds the conversation"
	case strings.Contains(rec.Path, "/rig__"):
		return "the source replaced ids by dummies, and the text stands elsewhere"
	}
	return ""
}
