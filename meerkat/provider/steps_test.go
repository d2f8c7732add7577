package provider

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

func calls(ids ...string) transcript.Message {
	var blocks []transcript.Block
	for _, id := range ids {
		blocks = append(blocks, transcript.ToolUse(id, "t", []byte("{}")))
	}
	return transcript.Assistant(transcript.StopToolUse, blocks...)
}

func results(ids ...string) transcript.Message {
	var all []transcript.ToolResult
	for _, id := range ids {
		all = append(all, transcript.ToolResult{ToolUseID: id, Content: "r:" + id})
	}
	return transcript.ToolResults(all...)
}

func TestStepsPairInCallOrder(t *testing.T) {
	steps, err := Steps([]transcript.Message{
		transcript.User("go"), calls("a", "b", "c"), results("c"), results("a", "b"), transcript.User("next"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, s := range steps {
		at = append(at, s.At)
	}
	if d := cmp.Diff([]int{0, 1, 2, 4}, at); d != "" {
		t.Fatal(d)
	}
	var got []string
	for _, a := range steps[2].Answers {
		got = append(got, a.ID+"="+a.Result.Content)
	}
	if d := cmp.Diff([]string{"a=r:a", "b=r:b", "c=r:c"}, got); d != "" {
		t.Error(d)
	}
}

func TestStepsRefuseBrokenPairs(t *testing.T) {
	user := transcript.User("x")
	for name, c := range map[string]struct {
		messages []transcript.Message
		want     string
	}{
		"orphan call at the end": {
			[]transcript.Message{user, calls("a", "b"), results("a")}, `messages[1]: tool call "b" has no result`,
		},
		"orphan call, then user": {
			[]transcript.Message{user, calls("a"), user}, `messages[1]: tool call "a" has no result`,
		},
		"answer too late": {
			[]transcript.Message{user, calls("a"), user, results("a")}, `messages[1]: tool call "a" has no result`,
		},
		"orphan result": {
			[]transcript.Message{user, results("z")}, `messages[1]: tool call "z" is answered here, but`,
		},
		"result of another call": {
			[]transcript.Message{user, calls("a"), results("a", "z")},
			`messages[2]: tool call "z" is answered here, but`,
		},
		"two results": {
			[]transcript.Message{user, calls("a"), results("a", "a")}, `messages[2]: tool call "a" is answered twice`,
		},
		"two results, two turns": {
			[]transcript.Message{user, calls("a"), results("a"), results("a")},
			`messages[3]: tool call "a" is answered twice`,
		},
		"one id twice in a reply": {
			[]transcript.Message{user, calls("a", "a"), results("a")},
			`messages[1]: tool call "a" has no id of its own`,
		},
		"no id twice in a reply": {
			[]transcript.Message{user, calls("", ""), results("")}, `messages[1]: tool call "" has no id of its own`,
		},
		"unknown role": {[]transcript.Message{{Role: "tool"}}, `messages[0]: role "tool" is unknown`},
		"unknown block": {
			[]transcript.Message{user, transcript.Assistant("", transcript.Block{Type: "image"})},
			`messages[1]: block 0 has the unknown type "image"`,
		},
	} {
		_, err := Steps(c.messages)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		var pair *PairError
		if strings.Contains(c.want, "tool call") && !errors.As(err, &pair) {
			t.Errorf("%s: %T is no PairError", name, err)
		}
	}
}

// A call id that came before gets another one on the wire, call and result
// alike (A-18, R13).
func TestStepsRenameReusedIDs(t *testing.T) {
	steps, err := Steps([]transcript.Message{
		transcript.User("x"), calls("fc_0"), results("fc_0"), calls("fc_0"), results("fc_0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	first, second := steps[1].IDs[0], steps[3].IDs[0]
	if first != "fc_0" || second == first || steps[4].Answers[0].ID != second || steps[2].Answers[0].ID != first {
		t.Errorf("ids %s and %s, answered as %s and %s", first, second, steps[2].Answers[0].ID, steps[4].Answers[0].ID)
	}
}

var everywhere = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Every wire id fits every provider, and two calls never share one.
func TestWireIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(
			rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9_.|-]{60,70}`)), 2, 8,
		).Draw(t, "ids")
		seen := map[string]string{}
		for _, id := range ids {
			for n := range 2 {
				got := wireID(id, n)
				key := string(rune('0'+n)) + id
				if !everywhere.MatchString(got) {
					t.Fatalf("%q: %q fits not everywhere", id, got)
				}
				if other, taken := seen[got]; taken && other != key {
					t.Fatalf("%q and %q are both %s", other, key, got)
				}
				seen[got] = key
				if n == 0 && everywhere.MatchString(id) && got != id {
					t.Fatalf("%q needs no mapping and became %q", id, got)
				}
			}
		}
	})
}
