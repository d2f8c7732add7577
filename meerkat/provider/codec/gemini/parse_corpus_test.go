package gemini

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

const (
	googleai = "vertexai-sdk-test-data__googleai."
	vertexai = "vertexai-sdk-test-data__vertexai."
	mocks    = "deprecated-generative-ai-js__test-utils.mock-responses."
)

// flawed lists the recordings that strict mode refuses, with the words of the
// refusal. Most are fixtures that an SDK's authors cut or edited on purpose;
// lenient marks those that lenient mode reads.
var flawed = map[string]struct {
	say     string
	lenient bool
}{
	// The last event has no blank line after it.
	googleai + "streaming-failure-prompt-blocked-safety/01":              {"unterminated_event", true},
	googleai + "streaming-success-finish-message/01":                     {"unterminated_event", true},
	googleai + "streaming-success-no-content-parts/01":                   {"unterminated_event", true},
	vertexai + "streaming-failure-prompt-blocked-safety-with-message/01": {"unterminated_event", true},
	vertexai + "streaming-success-quotes-escaped/01":                     {"no finishReason; unterminated_event", false},
	// No finishReason ever came.
	vertexai + "streaming-failure-empty-content/01":     {"no finishReason", false},
	vertexai + "streaming-failure-malformed-content/01": {"no finishReason", false},
	// The API broke the stream off with a bare error object.
	vertexai + "streaming-failure-error-mid-stream/01": {"provider reported CANCELLED", false},
	// Bodies without a finishReason: fixtures shortened by hand.
	mocks + "unary-success-basic-reply-long/01":          {"no finishReason", false},
	mocks + "unary-success-basic-reply-short/01":         {"no finishReason", false},
	mocks + "unary-unknown-enum/01":                      {"no finishReason", false},
	vertexai + "unary-failure-empty-content/01":          {"no finishReason", false},
	vertexai + "unary-failure-malformed-content/01":      {"no finishReason", false},
	vertexai + "unary-success-missing-safety-ratings/01": {"no finishReason", false},
	googleai + "unary-failure-only-prompt-feedback/01":   {"no finishReason", false},
	// A speech model that sent its audio and no finishReason.
	"prism__Fixtures.gemini.tts-flash-1-1/01": {"no finishReason", false},
	// JSON of another kind.
	vertexai + "streaming-failure-invalid-json/01": {"no finishReason", false},
	vertexai + "unary-failure-invalid-response/01": {"no finishReason", false},
	// Invented enum values, which must not pass for a normal end.
	vertexai + "streaming-failure-unknown-finish-enum/01":    {`finishReason "FAKE_ENUM"`, true},
	vertexai + "unary-failure-unknown-enum-finish-reason/01": {`finishReason "FAKE_NEW_FINISH_REASON"`, true},
}

// TestCorpus: every recorded stream and body decodes, both paths and all splits
// agree, and the blocks are those of a plain encoding/json reading.
func TestCorpus(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	streams, replies, blocks := 0, 0, 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status != 200 {
			continue
		}
		outcome := string(paths.Check(t, e.Body, rng))
		want, isFlawed := flawed[e.Name]
		if strings.HasSuffix(outcome, "error <nil>\n") == isFlawed || !strings.Contains(outcome, want.say) {
			t.Errorf("%s: %s", e.Name, outcome[strings.LastIndex(outcome, "error"):])
		}
		p := Codec{}.NewParser(stream.Options{Lenient: true})
		_, _ = p.Write(e.Body)
		r, err := p.Close()
		if (err == nil) != (!isFlawed || want.lenient) {
			t.Errorf("%s: lenient: %v", e.Name, err)
		}
		blocks += len(r.Message.Blocks)
		if d := cmp.Diff(plainly(t, e.Body), flatten(r.Message.Blocks)); d != "" {
			t.Errorf("%s:\n%s", e.Name, d)
		}
		if e.Streamed() {
			streams++
			continue
		}
		replies++
		whole, wholeErr := Codec{}.ParseReply(e.Body, stream.Options{Lenient: true})
		if d := cmp.Diff(providertest.OutcomeOf(r, err), providertest.OutcomeOf(whole, wholeErr)); d != "" {
			t.Errorf("%s: the parser and Codec{}.ParseReply differ\n%s", e.Name, d)
		}
	}
	t.Logf("%d streams, %d whole replies, %d blocks", streams, replies, blocks)
}

// flat is what two independent readings of a block must share.
type flat struct {
	Kind, Text, Name, Args, Signature string
}

func flatten(blocks []transcript.Block) []flat {
	out := []flat{}
	for _, b := range blocks {
		f := flat{Kind: string(b.Type), Text: b.Text, Name: b.Name, Args: normal(b.Args)}
		if b.Type == transcript.BlockOpaque {
			f = flat{Kind: b.Kind}
		}
		if b.Meta != nil {
			f.Signature = b.Meta.ThoughtSignature
		}
		out = append(out, f)
	}
	return out
}

// normal returns JSON without spelling: keys sorted, no white space.
func normal(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "no JSON: " + string(raw)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// response is a chunk as encoding/json sees it.
type response struct {
	Candidates []struct {
		Index   int
		Content struct{ Parts []map[string]any }
	}
}

// plainly decodes a reply with encoding/json in the most obvious way: it shares
// no code with the parser.
func plainly(t *testing.T, body []byte) []flat {
	t.Helper()
	var chunks []response
	text := strings.TrimSpace(string(body))
	switch text[0] {
	case '[':
		if err := json.Unmarshal([]byte(text), &chunks); err != nil {
			t.Fatal(err)
		}
	case '{':
		chunks = make([]response, 1)
		_ = json.Unmarshal([]byte(text), &chunks[0]) // what is cut has no parts
	default:
		for _, event := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
			var c response
			if _, data, found := strings.Cut(event, "data: "); found && json.Unmarshal([]byte(data), &c) == nil {
				chunks = append(chunks, c)
			}
		}
	}
	p := plain{out: []flat{}}
	for _, c := range chunks {
		for _, candidate := range c.Candidates {
			for _, part := range candidate.Content.Parts {
				if candidate.Index == 0 {
					p.part(part)
				}
			}
		}
	}
	return p.out
}

// plain gathers parts. merge says that the last block is unsigned text, which
// may go on; args are the arguments under way.
type plain struct {
	out   []flat
	merge bool
	args  map[string]any
}

func (p *plain) part(m map[string]any) {
	s := func(name string) string { v, _ := m[name].(string); return v }
	f := flat{Kind: "text", Text: s("text"), Signature: s("thoughtSignature")}
	if m["thought"] == true {
		f.Kind = "reasoning"
	}
	call, isCall := m["functionCall"].(map[string]any)
	_, isText := m["text"]
	switch {
	case isCall:
		p.call(call, f.Signature)
	case !isText && f.Signature == "":
		for kind := range m {
			p.out, p.merge = append(p.out, flat{Kind: kind}), false
		}
	case !isText:
		delete(m, "thoughtSignature")
		for kind := range m {
			f.Kind = kind
		}
		p.out, p.merge = append(p.out, f), false
	case f.Signature != "":
		p.out, p.merge = append(p.out, f), false
	case f.Text == "":
	case p.merge && p.out[len(p.out)-1].Kind == f.Kind:
		p.out[len(p.out)-1].Text += f.Text
	default:
		p.out, p.merge = append(p.out, f), true
	}
}

func (p *plain) call(call map[string]any, signature string) {
	if name, ok := call["name"].(string); ok {
		p.args = map[string]any{}
		if args, ok := call["args"].(map[string]any); ok {
			p.args = args
		}
		p.out, p.merge = append(p.out, flat{Kind: "tool_use", Name: name, Signature: signature}), false
	}
	values, _ := call["partialArgs"].([]any)
	for _, v := range values {
		put(p.args, v.(map[string]any))
	}
	args, _ := json.Marshal(p.args)
	p.out[len(p.out)-1].Args = string(args)
}

// put sets one value of partialArgs; paths are as simple as the recordings
// have them.
func put(at map[string]any, value map[string]any) {
	path := strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(value["jsonPath"].(string), "$."))
	set(at, strings.Split(path, "."), value)
}

func set(at any, names []string, value map[string]any) any {
	if len(names) == 0 {
		if s, ok := value["stringValue"].(string); ok {
			old, _ := at.(string)
			return old + s
		}
		for _, name := range []string{"numberValue", "boolValue"} {
			if v, ok := value[name]; ok {
				return v
			}
		}
		return nil
	}
	var i int
	if json.Unmarshal([]byte(names[0]), &i) == nil {
		list, _ := at.([]any)
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = set(list[i], names[1:], value)
		return list
	}
	m, _ := at.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	m[names[0]] = set(m[names[0]], names[1:], value)
	return m
}

// TestCorpusArrays: a whole reply as the only element of an array, and a stream
// rewritten as an array, give the same outcome.
func TestCorpusArrays(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status != 200 || flawed[e.Name].say != "" {
			continue
		}
		elements := []string{string(e.Body)}
		if e.Streamed() {
			elements = nil
			for _, p := range providertest.Payloads(e.Body) {
				elements = append(elements, string(p))
			}
		}
		if len(elements) == 0 {
			continue // it is an array
		}
		n++
		elements = oneLine(elements)
		r, err := parse(stream.Options{}, elements...)
		p := Codec{}.NewParser(stream.Options{})
		_, _ = p.Write([]byte("[" + strings.Join(elements, ",\r\n") + "]"))
		again, againErr := p.Close()
		if d := cmp.Diff(r.Message, again.Message); d != "" || err != nil || againErr != nil {
			t.Errorf("%s: %v, %v\n%s", e.Name, err, againErr, d)
		}
	}
	t.Logf("%d replies", n)
}

// oneLine puts every element on one line, as an event has it.
func oneLine(elements []string) []string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(e)
	}
	return out
}

// TestEverySplit cuts the seeds and short recordings at every byte.
func TestEverySplit(t *testing.T) {
	for _, s := range seeds {
		paths.CheckEverySplit(t, s)
	}
	n := 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status == 200 && e.Streamed() && len(e.Body) < 3000 && n < 8 {
			n++
			paths.CheckEverySplit(t, e.Body)
		}
	}
}
