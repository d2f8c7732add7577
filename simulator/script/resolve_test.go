package script

import (
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestNonce holds that everything a block says gets the words of the seed.
func TestNonce(t *testing.T) {
	word := func(name string) string { return specs.Nonce("a", name) }
	got := Block{
		Text: "{{nonce}} {{nonce x}} {{nonce X}}", Args: []byte(`{"t":"{{nonce x}}"}`), Parts: []string{"{{nonce}}"},
		Code: &specs.Code{Source: "{{nonce x}}", Output: "{{nonce}}"},
		Search: &specs.Search{Query: "{{nonce}}",
			Results: []specs.Found{{Title: "{{nonce x}}", URL: "https://{{nonce}}"}}},
	}.withNonces("a")
	if got.Text != word("")+" "+word("x")+" {{nonce X}}" || string(got.Args) != `{"t":"`+word("x")+`"}` ||
		got.Parts[0] != word("") {
		t.Errorf("%+v", got)
	}
	if got.Code.Source != word("x") || got.Code.Output != word("") || got.Search.Query != word("") ||
		got.Search.Results[0] != (specs.Found{Title: word("x"), URL: "https://" + word("")}) {
		t.Errorf("%+v %+v", got.Code, got.Search)
	}
}

func TestPartialArguments(t *testing.T) {
	if got := (Block{Args: []byte(`{"a`), Partial: true}).Arguments(); string(got) != "{}" {
		t.Errorf("a document has %s", got)
	}
}
