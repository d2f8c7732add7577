package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const usage = `{"input_tokens":92,"input_tokens_details":{"cached_tokens":64,"cache_write_tokens":8},"output_tokens":61,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":153}`

func object(status, rest string, output ...string) string {
	return `{"id":"resp_1","object":"response","model":"gpt-5.2-2025-12-11","status":"` + status + `","output":[` +
		strings.Join(output, ",") + `]` + rest + `}`
}

func lifecycle(kind, response string) string {
	return `{"type":"response.` + kind + `","sequence_number":0,"response":` + response + `}`
}

var (
	created   = lifecycle("created", object("in_progress", `,"error":null,"usage":null`))
	completed = func(output ...string) string {
		return lifecycle("completed", object("completed", `,"error":null,"incomplete_details":null,"usage":`+
			usage, output...))
	}
)

func added(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","sequence_number":1,"output_index":%d,"item":%s}`, i, item)
}

func done(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","sequence_number":9,"output_index":%d,"item":%s}`, i, item)
}

func delta(kind string, i int, text string) string {
	return fmt.Sprintf(
		`{"type":"response.%s.delta","sequence_number":4,"item_id":"x_1","output_index":%d,"content_index":0,"delta":"%s","logprobs":[],"obfuscation":"xQ3"}`,
		kind, i, text,
	)
}

func parse(opts stream.Options, events ...string) (stream.Reply, error) {
	p := Codec{}.NewParser(opts)
	_, _ = p.Write(providertest.Events(events...))
	return p.Close()
}

func block(b transcript.Block, meta transcript.Meta, raw string) transcript.Block {
	meta.Provider = transcript.MetaOpenAI
	b.Meta, b.Raw = &meta, []byte(raw)
	return b
}

func encrypted(s string) *string { return &s }

const (
	reasoningItem = `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAfull","summary":[{"type":"summary_text","text":"**Plan**"},{"type":"summary_text","text":"é"}]}`
	callItem      = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"b\":1.0, \"a\":2}","call_id":"call_A","name":"read"}`
	messageItem   = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[{"n":1}],"logprobs":[],"text":"Hal"},{"type":"output_text","annotations":[],"text":"lo\u00e9"}],"phase":"final_answer","role":"assistant"}`
	openItem      = `{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`
)

var (
	reasoningBlock = block(
		transcript.Reasoning("**Plan**\né", nil),
		transcript.Meta{ID: "rs_1", EncryptedContent: encrypted("gAAfull"), Summary: []string{"**Plan**", "é"}},
		reasoningItem,
	)
	callBlock = block(
		transcript.ToolUse("call_A", "read", []byte(`{"b":1.0, "a":2}`)), transcript.Meta{ID: "fc_1"}, callItem,
	)
	messageBlock = block(transcript.Text("Halloé"), transcript.Meta{ID: "msg_1", Phase: "final_answer"}, messageItem)
)

const (
	refusalItem = `{"id":"msg_2","type":"message","status":"completed","content":[{"type":"refusal","refusal":"No."}],"role":"assistant"}`
	searchItem  = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"q":"x"}}`
	customItem  = `{"id":"ctc_1","type":"custom_tool_call","call_id":"call_C","name":"sql","input":"SELECT 1"}`
	toolsItem   = `{"id":"mcpl_1","type":"mcp_list_tools","server_label":"d","tools":[{"n":1}]}`
	bareItem    = `{"id":"rs_2","type":"reasoning","summary":[]}`
	shownItem   = `{"id":"rs_3","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"open"}]}`
	noArgsItem  = `{"id":"fc_2","type":"function_call","status":"completed","arguments":"","call_id":"call_B","name":"list"}`
)

var streamCases = []struct {
	name   string
	events []string
	want   []transcript.Block
	stop   transcript.StopReason
}{
	{"reasoning and call", []string{
		added(0, `{"id":"rs_1","type":"reasoning","encrypted_content":"gAApartial","summary":[]}`),
		`{"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{}}`,
		delta("reasoning_summary_text", 0, "**Plan**"),
		`{"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":1,"part":{}}`,
		delta("reasoning_summary_text", 0, `\u00e9`), done(0, reasoningItem),
		added(
			1,
			`{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_A","name":"read"}`,
		),
		delta("function_call_arguments", 1, `{\"b\":1.0, `), delta("function_call_arguments", 1, `\"a\":2}`),
		done(1, callItem),
		completed(reasoningItem, callItem),
	}, []transcript.Block{reasoningBlock, callBlock}, transcript.StopToolUse},
	{"one block for a message of two parts", []string{
		added(0, openItem), delta("output_text", 0, "Hal"), delta("output_text", 0, `lo\u00e9`), done(0, messageItem),
		completed(messageItem),
	}, []transcript.Block{messageBlock}, transcript.StopEndTurn},
	{"refusal", []string{added(0, openItem), delta("refusal", 0, "No."), done(0, refusalItem), completed(refusalItem)},
		[]transcript.Block{block(transcript.Text("No."), transcript.Meta{ID: "msg_2"}, refusalItem)},
		transcript.StopRefusal},
	{"other items are opaque",
		[]string{
			added(0, searchItem), done(0, searchItem), added(1, customItem), done(1, customItem),
			completed(searchItem, customItem),
		}, []transcript.Block{
			{Type: transcript.BlockOpaque, Kind: "web_search_call", Raw: []byte(searchItem)},
			{Type: transcript.BlockOpaque, Kind: "custom_tool_call", Raw: []byte(customItem)},
		}, transcript.StopToolUse},
	{"item without its end", []string{
		added(0, `{"id":"mcpl_1","type":"mcp_list_tools","tools":[]}`), added(1, openItem), done(1, messageItem),
		completed(toolsItem, messageItem),
	}, []transcript.Block{{Type: transcript.BlockOpaque, Kind: "mcp_list_tools", Raw: []byte(toolsItem)}, messageBlock},
		transcript.StopEndTurn},
	{"ids that rotate, indexes with gaps, items that overlap", []string{
		added(2, `{"id":"tmp_1","type":"reasoning","summary":[]}`),
		added(5, `{"id":"tmp_2","type":"message","content":[]}`),
		done(5, messageItem), done(2, reasoningItem), completed(reasoningItem, messageItem),
	}, []transcript.Block{reasoningBlock, messageBlock}, transcript.StopEndTurn},
	{"ids that rotate and an item without its end", []string{
		added(0, `{"id":"tmp_1","type":"reasoning","summary":[]}`), added(1, openItem), done(1, messageItem),
		completed(reasoningItem, messageItem),
	}, []transcript.Block{reasoningBlock, messageBlock}, transcript.StopEndTurn},
	{"reasoning that shows nothing, or all",
		[]string{
			added(0, bareItem), done(0, bareItem), added(1, shownItem), delta("reasoning_text", 1, "open"),
			done(1, shownItem), completed(bareItem, shownItem),
		}, []transcript.Block{
			block(transcript.Reasoning("", nil), transcript.Meta{ID: "rs_2", Summary: []string{}}, bareItem),
			block(transcript.Reasoning("open", nil), transcript.Meta{ID: "rs_3", Summary: []string{}}, shownItem),
		}, transcript.StopEndTurn},
	{"call without arguments", []string{added(0, noArgsItem), done(0, noArgsItem), completed(noArgsItem)},
		[]transcript.Block{block(
			transcript.ToolUse("call_B", "list", []byte("{}")), transcript.Meta{ID: "fc_2"}, noArgsItem,
		)}, transcript.StopToolUse},
	{
		"no item events at all", []string{completed(messageItem)}, []transcript.Block{messageBlock},
		transcript.StopEndTurn,
	},
	{"deltas in another order, without sequence numbers", []string{
		added(0, openItem), `{"delta":"Ha","output_index":0,"type":"response.output_text.delta"}`,
		`{"type":"response.output_text.delta", "delta" : "l", "x":{"delta":1}, "output_index":0}`, done(0, messageItem),
		completed(messageItem),
	}, []transcript.Block{messageBlock}, transcript.StopEndTurn},
}

func TestStreamBlocks(t *testing.T) {
	for _, c := range streamCases {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(stream.Options{}, append([]string{created}, c.events...)...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, r.Message.Blocks); d != "" {
				t.Error(d)
			}
			if r.Message.StopReason != c.stop || len(r.Anomalies) > 0 {
				t.Errorf("stop %s, anomalies %v; want %s and none", r.Message.StopReason, r.Anomalies, c.stop)
			}
		})
	}
}

func TestDeltasAreTheText(t *testing.T) {
	var text strings.Builder
	opts := stream.Options{OnEvent: func(e stream.Event) { text.Write(e.Delta) }}
	_, _ = parse(opts, created, added(0, `{"id":"rs_1","type":"reasoning","summary":[]}`),
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`,
		delta("reasoning_summary_text", 0, "**Plan**"),
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`,
		delta("reasoning_summary_text", 0, "é"),
		done(0, reasoningItem), completed(reasoningItem))
	if text.String() != reasoningBlock.Text {
		t.Errorf("%q, want the text of the block: %q", text.String(), reasoningBlock.Text)
	}
}

func TestHeadAndEnd(t *testing.T) {
	r, err := parse(stream.Options{}, created, completed())
	read, write := uint64(64), uint64(8)
	want := stream.Reply{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, Blocks: []transcript.Block{}, StopReason: transcript.StopEndTurn,
		},
		Usage: transcript.Usage{
			InputTokens: 92, OutputTokens: 61, CacheReadTokens: &read, CacheCreationTokens: &write,
		},
		UsageKnown: true,
		ResponseID: "resp_1", Model: "gpt-5.2-2025-12-11",
	}
	if d := cmp.Diff(want, r); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestIncompleteResponse(t *testing.T) {
	cut := `{"id":"fc_1","type":"function_call","status":"incomplete","arguments":"{\"b\":","call_id":"call_A","name":"read"}`
	ending := func(reason string) string {
		return lifecycle("incomplete", object(
			"incomplete", `,"incomplete_details":{"reason":"`+reason+`"},"usage":`+usage, callItem, cut,
		))
	}
	for reason, want := range map[string]transcript.StopReason{
		"max_output_tokens": transcript.StopMaxTokens, "content_filter": transcript.StopRefusal,
	} {
		r, err := parse(
			stream.Options{}, created, added(0, callItem), done(0, callItem), added(1, cut), done(1, cut),
			ending(reason),
		)
		if err != nil || r.Message.StopReason != want {
			t.Errorf("%s: %s, %v; want %s though there are calls", reason, r.Message.StopReason, err, want)
		}
		if b := r.Message.Blocks[1]; string(b.Args) != `{"b":` || string(b.Raw) != cut ||
			r.Anomalies[0].Rule != "incomplete_call" || r.Anomalies[1].Rule != stream.RuleInvalidArgs {
			t.Errorf("%s: the cut call is %q, %v; want its bytes kept and named", reason, b.Args, r.Anomalies)
		}
	}
	var anomaly *stream.AnomalyError
	if _, err := parse(
		stream.Options{}, created, ending("steered"),
	); !errors.As(err, &anomaly) || anomaly.Anomaly.Rule != stream.RuleUnknownStop {
		t.Errorf("unknown reason: %v", err)
	}
}

func TestStreamFailures(t *testing.T) {
	var (
		failure    *stream.ProviderError
		incomplete *stream.IncompleteError
		anomaly    *stream.AnomalyError
	)
	failed := lifecycle("failed", object("failed", `,"error":{"code":"server_error","message":"failed"}`))
	for _, c := range []struct {
		name   string
		events []string
		as     any
		say    string
	}{
		{
			"nested error",
			[]string{
				created,
				`{"type":"error","sequence_number":2,"error":{"type":"tokens","code":"rate_limit_exceeded","message":"slow down","param":null}}`,
				failed,
			},
			&failure, "tokens: slow down",
		},
		{
			"flat error",
			[]string{
				created, `{"type":"error","code":"server_error","message":"boom","param":null,"sequence_number":2}`,
			},
			&failure, "boom",
		},
		{"failed alone", []string{created, failed}, &failure, "server_error: failed"},
		{
			"cut", []string{created, added(0, openItem), delta("output_text", 0, "a")}, &incomplete,
			"the response is in_progress",
		},
		{"item without end anywhere", []string{created, added(0, openItem), completed()}, &incomplete, "1 blocks open"},
		{"second response", []string{created, completed(), created, completed()}, &anomaly, "event_after_end"},
		{"second start", []string{created, created, completed()}, &incomplete, "second response.created"},
		{"orphaned delta", []string{created, delta("output_text", 3, "a")}, &anomaly, "orphaned_delta"},
		{
			"delta of another kind", []string{created, added(0, openItem), delta("function_call_arguments", 0, "a")},
			&anomaly, "orphaned_delta",
		},
		{"end of an unknown item", []string{created, done(3, messageItem)}, &anomaly, "unknown_complete"},
		{"item added twice", []string{created, added(0, openItem), added(0, openItem)}, &anomaly, "duplicate_start"},
		{
			"item that was never streamed",
			[]string{created, added(0, openItem), done(0, messageItem), completed(messageItem, callItem)}, &anomaly,
			"never streamed",
		},
		{
			"call without call_id",
			[]string{
				created, added(0, `{"type":"function_call","name":"f"}`),
				done(0, `{"type":"function_call","name":"f","arguments":"{}"}`),
			},
			&anomaly, "malformed_item",
		},
		{"no JSON", []string{created, `{"type":"response.output_text.delta",`}, &anomaly, "malformed_event"},
		{"item that is not an object", []string{created, added(0, `[]`)}, &anomaly, "malformed_event"},
	} {
		_, err := parse(stream.Options{}, c.events...)
		if !errors.As(err, c.as) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.name, err, c.say)
		}
	}
}

// TestErrorFillsIn: the error event has the type, the failed response may
// bring what it lacks.
func TestErrorFillsIn(t *testing.T) {
	_, err := parse(stream.Options{}, created, `{"type":"error","error":{"type":"server_error","message":"first"}}`,
		lifecycle("failed", object("failed", `,"error":{"code":"c1","message":"second"}`)))
	var failure *stream.ProviderError
	if !errors.As(err, &failure) || failure.Type != "server_error" || failure.Code != "c1" ||
		failure.Message != "first" {
		t.Errorf("%+v", failure)
	}
}

func TestHarmless(t *testing.T) {
	r, err := parse(stream.Options{}, created, `{"type":"keepalive","sequence_number":3}`,
		`{"type":"response.new_thing","x":1}`,
		`{"type":"response.shell_call_output_content.delta","output_index":0,"delta":{"stdout":"x"}}`,
		`{"type":"response.web_search_call.searching","output_index":0}`, completed())
	if err != nil || len(r.Anomalies) != 1 || !r.Anomalies[0].Harmless || !strings.Contains(
		r.Anomalies[0].Detail, "response.new_thing",
	) {
		t.Errorf("%v, %v", err, r.Anomalies)
	}
}

func TestReply(t *testing.T) {
	body := object("completed", `,"usage":`+usage, reasoningItem, callItem, messageItem)
	r, err := Codec{}.ParseReply([]byte(body), stream.Options{})
	if d := cmp.Diff(
		[]transcript.Block{reasoningBlock, callBlock, messageBlock}, r.Message.Blocks,
	); err != nil || d != "" || r.Message.StopReason != transcript.StopToolUse {
		t.Errorf("%v, %s\n%s", err, r.Message.StopReason, d)
	}
}

func TestReplyFailures(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"nope","type":"invalid_request_error","code":"c"}}`: "invalid_request_error: nope",
		object("failed", `,"error":{"code":"server_error","message":"boom"}`):    "server_error: boom",
		object("queued", ``):      "the response is queued",
		object("in_progress", ``): "the response is in_progress",
		`{"output":[`:             "incomplete",
		``:                        "incomplete",
		`[]`:                      "malformed_event",
	} {
		if _, err := (Codec{}).ParseReply(
			[]byte(body), stream.Options{},
		); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	if r, err := (Codec{}).ParseReply(
		[]byte(object("cancelled", ``)), stream.Options{},
	); err != nil || r.Message.StopReason != transcript.StopCancelled {
		t.Errorf("cancelled: %s, %v", r.Message.StopReason, err)
	}
}
