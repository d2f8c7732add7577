package handoff

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestProviderCompactions: replaced-compaction. Leaving one out tears nothing.
func TestProviderCompactions(t *testing.T) {
	compacted := func(model string) transcript.Message {
		return says(by(
			model, opaque("compaction", `{"type":"compaction"}`), raw(transcript.Text("t"), `{"text":"t"}`),
		)...)
	}
	run(t, map[string]ruleCase{
		"replaced-compaction: at home": {
			opus, conversation(compacted(opus), user), "u a[OT] u", nil, false,
		},
		"replaced-compaction: of OpenAI":           {gpt, conversation(compacted(gpt), user), "u a[OT] u", nil, false},
		"replaced-compaction: of another provider": {gpt, conversation(compacted(opus), user), "u a[t] u", nil, false},
		"replaced-compaction: of another model": {
			fable, conversation(compacted(opus), user), "u a[t] u", nil, false,
		},
	})
	all := conversation(compacted(opus), user, compacted(opus), user)
	out, err := Build(
		History{Messages: all, Compactions: []Compaction{{Through: 3, Summary: "s", Kept: []int{1, 2}, Made: 3}}},
		target(t, opus),
	)
	if got := sketch(out.Messages); err != nil || got != "u a[T] u a[OT] u" || len(out.Degraded) > 0 {
		t.Errorf("after a summary: %s, %v, %v", got, out.Degraded, err)
	}
}

// TestCompaction: the view, its pairs, and thinking bound to what is gone.
func TestCompaction(t *testing.T) {
	system := transcript.System("s")
	long := []transcript.Message{
		system, user, says(by(fable, signed("x"), call("1"))...), answer("1"),
		says(by(fable, signed("y"), transcript.Text("t"))...), user,
	}
	after := slices.Concat(long, []transcript.Message{says(by(fable, signed("z"), transcript.Text("t"))...), user})
	for name, c := range map[string]struct {
		model    string
		messages []transcript.Message
		c        Compaction
		want     string
		lost     []string
	}{
		"summary and tail": {
			opus, long, Compaction{Through: 4, Summary: "sum", Made: 6}, "s u a[t] u", []string{"other-model"},
		},
		"bound thinking goes": {
			fable, long, Compaction{Through: 4, Summary: "sum", Made: 6}, "s u a[t] u", []string{"compacted-thinking"},
		},
		"thinking after it stays": {
			fable, after, Compaction{Through: 4, Summary: "sum", Made: 6}, "s u a[t] u a[Rt] u",
			[]string{"compacted-thinking"},
		},
		"between call and result": {
			opus, long, Compaction{Through: 3, Summary: "sum", Made: 6}, "s u a[t] u",
			[]string{"orphan-result", "other-model"},
		},
		"kept with its result": {
			gpt, long, Compaction{Through: 4, Summary: "sum", Kept: []int{2, 3}, Made: 6}, "s u a[c] r[1] a[t] u",
			[]string{"foreign-thinking", "foreign-thinking"},
		},
		"kept without its result": {
			gpt, long, Compaction{Through: 4, Summary: "sum", Kept: []int{2}, Made: 6}, "s u a[c] r[1] a[t] u",
			[]string{"foreign-thinking", "open-call", "foreign-thinking"},
		},
		"no summary": {
			gpt, long, Compaction{Through: 4, Made: 6}, "s u a[t] u", []string{"foreign-thinking"},
		},
		"all of it": {gpt, long, Compaction{Through: 6, Summary: "sum", Made: 6}, "s u", nil},
		"what was ahead stays once": {
			gpt, long, Compaction{Through: 6, Summary: "sum", Kept: []int{0, 1}, Made: 6}, "s u u", nil,
		},
	} {
		out, err := Build(
			History{Messages: c.messages, Compactions: []Compaction{{Through: 1, Summary: "old"}, c.c}},
			target(t, c.model),
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := sketch(out.Messages); got != c.want {
			t.Errorf("%s: sent %s, want %s", name, got, c.want)
		}
		if diff := cmp.Diff(c.lost, lost(out.Degraded), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
