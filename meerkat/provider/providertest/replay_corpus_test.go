package providertest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// codec is what the test needs of a provider package, and the JSON members
// that hold its continuity tokens.
type codec struct {
	provider.Codec
	tokens []string
}

var codecs = map[string]codec{
	"anthropic": {anthropic.Codec{}, []string{"signature", "data", "encrypted_content", "encrypted_stdout"}},
	"openai":    {openai.Codec{}, []string{"encrypted_content"}},
	"gemini":    {gemini.Codec{}, []string{"thoughtSignature", "thought_signature"}},
}

// exceptions names the edges whose recorded client did not replay what it got,
// and what it did instead. Ours must still hold every token that theirs holds.
var exceptions = map[string]string{
	"ellmer__anthropic-web-search 1>2": "the client drops a signed thinking block because its text is empty (R6)",
	"ellmer__anthropic-web-search 1>3": "as 1>2",
	"ruby_llm__chat_function_calling_vertexai_gemini-2_5-flash_can_handle_multiple_tool_calls_in_a_single_response 1>2": "the client copies the first call's signature to the second (only the first has one)",
	"ruby_llm__chat_function_calling_gemini_gemini-2_5-flash_can_use_parallel_tool_calls 1>2":                           "as the case before",
	"ruby_llm__chat_function_calling_vertexai_gemini-2_5-flash_can_use_parallel_tool_calls 1>2":                         "as the case before",
}

// edge says that request j of a case carries count tokens of response i.
type edge struct{ i, j, count int }

// TestReplayedTokens holds rendering against what recorded clients sent: for
// every recorded reply whose continuity tokens came back in a later request,
// our request for the same reply carries the same tokens in the same order.
func TestReplayedTokens(t *testing.T) {
	for name, c := range codecs {
		t.Run(name, func(t *testing.T) {
			exchanges := map[string]providertest.Exchange{}
			for _, e := range providertest.Corpus(t, name) {
				exchanges[e.Name] = e
			}
			edges := 0
			for dir, all := range replayEdges(t, name) {
				for _, e := range all {
					from, to := exchanges[fmt.Sprintf("%s/%02d", dir, e.i)], exchanges[fmt.Sprintf("%s/%02d", dir, e.j)]
					edges++
					checkEdge(t, c, fmt.Sprintf("%s %d>%d", dir, e.i, e.j), from, to)
				}
			}
			t.Logf("%d edges", edges)
		})
	}
}

func replayEdges(t *testing.T, name string) map[string][]edge {
	t.Helper()
	edges := map[string][]edge{}
	for _, f := range corpus.Files(t, name+"/*/meta.json") {
		var meta struct {
			Edges [][3]int `json:"signature_replay_edges"`
		}
		b, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(b, &meta)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range meta.Edges {
			dir := filepath.Base(filepath.Dir(f))
			edges[dir] = append(edges[dir], edge{e[0], e[1], e[2]})
		}
	}
	return edges
}

func checkEdge(t *testing.T, c codec, name string, from, to providertest.Exchange) {
	t.Helper()
	issued := tokensIn(payloads(from.Body), c.tokens)
	sent := slices.DeleteFunc(
		tokensIn([][]byte{to.Request}, c.tokens), func(s string) bool { return !slices.Contains(issued, s) },
	)
	got, err := replayed(c, from, to)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if len(sent) == 0 {
		t.Errorf("%s: the client sent no token of this reply", name)
	}
	reason, excepted := exceptions[name]
	switch same := slices.Equal(got, sent); {
	case excepted && same:
		t.Errorf("%s: no exception any more: %s", name, reason)
	case excepted && !inOrder(slices.Compact(sent), got):
		t.Errorf("%s: lost a token that the client sent", name)
	case excepted:
		t.Logf("%s: differs: %s", name, reason)
	case !same:
		t.Errorf("%s: rendered %d tokens, the client sent %d:\n%.60q\n%.60q", name, len(got), len(sent), got, sent)
	}
}

// inOrder reports whether all of part occurs in whole, in its order.
func inOrder(part, whole []string) bool {
	for _, s := range whole {
		if len(part) > 0 && s == part[0] {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// replayed decodes a response, renders it into a request to the model that
// the recorded client asked next, and returns the request's tokens.
func replayed(c codec, from, to providertest.Exchange) ([]string, error) {
	m := entryOf(to)
	reply, err := decode(c, from, stream.Options{Lenient: true, Origin: entryOrigin(m)})
	if err != nil {
		return nil, err
	}
	body, err := renderBody(c, nextRequest(m, reply.Message), m)
	return tokensIn([][]byte{body}, c.tokens), err
}

func entryOrigin(m catalog.Entry) *transcript.Origin {
	return &transcript.Origin{Provider: m.Provider, Model: m.Model}
}

// entryOf returns the entry of the model a request asks for, listed or not,
// and that of a plain reasoning model for a compatible server behind the
// provider's API.
func entryOf(e providertest.Exchange) catalog.Entry {
	model := modelOf(e)
	m, err := catalog.Unlisted(model)
	if err != nil || m.Provider != e.Provider {
		m, _ = catalog.Unlisted(
			map[string]string{
				"anthropic": "claude-sonnet-4-0", "openai": "gpt-5", "gemini": "gemini-2.5-pro",
			}[e.Provider],
		)
		m.Model, m.Base = model, model
	}
	return m
}

// nextRequest is the request that follows a reply: its calls are answered and
// the user goes on.
func nextRequest(m catalog.Entry, reply transcript.Message) *provider.Request {
	messages := []transcript.Message{transcript.User("x"), reply}
	var results []transcript.ToolResult
	for call := range reply.ToolCalls() {
		results = append(results, transcript.ToolResult{ToolUseID: call.ID, Content: "r"})
	}
	if results != nil {
		messages = append(messages, transcript.ToolResults(results...))
	}
	return &provider.Request{Model: m.Model, Messages: append(messages, transcript.User("x"))}
}

// TestEveryReplyRenders sends each recorded reply that decodes back: it must
// render to JSON with its arguments verbatim, and to the same bytes after it
// was stored and read again.
func TestEveryReplyRenders(t *testing.T) {
	for name, c := range codecs {
		t.Run(name, func(t *testing.T) {
			rendered := 0
			for _, e := range providertest.Corpus(t, name) {
				m := entryOf(e)
				reply, err := decode(c, e, stream.Options{Origin: entryOrigin(m)})
				if err != nil || e.Status != 200 || len(reply.Message.Blocks) == 0 {
					continue
				}
				rendered++
				checkRendered(t, c, e.Name, m, reply.Message)
			}
			if t.Logf("%d replies", rendered); rendered < 300 {
				t.Error("too few to prove anything")
			}
		})
	}
}

func checkRendered(t *testing.T, c codec, name string, m catalog.Entry, reply transcript.Message) {
	t.Helper()
	body, err := renderBody(c, nextRequest(m, reply), m)
	if err != nil || !json.Valid(body) {
		t.Errorf("%s: %v: %s", name, err, body)
		return
	}
	for call := range reply.ToolCalls() {
		args := call.Args
		if m.Provider == catalog.OpenAI { // a string there
			args, _ = json.Marshal(string(args))
			args = bytes.Trim(args, `"`)
		}
		// A Gemini call may lack arguments altogether and goes back without.
		if len(call.Args) > 0 && string(call.Args) != "{}" && !bytes.Contains(body, args) {
			t.Errorf("%s: arguments %s are not in %s", name, args, body)
		}
	}
	stored, err := json.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	var read transcript.Message
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if again, err := renderBody(c, nextRequest(m, read), m); err != nil || !bytes.Equal(again, body) {
		t.Errorf("%s: stored and read again, %v:\n%s\n%s", name, err, body, again)
	}
}

func decode(c codec, e providertest.Exchange, opts stream.Options) (stream.Reply, error) {
	if !e.Streamed() {
		return c.ParseReply(e.Body, opts)
	}
	p := c.NewParser(opts)
	_, _ = p.Write(e.Body) // Close repeats its error
	return p.Close()
}

// modelOf reads the model a request asks for.
func modelOf(e providertest.Exchange) string {
	if _, rest, ok := strings.Cut(e.URL, "/models/"); ok {
		model, _, _ := strings.Cut(rest, ":")
		return model
	}
	var body struct{ Model string }
	_ = json.Unmarshal(e.Request, &body)
	return body.Model
}

// payloads returns the JSON texts of a response: the data lines of an event
// stream or the body itself. It shares nothing with the decoders under test.
func payloads(body []byte) [][]byte {
	text := bytes.TrimSpace(body)
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return [][]byte{text}
	}
	var all [][]byte
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			all = append(all, bytes.TrimSpace(data))
		}
	}
	return all
}

// tokensIn walks JSON texts and returns the non-empty strings of the named
// members in order, base64 of either alphabet as its bytes.
func tokensIn(texts [][]byte, names []string) []string {
	var tokens []string
	for _, text := range texts {
		dec := json.NewDecoder(bytes.NewReader(text))
		walk(dec, "", func(name, value string) {
			if value != "" && slices.Contains(names, name) {
				tokens = append(tokens, plain(value))
			}
		})
	}
	return tokens
}

func plain(token string) string {
	std := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(token), "=")
	if b, err := base64.RawStdEncoding.DecodeString(std); err == nil {
		return string(b)
	}
	return token
}

// walk calls f with every string member of the next value.
func walk(dec *json.Decoder, name string, f func(name, value string)) bool {
	tok, err := dec.Token()
	if err != nil {
		return false
	}
	switch v := tok.(type) {
	case string:
		f(name, v)
	case json.Delim:
		for dec.More() {
			member := name
			if v == '{' {
				key, err := dec.Token()
				if err != nil {
					return false
				}
				member, _ = key.(string)
			}
			if !walk(dec, member, f) {
				return false
			}
		}
		_, _ = dec.Token()
	}
	return true
}
