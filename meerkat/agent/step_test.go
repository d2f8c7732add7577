package agent

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func fresh(t interface{ Fatal(...any) }) state {
	s, err := session.Load(session.Header{Version: 1, ID: sessionID, Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return state{
		session: s,
		settings: settings{
			maxTurns: 3, interruptedPolicy: AskModel,
			prefix: session.Prefix{Provider: "anthropic", Model: "m", System: "s", Tools: (&counter{}).Defs()},
		},
	}
}

// prefixed is the prefix of the settings of a fresh state.
func prefixed(t *testing.T) session.Prefix {
	t.Helper()
	p := fresh(t).settings.prefix
	p.At = epoch
	var err error
	if p.Hash, err = session.Digest(p.System, p.Tools, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// again is the state of a further run of the session of s.
func again(s state) state {
	return state{session: s.session, settings: s.settings}
}

// TestStepIsPure: same state and input, same outcome, and the state that went
// in stays as it was.
func TestStepIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fresh(t)
		s.settings.maxTurns = 20
		s.settings.retry = provider.RetryPolicy{MaxRetries: 2}
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			in := anyInput(t, &s)
			before := show(s)
			one, first := step(s, in)
			two, second := step(s, in)
			if show(s) != before {
				t.Fatalf("step changed its state")
			}
			exported := cmp.Exporter(func(reflect.Type) bool { return true })
			if d := cmp.Diff(first, second, exported, cmp.Comparer(sameError)); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(
				one.session, two.session, cmpopts.IgnoreUnexported(session.Session{}), cmpopts.EquateEmpty(),
			); d != "" {
				t.Fatal(d)
			}
			if s = one; s.phase == phaseDone {
				legal(t, s.session.Messages)
				agrees(t, &s.session)
				s = again(s)
			}
		}
	})
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// show is all that a state holds; its session shares its log with later ones.
func show(s state) string {
	entries := s.session.Ledger.Entries()
	session := s.session
	session.Ledger = transcript.Ledger{}
	s.session, s.settings.idempotent = session, nil
	return fmt.Sprintf("%+v %+v", s, entries)
}

// anyInput is an input that can follow s.
func anyInput(t *rapid.T, s *state) input {
	switch s.phase {
	case phaseNew, phaseDone:
		return beginInput{epoch, "r", rapid.StringN(1, 4, -1).Draw(t, "prompt")}
	case phaseWaiting:
		return waitedInput{epoch}
	case phaseTools:
		for i, c := range s.batch.calls {
			switch a := s.batch.answers[i]; {
			case a.known:
			case a.started:
				status := rapid.SampledFrom([]tool.Status{
					tool.StatusComplete, tool.StatusError, tool.StatusTimedOut, tool.StatusInterrupted,
				}).Draw(t, "status")
				return toolResultInput{
					epoch, c.ID,
					transcript.ToolResult{ToolUseID: c.ID, Content: "r", IsError: status != tool.StatusComplete},
					tool.Outcome{Status: status}, nil,
				}
			default:
				return toolStartInput{epoch, c.ID}
			}
		}
		return toolsDoneInput{at: epoch, cause: rapid.SampledFrom([]cause{causeNone, causeUser}).Draw(t, "cause")}
	case phaseCalling: // below
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		return failureInput{at: epoch, err: &provider.Error{Kind: provider.Overloaded},
			cause:  rapid.SampledFrom([]cause{causeNone, causeUser, causeLate}).Draw(t, "cause"),
			shown:  rapid.Bool().Draw(t, "shown"),
			blocks: []transcript.Block{transcript.Text("t"), transcript.Reasoning("r", nil)}}
	}
	stop := rapid.SampledFrom([]transcript.StopReason{
		"end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "?",
	}).Draw(t, "stop")
	r := says(stop, transcript.Text("x"))
	if stop == "tool_use" || rapid.Bool().Draw(t, "calls?") {
		r.Message.Blocks = append(r.Message.Blocks, calls("a", "b").Message.Blocks...)
	}
	return replyInput{epoch, r}
}
