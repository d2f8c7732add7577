package meerkat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
)

// TestBadKey: a key that cannot be a header is refused when the agent is built,
// by the name of its variable and without its text.
func TestBadKey(t *testing.T) {
	for _, key := range []string{"top-secret\n", "top\rsecret", "top\x00secret"} {
		_, err := meerkat.NewAgent().WithOpenAI(key).WithModel("gpt-5.2").Build()
		var bad *meerkat.BadKeyError
		if !errors.As(err, &bad) || bad.Variable != "OPENAI_API_KEY" {
			t.Errorf("%q: %v", key, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}
