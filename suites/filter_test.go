package suites

import (
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/meerkat-go/conformance/conform/harness"
)

// FuzzFilterIsGinkgos holds that the label filter of the harness selects what
// Ginkgo's selects: `conform run --filter` and -ginkgo.label-filter mean the same.
func FuzzFilterIsGinkgos(f *testing.F) {
	for _, seed := range []string{"SIG", "sig && !openai", "(ORD || SIG) && MUST", "/^SIG-0/", "a, b", "!(", "a b",
		"(a)(b)", "a !b", "!!a", "&& a", "a &", "()", "a)", "/[/", "/a"} {
		f.Add(seed)
	}
	labels := [][]string{{}, {"SIG", "MUST", "anthropic"}, {"ORD", "SHOULD", "openai"}, {"a"}, {"b"}, {"a", "b"}, {"0"}}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 200 {
			t.Skip("deep nesting is bounded here and not there")
		}
		ours, err := harness.ParseFilter(expression)
		theirs, theirErr := types.ParseLabelFilter(expression)
		if usesSets(expression) {
			t.Skip("sets of labels are not part of the language")
		}
		if (err == nil) != (theirErr == nil) {
			t.Fatalf("%q: %v, Ginkgo says %v", expression, err, theirErr)
		}
		for _, l := range labels {
			if err == nil && ours(l) != theirs(l) {
				t.Errorf("%q on %q: %t, Ginkgo says %t", expression, l, ours(l), theirs(l))
			}
		}
	})
}

// usesSets reports whether expression has what Ginkgo takes for an operation on
// a set of labels.
func usesSets(expression string) bool {
	for _, word := range []string{":", "containsany", "containsall", "consistsof", "issubsetof", "isempty"} {
		if strings.Contains(strings.ToLower(expression), word) {
			return true
		}
	}
	return false
}
