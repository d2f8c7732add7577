package subject

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/wires/tree"
)

// TestToolNames holds that a tool is named wherever its wire puts the name.
func TestToolNames(t *testing.T) {
	tools, err := tree.Parse([]byte(`[{"name":"a"},{"type":"function","function":{"name":"b"}},` +
		`{"functionDeclarations":[{"name":"c"},{"name":"d"}]},{"type":"web_search"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := toolNames(tools), []string{"a", "b", "c", "d", "web_search"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}
