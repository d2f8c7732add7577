package handoff

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func TestMade(t *testing.T) {
	m, err := catalog.Lookup("claude-opus-4-5")
	if err != nil {
		t.Fatal(err)
	}
	here := Target{Provider: "anthropic", API: "messages", Account: "a1", Model: m}
	meta := &transcript.Meta{Provider: transcript.MetaAnthropic, Signature: "s"}
	for name, c := range map[string]struct {
		origin *transcript.Origin
		meta   *transcript.Meta
		want   bool
	}{
		"same":             {here.Origin(), meta, true},
		"another snapshot": {&transcript.Origin{Provider: "anthropic", Model: "claude-opus-4-5-20251101"}, meta, true},
		"unknown details":  {&transcript.Origin{Provider: "anthropic"}, nil, true},
		"another provider": {&transcript.Origin{Provider: "openai"}, nil, false},
		"another model":    {&transcript.Origin{Provider: "anthropic", Model: "claude-opus-4-6"}, meta, false},
		"another account":  {&transcript.Origin{Provider: "anthropic", Account: "a2"}, meta, false},
		"another API":      {&transcript.Origin{Provider: "anthropic", API: "bedrock"}, meta, false},
		"foreign token":    {here.Origin(), &transcript.Meta{Provider: transcript.MetaGemini}, false},
		"by its token":     {nil, meta, true},
		"redacted":         {nil, &transcript.Meta{Provider: transcript.MetaAnthropicRedacted}, true},
		"unknown token":    {nil, &transcript.Meta{Provider: "mistral"}, false},
		"by hand":          {nil, nil, false},
	} {
		b := transcript.Block{Origin: c.origin, Meta: c.meta}
		if got := here.Made(&b); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRaw(t *testing.T) {
	here := Target{Provider: "anthropic"}
	for raw, want := range map[string]bool{`{"type":"x"}`: true, `{"cut":`: false, ``: false, `[]`: false} {
		b := transcript.Block{Origin: here.Origin(), Raw: []byte(raw)}
		if got := here.Raw(&b) != nil; got != want {
			t.Errorf("%s: sent %v, want %v", raw, got, want)
		}
		b.Origin = &transcript.Origin{Provider: "openai"}
		if here.Raw(&b) != nil {
			t.Errorf("%s: sent to another provider", raw)
		}
	}
}

func TestIsBase64(t *testing.T) {
	for s, want := range map[string]bool{
		"EjQKMgE=": true, "EjQKMgE": true, "-_-_": true, "+/+/": true, "skip_thought_signature_validator": true,
		"": false, "not base64!": false, "A": false, "A=": false, "EjQK\nMgE=": false, "EjQ=KMgE": false,
	} {
		if IsBase64(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}
