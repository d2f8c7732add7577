package meerkat_test

import "testing"

// TestExamplesWithoutKey runs the examples that need a key without one: they must
// end before anything is started or sent.
func TestExamplesWithoutKey(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	ExampleNewAgent()
	Example_quickStart()
}
