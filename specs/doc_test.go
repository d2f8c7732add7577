package specs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/schemas"
)

var fence = regexp.MustCompile("(?ms)^```(txtar|yaml)\n(.*?)^```$")

// completed is a sample with what it leaves out.
func completed(t *testing.T, kind, sample string) string {
	t.Helper()
	if kind == "txtar" {
		return sample
	}
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(sample), &doc); err != nil {
		t.Fatalf("%v:\n%s", err, sample)
	}
	text := "Why.\nrequirements: ORD-001\n-- scenario.yaml --\ntitle: a sample\n"
	missing := []struct{ key, value string }{
		{"providers",
			"{anthropic: {model: claude-opus-4-6}, openai: {model: gpt-5.5}, gemini: {model: gemini-3.5-flash}}"},
		{"player", "[{prompt: go}]"}, {"turns", "[{emit: [{text: ok}]}]"},
	}
	for _, m := range missing {
		if _, ok := doc[m.key]; !ok &&
			(m.key != "turns" || !strings.Contains(sample, "unsupported") && !strings.Contains(sample, "live: true")) {
			text += m.key + ": " + m.value + "\n"
		}
	}
	return text + sample
}

// TestSamplesOfTheDocument holds that every sample of the format's description
// loads, and that the description leaves out no key and no value.
func TestSamplesOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/scenario-format.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	samples := fence.FindAllStringSubmatch(string(page), -1)
	for _, m := range samples {
		text := completed(t, m[1], m[2])
		if _, err := ParseScenario("sample.txtar", []byte(text)); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		if err := againstSchema(t, text); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		all.WriteString(m[2])
	}
	if len(samples) < 10 {
		t.Errorf("%d samples", len(samples))
	}
	schema, err := schemas.Source("scenario.v1")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		t.Fatal(err)
	}
	for _, word := range vocabulary(doc) {
		if !regexp.MustCompile(`(^|[^a-z_])` + word + `([^a-z_]|$)`).MatchString(all.String()) {
			t.Errorf("no sample has %s", word)
		}
	}
}

// vocabulary are the keys and values that a schema names.
func vocabulary(schema any) []string {
	var words []string
	switch s := schema.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name := range properties {
			words = append(words, name)
		}
		values, _ := s["enum"].([]any)
		for _, v := range values {
			if word, ok := v.(string); ok {
				words = append(words, word)
			}
		}
		for _, v := range s {
			words = append(words, vocabulary(v)...)
		}
	case []any:
		for _, v := range s {
			words = append(words, vocabulary(v)...)
		}
	}
	return words
}
