package providertest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// renderBody returns the body that codec renders for req.
func renderBody(codec provider.Codec, req *provider.Request, m catalog.Entry) ([]byte, error) {
	rendered, err := codec.Render(req, m)
	if err != nil {
		return nil, err
	}
	return rendered.Body, nil
}

// testGoldenBodies compares whole bodies with the files in testdata.
func (s codecSuite) testGoldenBodies(t *testing.T) {
	for _, c := range conversations() {
		t.Run(c.Name, func(t *testing.T) {
			body := s.Render(t, provider.Request{System: c.System, Messages: c.Messages, Tools: toolDefs()})
			if !json.Valid([]byte(body)) {
				t.Fatalf("not JSON: %s", body)
			}
			goldenFile(t, s.providerName()+"/testdata/"+c.Name+".json", []byte(body))
		})
	}
}

func (s codecSuite) testParameters(t *testing.T) {
	for name, c := range s.Parameters {
		body := s.Render(t, c.Request)
		if !json.Valid([]byte(body)) || !strings.Contains(body, c.Want) || c.Not != "" &&
			strings.Contains(body, c.Not) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// sharedRefusals are requests that no codec renders.
func sharedRefusals() map[string]refusalCase {
	user, notANumber := transcript.User("x"), math.NaN()
	messages := func(all ...transcript.Message) provider.Request { return provider.Request{Messages: all} }
	return map[string]refusalCase{
		"effort":          {provider.Request{Effort: "enormous"}, `effort: "enormous" is not offered by`},
		"negative output": {provider.Request{MaxOutputTokens: -1}, "max output tokens: -1 is outside"},
		"temperature":     {provider.Request{Temperature: &notANumber}, "temperature: it is not a number"},
		"output schema": {
			provider.Request{OutputSchema: []byte(`[1]`)}, "output schema: it is not a JSON object",
		},
		"cache TTL": {provider.Request{CacheTTL: "1d"}, `cache TTL: "1d" is not offered`},
		"tool twice": {
			provider.Request{Tools: []transcript.ToolDef{{Name: "a"}, {Name: "a"}}}, "tool a: it is defined twice",
		},
		"tool schema": {
			provider.Request{Tools: []transcript.ToolDef{{Name: "a", InputSchema: []byte(`{`)}}},
			"tool a: its input schema",
		},
		"choice of no tool": {
			provider.Request{ToolChoice: "x", Tools: toolDefs()}, `tool choice: "x" is not a tool`,
		},
		"any without tools": {provider.Request{ToolChoice: "any"}, "tool choice: any needs tools"},
		"nothing to send":   {messages(transcript.System("x")), "messages: there is nothing to send"},
		"call without result": {
			messages(user, transcript.Assistant("", transcript.ToolUse("a", "t", nil))),
			`messages[1]: tool call "a" has no result`,
		},
		"result without a call": {
			messages(user, transcript.ToolResults(transcript.ToolResult{ToolUseID: "a"})),
			`messages[1]: tool call "a" is answered here`,
		},
		"empty prompt": {messages(user, transcript.User("")), "messages[1]: it has no text"},
	}
}

func (s codecSuite) testRefusals(t *testing.T) {
	for _, cases := range []map[string]refusalCase{sharedRefusals(), s.Refusals} {
		for name, c := range cases {
			if _, err := s.tryRender(t, c.Request); err == nil || !strings.HasPrefix(err.Error(), c.Want) {
				t.Errorf("%s: got %v, want %s", name, err, c.Want)
			}
		}
	}
}

// testRenderedBytes: the same request gives the same bytes, arguments keep
// theirs, and a shorter conversation is the beginning of the longer one.
func (s codecSuite) testRenderedBytes(t *testing.T) {
	m := s.Entry(t, s.StableModel)
	rapid.Check(t, func(t *rapid.T) {
		req := &provider.Request{Model: m.Model, Messages: messagesOf(t), Tools: toolDefs()}
		body, err := renderBody(s.Codec, req, m)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := renderBody(s.Codec, req, m); !bytes.Equal(body, again) {
			t.Fatal("two renderings differ")
		}
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
		s.checkArguments(t, req, body)
		if s.CheckBody != nil {
			s.CheckBody(t, body)
		}
		s.checkPrefixes(t, req, m, body)
	})
}

func (s codecSuite) checkArguments(t *rapid.T, req *provider.Request, body []byte) {
	for _, msg := range req.Messages {
		for c := range msg.ToolCalls() {
			var w jsontok.Writer
			switch {
			case len(c.Args) == 0:
				continue
			case s.Codec.Provider().Traits.StringArguments:
				w.Str(string(c.Args))
			case jsontok.IsObject(c.Args):
				w.Raw(c.Args)
			default:
				continue
			}
			if !bytes.Contains(body, append([]byte(`"`+s.Arguments+`":`), w.Bytes()...)) {
				t.Fatalf("arguments %q are not in %s", c.Args, body)
			}
		}
	}
}

func (s codecSuite) checkPrefixes(t *rapid.T, req *provider.Request, m catalog.Entry, body []byte) {
	for n := len(req.Messages) - 1; n > 0; n-- {
		if last := req.Messages[n-1]; last.HasToolCalls() || last.Role == transcript.RoleAssistant && !m.Prefill {
			continue
		}
		part := *req
		part.Messages = req.Messages[:n]
		prefix, err := renderBody(s.Codec, &part, m)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(body, bytes.TrimSuffix(prefix, []byte("]}"))) {
			t.Fatalf("the first %d messages changed:\n%s\n%s", n, prefix, body)
		}
	}
}

// testAnyMessages: whatever the messages, the result is JSON or a known error.
func (s codecSuite) testAnyMessages(t *testing.T) {
	m := s.Entry(t, s.Model)
	rapid.Check(t, func(t *rapid.T) {
		body, err := renderBody(s.Codec, &provider.Request{Model: m.Model, Messages: anyBlock(t)}, m)
		var (
			pair    *provider.PairError
			message *provider.MessageError
			request *provider.RequestError
		)
		if err != nil && !errors.As(err, &pair) && !errors.As(err, &message) && !errors.As(err, &request) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
	})
}
