package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestOutputSchema: each provider is asked in its own way, byte for byte, and
// OpenAI strictly only where the schema allows it.
func TestOutputSchema(t *testing.T) {
	a, err := provider.New(anthropic.Codec{}, provider.Config{})
	o, oerr := provider.New(openai.Codec{}, provider.Config{})
	g, gerr := provider.New(gemini.Codec{}, provider.Config{})
	if err := errors.Join(err, oerr, gerr); err != nil {
		t.Fatal(err)
	}
	const loose = `{"type":"object", "z":1.0}`
	const strict = `{"type":"object","properties":{},"additionalProperties":false}`
	for _, c := range []struct {
		client              *provider.Client
		model, schema, want string
	}{
		{a, "claude-opus-4-5", loose, `"output_config":{"format":{"type":"json_schema","schema":` + loose + `}}`},
		{o, "gpt-5.2", loose, `"text":{"format":{"type":"json_schema","name":"answer","schema":` + loose + `,"strict":false}}`},
		{o, "gpt-5.2", strict, `"strict":true}}`},
		{g, "gemini-3-flash-preview", loose, `"responseMimeType":"application/json","responseJsonSchema":` + loose},
	} {
		req := &provider.Request{Model: c.model, Messages: []transcript.Message{transcript.User("hi")}, OutputSchema: transcript.RawJSON(c.schema)}
		body, err := c.client.Render(req)
		if err != nil || !json.Valid(body) || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %s, %v; want %s", c.client.Provider(), body, err, c.want)
		}
		for _, bad := range []provider.Request{{OutputSchema: transcript.RawJSON(`[1]`)}, {CacheTTL: "1d"}} {
			bad.Model, bad.Messages = req.Model, req.Messages
			var refused *provider.RequestError
			if _, err := c.client.Render(&bad); !errors.As(err, &refused) {
				t.Errorf("%s: %v", c.client.Provider(), err)
			}
		}
	}
}
