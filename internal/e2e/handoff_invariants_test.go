package e2e_test

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/specs"
)

// sent is the last request to somebody.
type sent struct {
	body        []byte
	compactions int
	thinkingOff bool
	toReply     bool // it ended with a reply that the target goes on with
}

// holds checks what must hold of every transcript, whatever the history.
func (p *dialogue) holds(who someone, out handoff.Transcript) {
	target := who.target(p)
	again, err := handoff.Build(p.s.History(), target)
	if diff := differ(out, again); diff != "" || err != nil {
		p.Fatalf("%v: the same history gives another transcript: %s%v", who, diff, err)
	}
	twice, err := handoff.Build(handoff.History{Messages: out.Messages}, target)
	if diff := differ(out.Messages, twice.Messages); diff != "" || err != nil || twice.ThinkingOff != out.ThinkingOff {
		p.Fatalf("%v: a transcript is not the transcript of itself: %s%v", who, diff, err)
	}
	p.tokens(who, target, out)
	p.ids(who, out)
	p.losses(who, out)
	p.prefix(who, out)
}

// differ is cmp.Diff for what is nearly always the same.
func differ(a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty())
}

// tokens holds that none is invented and none goes to a stranger.
func (p *dialogue) tokens(who someone, target handoff.Target, out handoff.Transcript) {
	known := map[string]bool{}
	for i := range p.s.Messages {
		for _, b := range p.s.Messages[i].Blocks {
			known[tokenOf(b)] = true
		}
	}
	for i := range out.Messages {
		for _, b := range out.Messages[i].Blocks {
			if token := tokenOf(b); token != "" && (!known[token] || !target.Made(&b)) {
				p.Fatalf("%v: message %d: the token %.20s… is not from there", who, i, token)
			}
		}
	}
}

func tokenOf(b transcript.Block) string {
	switch m := b.Meta; {
	case m == nil:
		return ""
	case m.EncryptedContent != nil:
		return *m.EncryptedContent
	default:
		return m.Signature + m.Data + m.ThoughtSignature
	}
}

// ids holds that calls and results are pairs and their ids unique on the wire.
func (p *dialogue) ids(who someone, out handoff.Transcript) {
	steps, err := provider.Steps(out.Messages)
	if err != nil {
		p.Fatalf("%v: %v", who, err)
	}
	seen := map[string]bool{}
	for _, s := range steps {
		for _, id := range s.IDs {
			if id != "" && seen[id] {
				p.Fatalf("%v: the id %s stands for two calls", who, id)
			}
			seen[id] = true
		}
	}
}

// losses holds that each is told once and of something that is there.
func (p *dialogue) losses(who someone, out handoff.Transcript) {
	seen := map[handoff.Degradation]bool{}
	for _, d := range out.Degraded {
		if d.Rule != "unsupported-media" && seen[d] {
			p.Fatalf("%v: told twice: %+v", who, d)
		}
		seen[d] = true
		if d.Rule == "" || d.Reason == "" || d.Message < 0 || d.Message >= len(p.s.Messages) {
			p.Fatalf("%v: of what is it told: %+v", who, d)
		}
	}
}

// prefix holds that a request begins with the last one to the same target,
// byte by byte, unless a compaction took its place, an open loop of others keeps
// a model from thinking, or a pause was not waited for.
func (p *dialogue) prefix(who someone, out handoff.Transcript) {
	body, err := p.w.client(p, who).Render(who.request(out.Messages, false))
	if err != nil {
		p.Fatalf("%v: not rendered: %v\n%s", who, err, p.dump(out))
	}
	now := sent{body, len(p.s.Compactions), out.ThinkingOff,
		out.Messages[len(out.Messages)-1].Role == transcript.RoleAssistant}
	was, asked := p.sent[who]
	p.sent[who] = now
	if !asked || was.toReply || was.compactions != now.compactions || was.thinkingOff != now.thinkingOff {
		return
	}
	if !bytes.HasPrefix(marks.ReplaceAll(now.body, nil), bytes.TrimRight(marks.ReplaceAll(was.body, nil), "]}")) {
		p.Fatalf("%v: what was sent has changed:\n%s\n%s\n%s", who, was.body, now.body, p.dump(out))
	}
}

// marks are for the cache and no part of the conversation.
var marks = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// TestNothingLost: with one model and no accident nothing is lost, nothing is
// told, and every token that was issued goes back.
func TestNothingLost(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		p := newDialogue(t, w)
		who := rapid.SampledFrom(everyone).Draw(t, "who")
		var tokens []string
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			emit := append([]specs.Block{{Kind: specs.KindThinking}}, anyEmit().Draw(t, "emit")...)
			emit = append(emit, specs.Block{Kind: specs.KindText, Text: "End."})
			// A signed text takes the signature that the call behind it needs.
			emit = slices.DeleteFunc(emit, func(b specs.Block) bool { return b.Kind == specs.KindSignedText })
			m := p.ask(who, emit, "").Message
			p.says(m)
			for _, b := range m.Blocks {
				if token := tokenOf(b); token != "" {
					tokens = append(tokens, token)
				}
			}
			out := p.build(who)
			body, err := w.client(t, who).Render(who.request(out.Messages, false))
			if err != nil || len(out.Degraded) > 0 || out.ThinkingOff {
				t.Fatalf("%v: %v\n%s", who, err, p.dump(out))
			}
			for _, token := range tokens {
				if !bytes.Contains(body, []byte(token)) {
					t.Fatalf("%v: the token %.20s… did not go back in %s", who, token, body)
				}
			}
		}
	})
}

// TestSwitch: from each model to each other one and back, in the open tool loop
// and between two.
func TestSwitch(t *testing.T) {
	w := newWorld(t)
	calling := []specs.Block{{Kind: specs.KindThinking, Parts: []string{"So."}}, {Kind: specs.KindCall, Role: "noargs"},
		{Kind: specs.KindCall, Role: "noargs"}}
	saying := []specs.Block{{Kind: specs.KindThinking}, {Kind: specs.KindText, Text: "Done."}}
	for _, one := range everyone {
		for _, other := range everyone {
			p := newDialogue(t, w)
			for _, who := range []someone{one, other, other, one} {
				p.says(p.ask(who, calling, "").Message)
			}
			for _, who := range []someone{other, one, other} {
				p.says(p.ask(who, saying, "").Message)
			}
			p.says(p.ask(one, calling, "").Message)
		}
	}
}

// says adds a reply and answers its calls.
func (p *dialogue) says(m transcript.Message) {
	p.add(session.MessageRecord{Message: m})
	var results []transcript.ToolResult
	for c := range m.ToolCalls() {
		results = append(results, transcript.ToolResult{ToolUseID: c.ID, Content: "ok"})
	}
	if results == nil {
		p.add(session.MessageRecord{Message: transcript.User("Go on.")})
		return
	}
	p.add(session.MessageRecord{Message: transcript.ToolResults(results...)})
}
