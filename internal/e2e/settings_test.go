package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// bodies keeps what is sent.
type bodies struct {
	http.RoundTripper
	sent []string
}

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.sent = append(b.sent, string(data))
	r.Body = io.NopCloser(bytes.NewReader(data))
	return b.RoundTripper.RoundTrip(r)
}

// TestMarksAndSchemas: marks for the prompt cache and schemas of answers go
// through tool loops, resumes and models that bind their thoughts to all that
// came before; a strict provider must take every request.
func TestMarksAndSchemas(t *testing.T) {
	for _, model := range killed {
		for _, ttl := range []string{"", "5m", "1h"} {
			for _, schema := range []string{"",
				`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`} {
				t.Run(fmt.Sprint(model, " ", ttl, " ", schema != ""),
					func(t *testing.T) { marksAndSchemas(t, model, ttl, schema) })
			}
		}
	}
}

func marksAndSchemas(t *testing.T, model, ttl, schema string) {
	t.Helper()
	strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "killed",
		Level: rule.Strict}))}
	wire, dir := &bodies{RoundTripper: strict}, t.TempDir()
	subject := func() *meerkat.Agent {
		b := meerkat.NewAgent().WithModel(model).WithTool(repeater("")).WithStore(jsonl.New(dir, nil).SyncEvery(-1)).
			WithHTTPClient(&http.Client{Transport: wire}).WithSystemPrompt("Be exact.").WithCacheTTL(ttl)
		if schema != "" {
			b.WithOutputSchema([]byte(schema))
		}
		a, err := b.WithAnthropic("test-key").WithOpenAI("test-key").WithGemini("test-key").Build()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	r, err := subject().Run(t.Context(), "Echo the word heron.")
	for _, prompt := range []string{"And the word crane.", "And once more."} {
		if err == nil {
			r, err = subject().Resume(t.Context(), r.SessionID, prompt)
		}
	}
	if err != nil || len(strict.refused) > 0 {
		t.Fatalf("refused %v, %v", strict.refused, err)
	}
	if schema != "" && !json.Valid([]byte(r.Text)) {
		t.Errorf("the answer does not fit the schema: %s", r.Text)
	}
	for _, body := range wire.sent {
		if n := strings.Count(body, "cache_control"); n > 4 ||
			(n > 0) != (ttl != "" && strings.HasPrefix(model, "claude")) {
			t.Errorf("%d marks in %.200s", n, body)
		}
		if strings.Contains(body, `"additionalProperties":false`) != (schema != "") {
			t.Errorf("no schema in %.200s", body)
		}
	}
}

// repeater is a tool that returns its arguments and more.
func repeater(more string) tool.Tool {
	return tool.Tool{
		Def: transcript.ToolDef{Name: "echo", Description: "Returns the text.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{Content: string(args) + more}, nil
		},
	}
}
