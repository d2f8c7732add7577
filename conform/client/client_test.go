package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	_ "github.com/meerkat-go/conformance/wires/all"
	"github.com/meerkat-go/conformance/wires/wire"
)

// TestPlaysScenarios holds that the client loses nothing: the strict simulator, which knows every
// token that it issued, accepts all that the client sends, streamed and in one piece.
func TestPlaysScenarios(t *testing.T) {
	played := []string{
		"thinking-tool-loop", "parallel-calls", "interleaved-thinking", "signed-text", "failing-tool",
		"exact-arguments",
		"empty-arguments", "summary-parts", "redacted-and-shown", "image-in-result", "awkward-arguments",
		"single-bytes", "long-loop",
	}
	scenarios, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := specs.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, scenario := range append(scenarios, simulated...) {
		name := scenario.Name
		if !slices.Contains(played, name) {
			continue
		}
		for _, target := range scenario.Targets {
			if strings.HasPrefix(target.Model, "deepseek-") && name == "image-in-result" {
				continue // DeepSeek takes no images
			}
			for _, isStream := range []bool{true, false} {
				handler := simulator.New(simulator.Config{Scenario: scenario, Seed: "1",
					Mismatch: func(m *script.Mismatch) { t.Errorf("%s/%s: %v", name, target.Provider, m) }})
				talk := client.Conversation{
					Server: client.Server{Wire: wires.Find(target.Provider), Base: "http://127.0.0.1/" +
						target.Provider, Key: "test-key", Transport: simulator.Transport(handler)},
					Question: wire.Question{Model: target.Model, System: scenario.System, Stream: isStream,
						Tools: toolserver.Tools()},
				}
				client.AskToThink(&talk.Question, target.Provider, target.Effort)
				for _, step := range scenario.Steps {
					for _, a := range talk.Say(t.Context(), step.Prompt) {
						requests++
						if !a.IsOK() {
							t.Errorf("%s/%s stream %v: %d %s %v\n%s", name, target.Provider, isStream,
								a.Response.Status, a.Response.Body, a.Err, a.Request.Body)
						}
					}
				}
			}
		}
	}
	if requests < 200 {
		t.Errorf("only %d requests", requests)
	}
}
