package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// compacted is a reply that begins with a compaction of a provider.
func compacted(model, object string, blocks ...transcript.Block) stream.Reply {
	r := bare("", append([]transcript.Block{{
		Type: transcript.BlockOpaque, Kind: "compaction", Raw: []byte(object),
	}}, blocks...)...)
	for i := range r.Message.Blocks {
		r.Message.Blocks[i].Origin = &transcript.Origin{Provider: "anthropic", Model: model, Index: i}
	}
	r.Message.StopReason = transcript.StopEndTurn
	if len(slices.Collect(r.Message.ToolCalls())) > 0 {
		r.Message.StopReason = transcript.StopToolUse
	}
	return r
}

// describeRequests says of each request how many messages it has, from how many tokens on
// the provider is to compact, and whether a summary is asked for.
func describeRequests(requests []provider.Request) string {
	var all []string
	for _, r := range requests {
		s := fmt.Sprintf("%d@%d", len(r.Messages), r.CompactAt)
		if r.Messages[len(r.Messages)-1].Content == DefaultCompactionPrompt {
			s = "summary"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// TestAsksProviderToCompact: a conversation that fills its share of the window is sent
// with the threshold if the provider can compact from there on, and summarised
// otherwise. The conversation is never cut.
func TestAsksProviderToCompact(t *testing.T) {
	const opus, sum = "claude-opus-4-6", `{"type":"compaction","content":"sum"}`
	early, full := long(50, thoughtless(calls("0"))), long(150_000, thoughtless(calls("a")))
	refusal := &provider.Error{
		Kind: provider.InvalidRequest, Provider: "anthropic", Status: 400,
		Message: "context_management: Extra inputs are not permitted",
	}
	call := calls("b").Message.Blocks[1]
	call2 := calls("c").Message.Blocks[1]
	done := text("done")
	for name, c := range map[string]struct {
		model     string
		threshold float64
		replies   []any
		want      string // requests
		reasons   int    // how often the provider compacted
	}{
		"short": {opus, 0.8, []any{early, full, done}, "1@0 3@0 5@0", 0},
		"off":   {opus, 0, []any{early, full, done}, "1@0 3@0 5@0", 0},
		"full": {
			opus, 0.5, []any{early, full, compacted(opus, sum, call), done}, "1@0 3@0 5@100000 7@0", 1,
		},
		"full again": {
			opus, 0.5, []any{early, full, compacted(opus, sum, call), full, done}, "1@0 3@0 5@100000 7@0 9@100000", 1,
		},
		"not offered": {
			"claude-opus-4-5", 0.5, []any{early, full, text("sum"), done}, "1@0 3@0 summary 5@0", 0,
		},
		"not offered so low": {opus, 0.2, []any{early, full, text("sum"), done}, "1@0 3@0 summary 5@0", 0},
		"refused": {
			opus, 0.5, []any{early, full, refusal, long(160_000, thoughtless(calls("b"))), text("sum"), done},
			"1@0 3@0 5@100000 5@0 summary 7@0", 0,
		},
		"asked in vain": {
			opus, 0.5, []any{early, full, long(160_000, thoughtless(calls("b"))), text("sum"), done},
			"1@0 3@0 5@100000 summary 7@0", 0,
		},
		"failed": {
			opus, 0.5,
			[]any{
				early, full, withUsage(compacted(opus, `{"type":"compaction","content":null}`, call), 150_000),
				text("sum"), done,
			},
			"1@0 3@0 5@100000 summary 7@0", 0,
		},
		"no usage, short since": {
			opus, 0.5, []any{early, full, withoutUsage(compacted(opus, sum, call)), done}, "1@0 3@0 5@100000 7@0", 1,
		},
		"no usage, long since": {
			opus, 0.5,
			[]any{
				early, full,
				withoutUsage(compacted(opus, sum, transcript.Text(strings.Repeat("word ", 90_000)), call)),
				compacted(opus, sum, call2), done,
			},
			"1@0 3@0 5@100000 7@100000 9@0", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, tools, m := session.NewMemoryStore(), &counter{}, &model{replies: c.replies}
			cfg := config(m, store, tools)
			cfg.Client = rendered{m}
			cfg.Model, cfg.Compaction = c.model, Compaction{Threshold: c.threshold}
			events := heard(&cfg)
			got, err := Run(ctx, cfg, "go")
			if err != nil || got.Text != "done" {
				t.Fatalf("%+v, %v", got, err)
			}
			if have := describeRequests(m.requests); !sameRequests(have, c.want) {
				t.Errorf("requests %s, want %s", have, c.want)
			}
			n := 0
			for _, e := range *events {
				if e.Type == CompactionCompleted && e.Reason == providerCompacted && e.Error == "" {
					n++
				}
			}
			if n != c.reasons {
				t.Errorf("the provider compacted %d times, want %d: %s", n, c.reasons, types(*events))
			}
			s := load(t, store)
			legal(t, s.Messages)
			agrees(t, &s)
		})
	}
}

// rendered is a model whose requests have bodies that differ with what is asked for.
type rendered struct{ *model }

// Render returns a body that names what a repair changes.
func (rendered) Render(r *provider.Request) ([]byte, error) {
	return fmt.Appendf(nil, "%d messages, compact at %d", len(r.Messages), r.CompactAt), nil
}

// sameRequests compares requests; behind a summary their length does not matter.
func sameRequests(have, want string) bool {
	a, _, summarised := strings.Cut(have, "summary")
	b, _, shouldBe := strings.Cut(want, "summary")
	return a == b && summarised == shouldBe
}

func withUsage(r stream.Reply, n uint64) stream.Reply { return long(n, r) }

func withoutUsage(r stream.Reply) stream.Reply {
	r.Usage, r.UsageKnown = transcript.Usage{}, false
	return r
}

// TestProviderCompactionIsKept: the block goes back where it stood, in front of its
// reply and behind all that it stands for, also when another process goes on. Another
// model gets the messages without it.
func TestProviderCompactionIsKept(t *testing.T) {
	const opus, sum = "claude-opus-4-6", `{"type":"compaction", "content":"sum","encrypted_content":"E1"}`
	store := session.NewMemoryStore()
	cfg := config(&model{replies: []any{compacted(opus, sum, transcript.Text("one"))}}, store, &counter{})
	cfg.Model = opus
	if _, err := Run(ctx, cfg, "go"); err != nil {
		t.Fatal(err)
	}
	for _, model2 := range []string{opus, "claude-opus-4-7"} {
		m := &model{replies: []any{compacted(model2, sum, transcript.Text("two"))}}
		cfg := config(m, store, &counter{})
		cfg.Model = model2
		got, err := Resume(ctx, cfg, sessionID, "more")
		if err != nil || len(got.Degraded) > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		first := m.requests[0].Messages[1].Blocks
		if kept := first[0].IsCompaction() && string(first[0].Raw) == sum; kept != (model2 == opus) ||
			m.requests[0].Messages[0].Content != "go" {
			t.Errorf("%s got %+v", model2, m.requests[0].Messages)
		}
	}
}
