package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const (
	head   = `{"type":"message_start","message":{"model":"claude-sonnet-4-5-20250929","id":"msg_01Synth","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":3,"cache_read_input_tokens":0,"output_tokens":1}}}`
	finish = `{"type":"message_stop"}`
	ping   = `{"type": "ping"}`
)

func end(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason +
		`","stop_sequence":null},"usage":{"output_tokens":9}}`
}

// message frames blocks between head and end.
func message(reason string, blocks ...string) []byte {
	return providertest.Events(append(append([]string{head}, blocks...), end(reason), finish)...)
}

func parse(opts stream.Options, body []byte) (stream.Reply, error) {
	p := Codec{}.NewParser(opts)
	_, _ = p.Write(body)
	return p.Close()
}

func thinking(text, signature string) transcript.Block {
	return transcript.Reasoning(text, &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: signature})
}

func redacted(data string) transcript.Block {
	return transcript.Reasoning("", &transcript.Meta{Provider: transcript.MetaAnthropicRedacted, Data: data})
}

func raw(b transcript.Block, raw string) transcript.Block {
	b.Raw = []byte(raw)
	return b
}

func opaque(kind, raw string) transcript.Block {
	return transcript.Block{Type: transcript.BlockOpaque, Kind: kind, Raw: []byte(raw)}
}

var streamCases = []struct {
	name   string
	events []string
	want   []transcript.Block
}{
	{"thinking, text, tools", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		ping,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"lookups","estimated_tokens":3}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EsYB+/=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Che\"ck\u00e9"}   }`,
		`{"type":"content_block_stop","index":1      }`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_A","name":"read","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"b\": 1.0,"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" \"a\": 12345678901234567890, \"a\":\"\\u00e9\"}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_B","name":"list","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_stop","index":3}`,
	}, []transcript.Block{
		thinking("Two lookups", "EsYB+/=="), transcript.Text("Che\"cké"),
		transcript.ToolUse("toolu_A", "read", []byte(`{"b": 1.0, "a": 12345678901234567890, "a":"\u00e9"}`)),
		transcript.ToolUse("toolu_B", "list", []byte(`{}`)),
	}},
	{"redacted twice", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"Epg+/1"}}`, ping,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Epg2"}}`,
		`{"type":"content_block_stop","index":1}`,
	}, []transcript.Block{redacted("Epg+/1"), redacted("Epg2")}},
	{"signed thinking without text, signature in pieces", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eu"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"YB"}}`,
		`{"type":"content_block_stop","index":0}`,
	}, []transcript.Block{thinking("", "EuYB")}},
	{"thinking that was never signed", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"b"}}`,
		`{"type":"content_block_stop","index":0}`,
	}, []transcript.Block{transcript.Reasoning("ab", nil)}},
	{"blocks open at once", []string{
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_stop","index":1}`,
	}, []transcript.Block{transcript.Text("x"), thinking("t", "S")}},
	{"call with input at the start and a caller", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_C","name":"f","input":{"k": 1e3},"caller":{"type":"direct"}}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_D","name":"g","input":{},"caller":{"type":"direct"}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"z\":0.10}"}}`,
		`{"type":"content_block_stop","index":1}`,
	}, []transcript.Block{
		raw(
			transcript.ToolUse("toolu_C", "f", []byte(`{"k": 1e3}`)),
			`{"type":"tool_use","id":"toolu_C","name":"f","input":{"k": 1e3},"caller":{"type":"direct"}}`,
		),
		raw(
			transcript.ToolUse("toolu_D", "g", []byte(`{"z":0.10}`)),
			`{"type":"tool_use","id":"toolu_D","name":"g","input":{"z":0.10},"caller":{"type":"direct"}}`,
		),
	}},
	{"text with citations", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"x","n": 1}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"y"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"cited \u2028\n"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"late"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`,
		`{"type":"content_block_stop","index":1}`,
	}, []transcript.Block{
		raw(
			transcript.Text("cited \u2028\n"),
			`{"type":"text","text":"cited `+"\u2028"+`\n","citations":[{"type":"x","n": 1},{"type":"y"}]}`,
		),
		raw(transcript.Text("late"), `{"type":"text","text":"late","citations":[{}]}`),
	}},
	{"server tools", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"x\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"Eo8="}]}}`,
		`{"type":"content_block_stop","index":1}`,
	}, []transcript.Block{
		opaque(
			"server_tool_use",
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}}`,
		),
		opaque(
			"web_search_tool_result",
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"Eo8="}]}`,
		),
	}},
	{"compaction", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"sum","encrypted_content":"E1"}}`,
		`{"type":"content_block_stop","index":0}`,
	}, []transcript.Block{opaque("compaction", `{"type":"compaction","content":"sum","encrypted_content":"E1"}`)}},
	{"surrogates", []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00b\udfff"}}`,
		`{"type":"content_block_stop","index":0}`,
	}, []transcript.Block{transcript.Text("a😀b\xed\xbf\xbf")}},
	{"members in another order, unknown ones", []string{
		`{"content_block":{"text":"","type":"text"},"index":0,"type":"content_block_start","x":{"type":"ping"}}`,
		`{"delta":{"text":"a","type":"text_delta"},"index":0,"type":"content_block_delta"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b","extra":[1]}}`,
		`{"index":0,"type":"content_block_stop"}`,
	}, []transcript.Block{transcript.Text("ab")}},
}

func TestStreamBlocks(t *testing.T) {
	for _, c := range streamCases {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(stream.Options{}, message("tool_use", c.events...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, r.Message.Blocks); d != "" {
				t.Error(d)
			}
			if len(r.Anomalies) > 0 {
				t.Error(r.Anomalies)
			}
		})
	}
}

func TestStreamHeadAndEnd(t *testing.T) {
	r, err := parse(stream.Options{}, message("end_turn"))
	three, zero := uint64(3), uint64(0)
	want := stream.Reply{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, Blocks: []transcript.Block{}, StopReason: transcript.StopEndTurn,
		},
		Usage: transcript.Usage{
			InputTokens: 12, OutputTokens: 9, CacheCreationTokens: &three, CacheReadTokens: &zero,
		},
		UsageKnown: true,
		ResponseID: "msg_01Synth", Model: "claude-sonnet-4-5-20250929",
	}
	if d := cmp.Diff(want, r); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// TestCompactionUsage: what a compaction took is not in the totals of its reply, and
// counts; later totals overwrite earlier ones.
func TestCompactionUsage(t *testing.T) {
	const (
		messagePass    = `{"type":"message","input_tokens":20,"output_tokens":9}`
		compactionPass = `{"type":"compaction","input_tokens":180000,"output_tokens":3500,"cache_read_input_tokens":7}`
	)
	last := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + usage + `}}`
	}
	three, seven, zero := uint64(3), uint64(7), uint64(0)
	for name, c := range map[string]struct {
		deltas []string
		want   transcript.Usage
	}{
		"none": {
			[]string{last(`"output_tokens":9,"iterations":[` + messagePass + `]`)},
			transcript.Usage{InputTokens: 12, OutputTokens: 9, CacheCreationTokens: &three, CacheReadTokens: &zero},
		},
		"one": {
			[]string{last(
				`"input_tokens":20,"output_tokens":9,"iterations":[` + compactionPass + `,` + messagePass + `]`,
			)},
			transcript.Usage{
				InputTokens: 180020, OutputTokens: 3509, CacheCreationTokens: &three, CacheReadTokens: &seven,
			},
		},
		"repeated": {
			[]string{
				last(`"output_tokens":2,"iterations":[` + compactionPass + `]`),
				last(`"output_tokens":9,"iterations":[` + compactionPass + `]`),
			},
			transcript.Usage{
				InputTokens: 180012, OutputTokens: 3509, CacheCreationTokens: &three, CacheReadTokens: &seven,
			},
		},
		"not a list": {
			[]string{last(`"output_tokens":9,"iterations":{"type":"compaction","input_tokens":5}`)},
			transcript.Usage{InputTokens: 12, OutputTokens: 9, CacheCreationTokens: &three, CacheReadTokens: &zero},
		},
	} {
		r, err := parse(stream.Options{}, providertest.Events(append(append([]string{head}, c.deltas...), finish)...))
		if d := cmp.Diff(c.want, r.Usage); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

func TestStopReasons(t *testing.T) {
	for name, want := range map[string]transcript.StopReason{
		"end_turn": transcript.StopEndTurn, "tool_use": transcript.StopToolUse, "max_tokens": transcript.StopMaxTokens,
		"stop_sequence": transcript.StopStopSequence, "pause_turn": transcript.StopPauseTurn,
		"refusal":                       transcript.StopRefusal,
		"model_context_window_exceeded": transcript.StopContextWindow, "compaction": transcript.StopCompaction,
	} {
		if r, err := parse(stream.Options{}, message(name)); err != nil || r.Message.StopReason != want {
			t.Errorf("%s: %s, %v", name, r.Message.StopReason, err)
		}
	}
	var anomaly *stream.AnomalyError
	if _, err := parse(
		stream.Options{}, message("new_reason"),
	); !errors.As(err, &anomaly) || anomaly.Anomaly.Rule != stream.RuleUnknownStop {
		t.Errorf("strict: %v", err)
	}
	if r, err := parse(
		stream.Options{Lenient: true}, message("new_reason"),
	); err != nil || r.Message.StopReason != "new_reason" {
		t.Errorf("lenient: %q, %v, want the provider's name kept", r.Message.StopReason, err)
	}
}

func TestContentInMessageStart(t *testing.T) {
	call := `{"type":"tool_use","id":"toolu_P","name":"f","input":{"a":1},"caller":{"type":"code_execution_20250825"}}`
	start := strings.Replace(
		head, `"content":[],"stop_reason":null`, `"content":[`+call+`],"stop_reason":"tool_use"`, 1,
	)
	r, err := parse(stream.Options{}, providertest.Events(start, finish))
	want := []transcript.Block{raw(transcript.ToolUse("toolu_P", "f", []byte(`{"a":1}`)), call)}
	if d := cmp.Diff(want, r.Message.Blocks); err != nil || d != "" || r.Message.StopReason != transcript.StopToolUse {
		t.Errorf("%v, %s\n%s", err, r.Message.StopReason, d)
	}
}

func TestStreamFailures(t *testing.T) {
	const open = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	const part = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Part"}}`
	var (
		failure    *stream.ProviderError
		incomplete *stream.IncompleteError
		anomaly    *stream.AnomalyError
	)
	for _, c := range []struct {
		name   string
		events []string
		as     any
		say    string
	}{
		{
			"error mid-stream",
			[]string{
				head, open, part,
				`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`,
			},
			&failure, "overloaded_error: Overloaded",
		},
		{"cut", []string{head, open, part}, &incomplete, "no message_stop"},
		{"no stop reason", []string{head, finish}, &incomplete, "no stop_reason"},
		{"open block at the end", []string{head, open, part, end("end_turn"), finish}, &incomplete, "1 blocks open"},
		{
			"second message", []string{head, end("end_turn"), finish, head, end("end_turn"), finish}, &incomplete,
			"second message_start",
		},
		{"no start", []string{open}, &anomaly, "missing_message_start"},
		{"event after the end", []string{head, end("end_turn"), finish, open}, &anomaly, "event_after_end"},
		{"no JSON", []string{head, `{"type":"message_delta"`}, &anomaly, "malformed_event"},
		{
			"delta that is no text",
			[]string{head, open, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":{}}}`},
			&anomaly, "malformed_event",
		},
		{
			"orphaned signature",
			[]string{
				head, `{"type":"content_block_delta","index":4,"delta":{"type":"signature_delta","signature":"x"}}`,
			},
			&anomaly, "orphaned_delta",
		},
		{
			"call without a name",
			[]string{
				head,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","input":{}}}`,
			},
			&anomaly, "malformed_block",
		},
		{
			"delta without an index",
			[]string{head, open, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`}, &anomaly,
			"malformed_event",
		},
	} {
		_, err := parse(stream.Options{}, providertest.Events(c.events...))
		if !errors.As(err, c.as) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.name, err, c.say)
		}
	}
}

func TestHarmless(t *testing.T) {
	body := message("end_turn", `{"type":"new_event","x":1}`)
	body = append(body, "data: [DONE]\n\n"...)
	r, err := parse(stream.Options{}, body)
	if err != nil || len(r.Anomalies) != 1 || r.Anomalies[0].Rule != stream.RuleUnknownEvent {
		t.Errorf("%v, %v; want an unknown event and [DONE] to pass", err, r.Anomalies)
	}
}

func TestCutServerCallKeepsItsBytes(t *testing.T) {
	start := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	r, err := parse(stream.Options{}, message("max_tokens",
		`{"type":"content_block_start","index":0,"content_block":`+start+`}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"que"}}`,
		`{"type":"content_block_stop","index":0}`))
	if b := r.Message.Blocks[0]; err != nil || string(b.Args) != `{"que` || string(b.Raw) != start {
		t.Errorf("%v, args %q, raw %s", err, b.Args, b.Raw)
	}
}

func TestReply(t *testing.T) {
	call := `{"type":"tool_use", "id":"toolu_1","name":"f","input":{ "a" : 1.0 },"caller":{"type":"direct"}}`
	think := `{"type":"thinking","thinking":"","signature":"E+/="}`
	body := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + think + "," + call +
		`],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
	r, err := Codec{}.ParseReply([]byte(body), stream.Options{})
	want := []transcript.Block{
		raw(thinking("", "E+/="), think), raw(transcript.ToolUse("toolu_1", "f", []byte(`{ "a" : 1.0 }`)), call),
	}
	if d := cmp.Diff(want, r.Message.Blocks); err != nil || d != "" || r.ResponseID != "msg_1" || r.Usage.Total() != 3 {
		t.Errorf("%v, %+v\n%s", err, r.Usage, d)
	}
}

func TestReplyFailures(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"error","error":{"type":"api_error","message":"boom"}}`: "api_error: boom",
		`{"id":"msg_1","content":[`:                                      "incomplete",
		``:                                                               "incomplete",
		`<html>`:                                                         "malformed_event",
		`{"type":"message","content":[],"stop_reason":null}`:                  "no stop_reason",
		`{"type":"message","content":[],"stop_reason":"x"}`:                   "unknown_stop_reason",
		`{"type":"message","content":[{"type":"text",}],"stop_reason":"end"}`: "malformed_event",
	} {
		if _, err := (Codec{}).ParseReply(
			[]byte(body), stream.Options{},
		); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

// TestUnknownDeltas holds that what this version does not know is kept and reported,
// and never ends a reply.
func TestUnknownDeltas(t *testing.T) {
	delta := func(body string) string { return `{"type":"content_block_delta","index":0,"delta":` + body + `}` }
	future := `{"type":"future_delta","note":"newer"}`
	for _, c := range []struct {
		name, start, raw, extra string
		deltas                  []string
		rules                   string
	}{
		{
			"in text", `{"type":"text","text":""}`, "", `{"unknown_deltas":[` + future + `,` + future + `]}`,
			[]string{`{"type":"text_delta","text":"a"}`, future, future}, stream.RuleUnknownDelta,
		},
		{
			"in thinking", `{"type":"thinking","thinking":"","signature":""}`, "",
			`{"unknown_deltas":[` + future + `]}`, []string{future, `{"type":"signature_delta","signature":"EjQK"}`},
			stream.RuleUnknownDelta,
		},
		{
			"in a new block", `{"type":"future_block", "note":"new"}`, `{"type":"future_block", "note":"new"}`,
			`{"unknown_deltas":[` + future + `]}`, []string{future},
			stream.RuleUnknownBlock + " " + stream.RuleUnknownDelta,
		},
		{
			"known ones in a new block", `{"type":"spoken","text":"a"}`,
			`{"type":"spoken","text":"ab","thinking":"c"}`, "",
			[]string{`{"type":"text_delta","text":"b"}`, `{"type":"thinking_delta","thinking":"c"}`},
			stream.RuleUnknownBlock,
		},
		{
			"in a search of the provider",
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, "", nil, "",
		},
	} {
		events := []string{`{"type":"content_block_start","index":0,"content_block":` + c.start + `}`}
		for _, d := range c.deltas {
			events = append(events, delta(d))
		}
		events = append(events, `{"type":"content_block_stop","index":0}`)
		r, err := parse(stream.Options{}, message("end_turn", events...))
		if err != nil || len(r.Message.Blocks) != 1 {
			t.Errorf("%s: %v %+v", c.name, err, r)
			continue
		}
		b := r.Message.Blocks[0]
		if string(b.Raw) != c.raw || b.Extra != c.extra {
			t.Errorf("%s: raw %s\nwant %s\nextra %s\nwant %s", c.name, b.Raw, c.raw, b.Extra, c.extra)
		}
		var rules []string
		for _, a := range r.Anomalies {
			if rules = append(rules, a.Rule); !a.Harmless {
				t.Errorf("%s: %+v ends a strict reply", c.name, a)
			}
		}
		if strings.Join(rules, " ") != c.rules {
			t.Errorf("%s: %+v", c.name, r.Anomalies)
		}
		again, err := json.Marshal(&r.Message)
		var back transcript.Message
		if err != nil || json.Unmarshal(again, &back) != nil || back.Blocks[0].Extra != c.extra {
			t.Errorf("%s: stored as %s", c.name, again)
		}
	}
}

func TestRepeatedMessageStart(t *testing.T) {
	body := message("end_turn")
	first, rest, _ := bytes.Cut(body, []byte("\n\n"))
	twice := slices.Concat(first, []byte("\n\n"), first, []byte("\n\n"), rest)
	if r, err := parse(stream.Options{}, twice); err != nil || len(r.Anomalies) != 1 {
		t.Errorf("%v %+v", err, r.Anomalies)
	}
	other := bytes.Replace(twice, []byte(`"id":"`), []byte(`"id":"other`), 1)
	if _, err := parse(stream.Options{}, other); err == nil {
		t.Error("two replies passed for one")
	}
}
