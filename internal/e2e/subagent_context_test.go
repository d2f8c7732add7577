package e2e_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/specs"
)

// TestSubAgentContext: whatever a session went through, a sub-agent that begins with any
// part of it is understood by the strict simulator, by every provider, and is given no
// token that was not issued to its target (E13, E20, R39).
func TestSubAgentContext(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		parent := newDialogue(t, w)
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			parent.turn()
		}
		for _, with := range []string{"anthropic", "openai", "gemini"} {
			child := parent.spawn(anyContext(parent.s.Messages).Draw(t, "context"))
			child.add(session.MessageRecord{Message: transcript.User("Your part: count to three.")})
			who := rapid.SampledFrom(modelsOf(with)).Draw(t, "who")
			child.says(child.ask(who, anyEmit().Draw(t, "emit"), "").Message)
			child.ask(rapid.SampledFrom(everyone).Draw(t, "then"),
				[]specs.Block{{Kind: specs.KindText, Text: "Done."}}, "")
		}
	})
}

// anyContext is any part of a conversation, or any of its messages.
func anyContext(messages []transcript.Message) *rapid.Generator[session.ContextStrategy] {
	return rapid.Custom(func(t *rapid.T) session.ContextStrategy {
		switch rapid.IntRange(0, 5).Draw(t, "strategy") {
		case 0:
			return session.FullHistory()
		case 1:
			return session.SummaryContext(100)
		case 2:
			var some []transcript.Message
			for i := range messages {
				if custom := session.CustomContext(messages[i]); custom.Validate() == nil &&
					rapid.Bool().Draw(t, "take") {
					some = append(some, messages[i])
				}
			}
			return session.CustomContext(some...)
		default:
			return session.LastTurns(rapid.Uint32Range(1, 6).Draw(t, "last"))
		}
	})
}

// spawn begins a conversation with a part of this one. A summary is what a compaction of
// the whole leaves.
func (p *dialogue) spawn(c session.ContextStrategy) *dialogue {
	h, records, err := p.s.Begin(c, "0199a2b4-0000-7000-8000-000000000002", time.Unix(1_800_000_000, 0))
	if err != nil {
		p.Fatal(err)
	}
	child := newDialogue(p.t, p.w)
	if child.s, err = session.Load(append([]session.Record{h}, records...)...); err != nil {
		p.Fatal(err)
	}
	if _, ok := c.SummaryTokens(); ok {
		child.add(session.Compaction{Through: len(child.s.Messages), Summary: "They talked."})
	}
	child.asked = p.asked + 100 // replies of its own
	return child
}

func modelsOf(provider string) (models []someone) {
	for _, who := range everyone {
		if who.target(panics{}).Provider == provider {
			models = append(models, who)
		}
	}
	return models
}

// panics is for what cannot fail.
type panics struct{}

func (panics) Fatal(args ...any)                 { panic(args) }
func (panics) Fatalf(format string, args ...any) { panic(format) }

// TestSubAgentOfOpenLoop: a sub-agent that starts while calls of its parent are open is
// told that they belong to the other branch, and nothing else.
func TestSubAgentOfOpenLoop(t *testing.T) {
	w := newWorld(t)
	for _, who := range everyone {
		p := newDialogue(t, w)
		calling := []specs.Block{{Kind: specs.KindThinking, Parts: []string{"So."}},
			{Kind: specs.KindCall, Role: "noargs"}, {Kind: specs.KindCall, Role: "noargs"}}
		p.says(p.ask(who, calling, "").Message)
		p.add(session.MessageRecord{Message: p.ask(who, calling, "").Message})
		for _, c := range []session.ContextStrategy{session.FullHistory(), session.LastTurns(1), session.LastTurns(2)} {
			child := p.spawn(c)
			child.add(session.MessageRecord{Message: transcript.User("Your part.")})
			out, err := handoff.Build(child.s.History(), who.target(t))
			if last := out.Messages[len(out.Messages)-2]; err != nil || last.Role != transcript.RoleToolResults ||
				len(last.Results) != 2 || !last.Results[0].IsError {
				t.Errorf("%v: the open calls are not closed: %+v, %v", who, last, err)
			}
			child.ask(who, []specs.Block{{Kind: specs.KindText, Text: "Done."}}, "")
		}
	}
}
