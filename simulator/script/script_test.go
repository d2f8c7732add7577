package script

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/specs"
)

// TestPieces holds that cutting loses nothing and splits no character.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(1, 9).Draw(t, "n")
		for name, pieces := range map[string][]string{"words": Words(text, n), "slices": Slices(text, n)} {
			if strings.Join(pieces, "") != text {
				t.Fatalf("%s: %q does not join to %q", name, pieces, text)
			}
			for _, p := range pieces {
				if p == "" || !utf8.ValidString(p) {
					t.Fatalf("%s: piece %q", name, p)
				}
			}
		}
	})
}

func TestWords(t *testing.T) {
	got := strings.Join(Words("One two  three four", 2), "|")
	if want := "One two|  three four"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCutKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 20), 1, 10).Draw(t, "frames")
		plan := specs.Chunks{
			Whole: rapid.Bool().Draw(t, "whole"),
			Sizes: rapid.SliceOfN(rapid.IntRange(1, 30), 0, 4).Draw(t, "sizes"),
		}
		writes := cutReply(frames, plan)
		if !bytes.Equal(bytes.Join(writes, nil), bytes.Join(frames, nil)) {
			t.Fatal("bytes differ")
		}
		for i, w := range writes[:len(writes)-1] {
			if len(plan.Sizes) > 0 && !plan.Whole && len(w) != plan.Sizes[i%len(plan.Sizes)] {
				t.Fatalf("write %d has %d bytes, the plan says %v", i, len(w), plan.Sizes)
			}
		}
	})
}

func TestJSON(t *testing.T) {
	got := JSON(Object{"z", "<é\u2028>", "a", Array{nil, 1, true, Object{}}, "raw", json.RawMessage(`{"b": 1.0}`)})
	want := "{\"z\":\"<é\\u2028>\",\"a\":[null,1,true,{}],\"raw\":{\"b\": 1.0}}"
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRuns(t *testing.T) {
	for want, own := range [][]bool{{}, {false, true, true, false}, {true, false, false, true}} {
		if got := Runs(own); got != want {
			t.Errorf("%v: %d runs, want %d", own, got, want)
		}
	}
}

// TestPick holds that a turn with prompts replaces the one before it once the
// user has asked again.
func TestPick(t *testing.T) {
	turns := []specs.Turn{{}, {}, {Prompts: 2}, {Prompts: 3}, {}}
	for _, c := range []struct{ own, prompts, want int }{
		{0, 1, 0}, {1, 1, 1}, {1, 2, 2}, {1, 5, 3}, {2, 1, 4}, {3, 1, -1}, {0, 2, 0},
	} {
		if got := pickTurn(turns, "", Request{Turns: c.own, Prompts: c.prompts}); got != c.want {
			t.Errorf("%d turns and %d prompts: turn %d, want %d", c.own, c.prompts, got, c.want)
		}
	}
}

// TestPickAfterPause holds that the turn behind a pause goes on with it, and
// that both count as one from then on.
func TestPickAfterPause(t *testing.T) {
	turns := []specs.Turn{{}, {Stop: specs.StopPause}, {}, {}}
	for _, c := range []struct {
		own  int
		on   bool
		want int
	}{{0, false, 0}, {1, false, 1}, {2, true, 2}, {2, false, 3}, {3, false, -1}, {1, true, 1}} {
		if got := pickTurn(turns, "", Request{Turns: c.own, Prompts: 1, Continues: c.on}); got != c.want {
			t.Errorf("%d turns, continues %t: turn %d, want %d", c.own, c.on, got, c.want)
		}
	}
	if got := pickTurn(turns[:3], "", Request{Turns: 2, Prompts: 1}); got != -1 {
		t.Errorf("turn %d goes on after a prompt", got)
	}
}

func TestToolFor(t *testing.T) {
	tools := []string{"not_conform_echo_really", "mcp__srv__conform_echo", "conform_noargs", "xconform_fail"}
	for _, name := range []string{"srv_conform_echo", "mcp_srv_conform_echo", "srv.conform_echo", "srv/conform_echo"} {
		if got := toolFor("echo", []string{"xconform_echo", name}, nil); got != name {
			t.Errorf("%q, want %s", got, name)
		}
	}
	own := []Tool{{Name: "Bash"}, {Name: "Look"}}
	for role, want := range map[string]string{"echo": "mcp__srv__conform_echo", "noargs": "conform_noargs", "fail": "",
		"any": "Look"} {
		if got := toolFor(role, tools, own); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
	if got := toolFor("any", tools, own[:1]); got != "Bash" {
		t.Errorf("with one tool: %q", got)
	}
	if got := toolFor("any", tools, nil); got != "" {
		t.Errorf("without tools of the client's: %q", got)
	}
}

// TestThoughtsFollowTheRequest holds that a script shows no thought that the
// request's settings rule out.
func TestThoughtsFollowTheRequest(t *testing.T) {
	s := &Script{Now: time.Now, Scenario: &specs.Scenario{
		Name: "x", Targets: []specs.Target{{Provider: "openai", Model: "m"}},
		Turns: []specs.Turn{{Emit: []specs.Block{
			{Kind: specs.KindThinking, Parts: []string{"thought"}},
			{Kind: specs.KindRedacted},
			{Kind: specs.KindText, Text: "t"},
			{Kind: specs.KindText, Text: "other", Only: []string{"gemini"}},
		}}},
	}}
	for _, c := range []struct {
		thinks, shown bool
		blocks, parts int
	}{{false, false, 1, 0}, {true, false, 3, 0}, {true, true, 3, 1}} {
		reply, refusal := s.Reply(Request{Provider: "openai", Model: "m", Thinks: c.thinks, Shown: c.shown})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if len(reply.Blocks) != c.blocks || len(reply.Blocks[0].Parts) != c.parts {
			t.Errorf("thinks=%t shown=%t: %+v", c.thinks, c.shown, reply.Blocks)
		}
	}
	if _, refusal := s.Reply(Request{Provider: "gemini", Model: "m"}); refusal == nil {
		t.Error("a provider without a target is served")
	}
}
