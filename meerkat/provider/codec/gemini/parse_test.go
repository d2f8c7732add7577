package gemini

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const tail = `"usageMetadata":{"promptTokenCount":88,"candidatesTokenCount":17,"totalTokenCount":149,"promptTokensDetails":[{"modality":"TEXT","tokenCount":88}],"thoughtsTokenCount":44,"toolUsePromptTokenCount":2},"modelVersion":"gemini-3-flash-preview","responseId":"R1"}`

// chunkOf is a chunk of the given parts.
func chunkOf(parts ...string) string {
	return `{"candidates": [{"content": {"parts": [` + strings.Join(parts, ",") + `],"role": "model"},"index": 0}],` +
		tail
}

// last is a chunk that ends the turn.
func last(reason string, parts ...string) string {
	return strings.Replace(chunkOf(parts...), `"role": "model"}`, `"role": "model"},"finishReason": "`+reason+`"`, 1)
}

func parse(opts stream.Options, chunks ...string) (stream.Reply, error) {
	p := Codec{}.NewParser(opts)
	_, _ = p.Write(providertest.Chunks(chunks...))
	return p.Close()
}

func thoughtSigned(b transcript.Block, signature, raw string) transcript.Block {
	if signature != "" {
		b.Meta = &transcript.Meta{Provider: transcript.MetaGemini, ThoughtSignature: signature}
	}
	b.Raw = []byte(raw)
	return b
}

func toolCall(id, name, args, signature, raw string) transcript.Block {
	return thoughtSigned(transcript.ToolUse(id, name, []byte(args)), signature, raw)
}

const (
	call1Part   = `{"functionCall":{"name":"read","args":{"b": 1.0,"a":12345678901234567890},"id":"22synth8"},"thoughtSignature":"Ej+/=="}`
	call2Part   = `{"functionCall":{"name":"list","args":{},"id":"q0"}}`
	call3Part   = `{"functionCall":{"name":"now","id":"q1"}}`
	signedPart  = `{"text":"The","thoughtSignature":"S1"}`
	emptyPart   = `{"text":"","thoughtSignature":"S2"}`
	barePart    = `{"thoughtSignature":"S3","thought":true}`
	thoughtPart = `{"text":"hm","thought":true,"thoughtSignature":"S4"}`
	codePart    = `{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"S5"}`
	resultPart  = `{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}`
	oddPart     = `{"text":"x","partMetadata":{"a":1}}`
	futurePart  = `{"holo_gram":{"a":1}}`
)

var streamCases = []struct {
	name   string
	chunks []string
	want   []transcript.Block
	stop   transcript.StopReason
}{
	{"thought, parallel calls, empty tail", []string{
		chunkOf(`{"text":"**Plan**","thought":true}`), chunkOf(`{"text":" go","thought":true}`), chunkOf(call1Part),
		chunkOf(call2Part, call3Part), last("STOP", `{"text":""}`),
	}, []transcript.Block{
		transcript.Reasoning("**Plan** go", nil),
		toolCall("22synth8", "read", `{"b": 1.0,"a":12345678901234567890}`, "Ej+/==", call1Part),
		toolCall("q0", "list", "{}", "", call2Part), toolCall("q1", "now", "{}", "", call3Part),
	}, transcript.StopToolUse},
	{"signature on the empty last part",
		[]string{chunkOf(`{"text":"is "}`), chunkOf(`{"text":"4\u00e9"}`), last("STOP", emptyPart)}, []transcript.Block{
			transcript.Text("is 4é"), thoughtSigned(transcript.Text(""), "S2", emptyPart),
		}, transcript.StopEndTurn},
	{"unsigned text after signed text",
		[]string{chunkOf(signedPart), chunkOf(`{"text":" end"}`), chunkOf(`{"text":"."}`), last("STOP")},
		[]transcript.Block{
			thoughtSigned(transcript.Text("The"), "S1", signedPart), transcript.Text(" end."),
		}, transcript.StopEndTurn},
	{"thought and text do not mix",
		[]string{
			chunkOf(`{"text":"a"}`, `{"text":"b","thought":true}`, `{"text":"c"}`, `{"text":""}`, `{"text":"d"}`),
			last("STOP"),
		}, []transcript.Block{
			transcript.Text("a"), transcript.Reasoning("b", nil), transcript.Text("cd"),
		}, transcript.StopEndTurn},
	{"signed thoughts, bare signatures",
		[]string{chunkOf(thoughtPart, barePart, `{}`, `{"thought":true}`), last("STOP")}, []transcript.Block{
			thoughtSigned(transcript.Reasoning("hm", nil), "S4", thoughtPart),
			thoughtSigned(transcript.Reasoning("", nil), "S3", barePart),
		}, transcript.StopEndTurn},
	{"other parts", []string{chunkOf(codePart, resultPart, oddPart, futurePart), last("STOP")}, []transcript.Block{
		thoughtSigned(transcript.Block{Type: transcript.BlockOpaque, Kind: "executableCode"}, "S5", codePart),
		{Type: transcript.BlockOpaque, Kind: "codeExecutionResult", Raw: []byte(resultPart)},
		thoughtSigned(transcript.Text("x"), "", oddPart),
		{Type: transcript.BlockOpaque, Kind: "holoGram", Raw: []byte(futurePart)},
	}, transcript.StopEndTurn},
	{
		"more after a finishReason",
		[]string{last("STOP", `{"text":"a"}`), chunkOf(`{"text":"b"}`), last("MAX_TOKENS", `{"text":"c"}`)},
		[]transcript.Block{transcript.Text("abc")}, transcript.StopMaxTokens,
	},
	{"snake case", []string{
		`{"candidates":[{"content":{"parts":[{"function_call":{"name":"f","args":{},"id":"i"},"thought_signature":"S"}]},"finish_reason":"STOP"}],"usage_metadata":{"prompt_token_count":1},"response_id":"R1"}`,
	}, []transcript.Block{toolCall(
		"i", "f", "{}", "S", `{"function_call":{"name":"f","args":{},"id":"i"},"thought_signature":"S"}`,
	)}, transcript.StopToolUse},
	{
		"enums as numbers", []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":1}]}`},
		[]transcript.Block{transcript.Text("a")}, transcript.StopEndTurn,
	},
	{"several candidates", []string{
		`{"candidates":[{"content":{"parts":[{"text":"b"}]},"index":1,"finishReason":"SAFETY"},{"content":{"parts":[{"text":"a"}]},"index":0,"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"c"}]},"index":1}]}`,
	}, []transcript.Block{transcript.Text("a")}, transcript.StopEndTurn},
	{"content without parts, candidate without content, no candidate", []string{
		`{"candidates":[{"content":{}}]}`, `{"candidates":[{"index":0}]}`, `{"usageMetadata":{}}`,
		`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`,
	}, []transcript.Block{}, transcript.StopEndTurn},
}

func TestStreamBlocks(t *testing.T) {
	for _, c := range streamCases {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(stream.Options{}, c.chunks...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, r.Message.Blocks); d != "" {
				t.Error(d)
			}
			unknown := strings.Contains(strings.Join(c.chunks, ""), futurePart)
			if r.Message.StopReason != c.stop || unknown != (len(r.Anomalies) == 1) || unknown &&
				r.Anomalies[0].Rule != stream.RuleUnknownBlock {
				t.Errorf(
					"stop %s, anomalies %v; want %s and those of unknown parts", r.Message.StopReason, r.Anomalies,
					c.stop,
				)
			}
		})
	}
}

func part(callJSON string) string { return `{"functionCall":` + callJSON + `}` }

func TestStreamedArguments(t *testing.T) {
	value := func(path, rest string) string { return `{"jsonPath":"` + path + `",` + rest + `}` }
	step := func(values ...string) string {
		return part(`{"partialArgs":[` + strings.Join(values, ",") + `],"willContinue":true}`)
	}
	begin := `{"functionCall":{"name":"cook","willContinue":true},"thoughtSignature":"S"}`
	for _, c := range []struct {
		name  string
		parts []string
		want  string
	}{
		{"nested", []string{begin,
			step(value("$.r.items[0].n", `"stringValue":"a\"\ud83d","willContinue":true`)),
			step(value("$.r.items[0].n", `"stringValue":"\ude00b","willContinue":true`)),
			step(value("$.r.items[0].n", `"stringValue":""`)), part(`{"willContinue":true}`),
			step(
				value("$.r.items[1].n", `"numberValue":0.50`), value("$.r.ok", `"boolValue":false`),
				value("$.r.none", `"nullValue":"NULL_VALUE"`),
			),
			step(value("$['odd name']", `"stringValue":"x"`)), part(`{}`),
		}, `{"r":{"items":[{"n":"a\"😀b"},{"n":0.50}],"ok":false,"none":null},"odd name":"x"}`},
		{
			"ended by its last value", []string{begin, part(`{"partialArgs":[{"jsonPath":"$.p","numberValue":1}]}`)},
			`{"p":1}`,
		},
		{"no value", []string{begin, part(`{}`)}, `{}`},
		{
			"all in one part", []string{part(`{"name":"cook","partialArgs":[{"jsonPath":"$.p","numberValue":1}]}`)},
			`{"p":1}`,
		},
		{"an end after the end", []string{part(`{"name":"cook","args":{"p":1}}`), part(`{}`)}, `{"p":1}`},
	} {
		var chunks []string
		for _, p := range c.parts {
			chunks = append(chunks, chunkOf(p))
		}
		r, err := parse(stream.Options{}, append(chunks, last("STOP"))...)
		if err != nil || len(r.Message.Blocks) != 1 {
			t.Errorf("%s: %v, %d blocks", c.name, err, len(r.Message.Blocks))
			continue
		}
		b := r.Message.Blocks[0]
		signed := strings.Contains(c.parts[0], "thoughtSignature")
		if string(b.Args) != c.want || b.Name != "cook" || (b.Meta != nil) != signed ||
			r.Message.StopReason != transcript.StopToolUse {
			t.Errorf("%s: %s, name %q, meta %v; want %s", c.name, b.Args, b.Name, b.Meta, c.want)
		}
	}
}

func TestStreamedArgumentsGoWrong(t *testing.T) {
	begin := chunkOf(`{"functionCall":{"name":"cook","willContinue":true}}`)
	step := func(value string) string { return chunkOf(part(`{"partialArgs":[` + value + `],"willContinue":true}`)) }
	for _, c := range []struct {
		name   string
		chunks []string
		say    string
	}{
		{"never ended", []string{begin, step(`{"jsonPath":"$.a","numberValue":1}`), last("STOP")}, "1 blocks open"},
		{"no call", []string{step(`{"jsonPath":"$.a","numberValue":1}`)}, "orphaned_delta"},
		{"interrupted", []string{begin, begin}, "unfinished_call"},
		{"interrupted by a whole call", []string{begin, chunkOf(part(`{"name":"f","args":{}}`))}, "unfinished_call"},
		{
			"value twice",
			[]string{begin, step(`{"jsonPath":"$.a","numberValue":1}`), step(`{"jsonPath":"$.a","numberValue":2}`)},
			"gives a value twice",
		},
		{
			"through a value",
			[]string{begin, step(`{"jsonPath":"$.a","numberValue":1}`), step(`{"jsonPath":"$.a.b","numberValue":2}`)},
			"another kind",
		},
		{"index out of order", []string{begin, step(`{"jsonPath":"$.a[7]","numberValue":1}`)}, "skips an index"},
		{"huge index", []string{begin, step(`{"jsonPath":"$[99999999999999999999]","numberValue":1}`)}, "not a number"},
		{
			"too deep", []string{begin, step(`{"jsonPath":"$` + strings.Repeat(".a", 100) + `","numberValue":1}`)},
			"too deep",
		},
		{"no path", []string{begin, step(`{"numberValue":1}`)}, "does not begin with $"},
		{"odd path", []string{begin, step(`{"jsonPath":"$a","numberValue":1}`)}, "neither .name nor [index]"},
	} {
		if _, err := parse(stream.Options{}, c.chunks...); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.name, err, c.say)
		}
	}
}

func TestSynthesisedIDs(t *testing.T) {
	ids := func(opts stream.Options, chunks ...string) (out []string) {
		r, err := parse(opts, chunks...)
		if err != nil {
			t.Fatal(err)
		}
		for c := range r.Message.ToolCalls() {
			out = append(out, c.ID)
		}
		return out
	}
	f := part(`{"name":"f","args":{}}`)
	in := func(id string) string { return strings.Replace(last("STOP", f, f), `"R1"`, id, 1) }
	anonymous := `{"candidates":[{"content":{"parts":[` + f + `]},"finishReason":"STOP"}]}`
	first, again, other := ids(stream.Options{}, in(`"R1"`)), ids(stream.Options{}, in(`"R1"`)),
		ids(stream.Options{}, in(`"R2"`))
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("two readings give different ids: %s", d)
	}
	all := slices.Concat(first, other)
	all = append(all, ids(stream.Options{IDSeed: "a"}, anonymous)...)
	all = append(all, ids(stream.Options{IDSeed: "b"}, anonymous)...)
	seen := map[string]bool{}
	for _, id := range all {
		if seen[id] || !strings.HasPrefix(id, synthesised) || len(id) > 64 {
			t.Errorf("%q is not unique or too long, among %q", id, all)
		}
		seen[id] = true
	}
}

func TestHeadAndEnd(t *testing.T) {
	r, err := parse(
		stream.Options{},
		`{"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":7},"modelVersion":"m","responseId":"R0"}`,
		last("STOP"), `{"usageMetadata":{"trafficType":"ON_DEMAND"}}`,
	)
	want := stream.Reply{
		Message: transcript.Message{
			Role: transcript.RoleAssistant, Blocks: []transcript.Block{}, StopReason: transcript.StopEndTurn,
		},
		Usage: transcript.Usage{InputTokens: 90, OutputTokens: 61}, UsageKnown: true, ResponseID: "R1",
		Model: "gemini-3-flash-preview",
	}
	if d := cmp.Diff(want, r); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestStopReasons(t *testing.T) {
	for name, want := range stopReasons {
		chunk := last(name)
		if name[0] <= '9' {
			chunk = strings.Replace(chunk, `"`+name+`"`, name, 1)
		}
		if r, err := parse(stream.Options{}, chunk); err != nil || r.Message.StopReason != want {
			t.Errorf("%s: %s, %v; want %s", name, r.Message.StopReason, err, want)
		}
	}
	for _, name := range []string{"NEW_REASON", "FINISH_REASON_UNSPECIFIED", "CONTINUATION"} {
		var anomaly *stream.AnomalyError
		if _, err := parse(stream.Options{}, last(name)); !errors.As(err, &anomaly) ||
			anomaly.Anomaly.Rule != stream.RuleUnknownStop {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := parse(
			stream.Options{Lenient: true}, last(name),
		); err != nil || string(r.Message.StopReason) != name {
			t.Errorf("%s lenient: %q, %v", name, r.Message.StopReason, err)
		}
	}
	if r, err := parse(stream.Options{}, last(
		"MAX_TOKENS", part(`{"name":"f","args":{}}`),
	)); err != nil || r.Message.StopReason != transcript.StopMaxTokens {
		t.Errorf("a call in a truncated turn: %s, %v", r.Message.StopReason, err)
	}
}

func TestBlockedPrompt(t *testing.T) {
	r, err := parse(
		stream.Options{},
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`,
	)
	if err != nil || r.Message.StopReason != transcript.StopContentFilter || r.Usage.InputTokens != 9 {
		t.Errorf("%s, %+v, %v", r.Message.StopReason, r.Usage, err)
	}
	var incomplete *stream.IncompleteError
	if _, err := parse(stream.Options{}, `{"promptFeedback":{"safetyRatings":[]}}`); !errors.As(err, &incomplete) {
		t.Errorf("feedback without a blockReason: %v", err)
	}
}

// TestOtherFramings: the same chunks as a JSON array or a single body.
func TestOtherFramings(t *testing.T) {
	chunks := []string{chunkOf(`{"text":"a"}`), last("STOP", `{"text":"b"}`)}
	want := func() providertest.Outcome {
		r, err := parse(stream.Options{}, last("STOP", `{"text":"ab"}`))
		return providertest.OutcomeOf(r, err)
	}()
	for name, body := range map[string]string{
		"array":  "[" + strings.Join(chunks, ",\r\n") + "\n]\n",
		"pretty": "\ufeff [\n" + strings.Join(chunks, "\n,\n") + "]",
		"LF":     "data: " + strings.Join(chunks, "\n\ndata:") + "\n\n", "object": last("STOP", `{"text":"ab"}`),
	} {
		if got := providertest.Parse((Codec{}).NewParser(stream.Options{}), []byte(body)); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if got := providertest.Parse((Codec{}).NewParser(stream.Options{}), providertest.Bytes([]byte(body))...); got != want {
			t.Errorf("%s byte by byte: %s", name, got)
		}
	}
	r, err := Codec{}.ParseReply([]byte(last("STOP", `{"text":"ab"}`)), stream.Options{})
	if got := providertest.OutcomeOf(r, err); got != want {
		t.Errorf("Codec{}.ParseReply: %s", got)
	}
}

func TestFailures(t *testing.T) {
	status := `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	for body, want := range map[string]string{
		status:                               "UNAVAILABLE: The model is overloaded.",
		"[" + status + "]":                   "UNAVAILABLE: The model is overloaded.",
		"[" + chunkOf() + "," + status + "]": "UNAVAILABLE",
		"data: " + chunkOf() + "\n\ndata: " + status + "\n\n": "UNAVAILABLE",
		"data: " + chunkOf(`{"text":"a"}`) + "\n\n":           "no finishReason",
		"[" + last("STOP"):             "unterminated_event",
		"[" + chunkOf():                "no finishReason; unterminated_event",
		"":                             "no event in 0 bytes",
		"<html>\n\n":                   "no event in 8 bytes",
		"[1]":                          "malformed_event",
		"{}x":                          "malformed_event",
		"data: {\"candidates\":[}\n\n": "malformed_event",
	} {
		_, err := func() (stream.Reply, error) {
			p := Codec{}.NewParser(stream.Options{})
			_, _ = p.Write([]byte(body))
			return p.Close()
		}()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", body, err, want)
		}
	}
	if _, err := (Codec{}).ParseReply(
		[]byte(status), stream.Options{},
	); err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
		t.Errorf("Codec{}.ParseReply: %v", err)
	}
	if _, err := (Codec{}).ParseReply(
		[]byte(`{"candidates":[{`), stream.Options{},
	); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("Codec{}.ParseReply of a cut body: %v", err)
	}
}

// TestLongLines: images arrive on one line; the limit names its option.
func TestLongLines(t *testing.T) {
	big := chunkOf(`{"inlineData":{"mimeType":"image/png","data":"` + strings.Repeat("A", 17<<20) + `"}}`)
	if r, err := parse(stream.Options{}, big, last("STOP")); err != nil || len(r.Message.Blocks[0].Raw) < 17<<20 {
		t.Errorf("a line of 17 MiB: %v", err)
	}
	var long *stream.LineTooLongError
	for _, body := range [][]byte{
		providertest.Chunks(chunkOf(`{"text":"a"}`), big), []byte("[" + chunkOf(`{"text":"a"}`) + "," + big + "]"),
	} {
		p := Codec{}.NewParser(stream.Options{MaxLine: 1 << 20})
		_, _ = p.Write(body)
		r, err := p.Close()
		if !errors.As(err, &long) || !strings.Contains(err.Error(), "MaxLine") || len(r.Message.Blocks) != 1 {
			t.Errorf("over the limit: %v, %d blocks, want the text before it", err, len(r.Message.Blocks))
		}
	}
}
