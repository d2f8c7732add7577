package openai

import (
	"net/url"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// TestLogin holds what chatgpt.com takes of codex (O-35), and that OpenAI's API takes more.
func TestLogin(t *testing.T) {
	const asks, api = "https://chatgpt.com/backend-api/codex/responses", "https://api.openai.com/v1/responses"
	for _, test := range []struct {
		url, members string
		want         []string
	}{
		{asks, `"max_output_tokens":99,"store":true`, []string{"max_output_tokens", "store"}},
		{asks, `"store":false`, nil},
		{asks + "/compact", `"max_output_tokens":99`, nil},
		{api, `"max_output_tokens":99,"store":true`, nil},
	} {
		root, err := tree.Parse([]byte(`{"model":"gpt-5.5","input":"hi",` + test.members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, passes := range judgeRequest(rule.Seen{URL: at, Root: root}, func(rule.Hosts) bool { return true }) {
			for _, p := range passes {
				for _, b := range p.Breaches {
					if b.Rule == "O-35" {
						got = append(got, b.Path)
					}
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s with %s: %q, want %q", test.url, test.members, got, test.want)
		}
	}
}
