package toy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/specs"
)

// driver is an agent for the wire: it asks, runs the tools that the model calls, and asks again. A driver that
// loses results answers only the first call of a reply.
type driver struct{ losesResults bool }

// About implements harness.Subject.
func (driver) About() harness.About {
	return harness.About{
		Subject: report.Subject{Name: "driver", Kind: "in-process"}, Providers: []string{"toy"}, PromisesExit: true,
		Abilities: []specs.Ability{specs.AbilityTools, specs.AbilityTurns, specs.AbilityModel, specs.AbilitySystem},
	}
}

// Open implements harness.Subject.
func (d driver) Open(_ context.Context, room harness.Room) (harness.Session, error) {
	return &talk{driver: d, url: room.BaseURL["toy"] + "/v0/talk"}, nil
}

type talk struct {
	driver
	url   string
	turns []any
}

// Close implements harness.Session.
func (*talk) Close() error { return nil }

// RunStep implements harness.Session.
func (t *talk) RunStep(ctx context.Context, step harness.Step) (evidence.Process, error) {
	t.turns = append(t.turns, map[string]any{"who": "user", "words": step.Prompt})
	for {
		said, err := t.ask(ctx, step)
		if err != nil {
			return evidence.Process{ExitCode: 1, Stderr: []byte(err.Error())}, nil
		}
		t.turns = append(t.turns, map[string]any{"who": "model", "words": said.Words, "calls": said.Calls})
		if len(said.Calls) == 0 {
			return evidence.Process{Stdout: []byte(said.Words), ExitCode: map[string]int{"length": 1}[said.Why]}, nil
		}
		for i, call := range said.Calls {
			if i == 0 || !t.losesResults {
				t.turns = append(t.turns, map[string]any{"who": "tool", "call": call.ID,
					"words": "The arguments were " + string(call.With)})
			}
		}
	}
}

type reply struct {
	Words, Why string
	Calls      []struct {
		ID   string          `json:"id"`
		Tool string          `json:"tool"`
		With json.RawMessage `json:"with"`
	}
}

func (t *talk) ask(ctx context.Context, step harness.Step) (said reply, err error) {
	var tools []any
	for _, role := range []string{"echo", "fail", "noargs", "slow", "large", "awkward"} {
		tools = append(tools, map[string]any{"name": "conform_" + role, "takes": map[string]any{"type": "object"}})
	}
	body, err := json.Marshal(map[string]any{"model": step.Model, "manners": step.System, "tools": tools,
		"turns": t.turns})
	if err != nil {
		return said, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Toy-Api-Key", "made-up")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return said, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	return said, err
}

// TestDriverPlays holds that each scenario that the driver and the wire can play is played and passes, and that a
// driver with a bug fails.
func TestDriverPlays(t *testing.T) {
	for _, losesResults := range []bool{false, true} {
		found, err := harness.Run(t.Context(), harness.Options{
			Config:  harness.Config{Subject: driver{losesResults: losesResults}, Seed: "toy"},
			Ingress: []string{proxy.BaseURL}, Filter: "toy",
		})
		check(t, err)
		verdicts := map[report.Verdict]int{}
		for _, c := range found.Cases {
			verdicts[c.Verdict]++
			if c.Verdict == report.NotApplicable && !strings.HasPrefix(c.Reason, "needs ") {
				t.Errorf("%s is not applicable: %s", c.Name, c.Reason)
			}
		}
		if verdicts[report.Pass] < 30 || (verdicts[report.Fail] > 0) != losesResults {
			t.Errorf("a driver that loses results (%t): %v", losesResults, verdicts)
		}
		for _, r := range found.Results {
			isBug := r.Verdict == report.Fail && len(r.Findings) > 0 && r.Findings[0].Rule == "TOY-2"
			if r.Verdict == report.Fail && !isBug || isBug && !losesResults {
				t.Errorf("%s %s: %s %+v", r.Check, r.Case, r.Reason, r.Findings)
			}
		}
	}
}
