package handoff

import (
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestMedia: unsupported-media.
func TestMedia(t *testing.T) {
	with := func(m transcript.Message, parts ...transcript.Part) transcript.Message {
		m.Parts = parts
		return m
	}
	png := transcript.Part{Type: "image", MediaType: "image/png", Data: []byte("x")}
	bmp := transcript.Part{Type: "image", MediaType: "image/bmp", Data: []byte("x")}
	heic := transcript.Part{Type: "image", MediaType: "image/heic", Data: []byte("x")}
	huge := transcript.Part{Type: "image", MediaType: "image/png", Data: make([]byte, 4<<20)}
	result := func(isError bool, parts ...transcript.Part) transcript.Message {
		return transcript.ToolResults(transcript.ToolResult{
			ToolUseID: "1", Content: "c", IsError: isError, Parts: parts,
		})
	}
	drawn := opaque("inlineData", `{"inlineData":{}}`)
	drawn.Parts = []transcript.Part{png}
	run(t, map[string]ruleCase{
		"unsupported-media: taken": {opus, []transcript.Message{with(user, png)}, "u", nil, false},
		"unsupported-media: not taken": {
			opus, []transcript.Message{with(user, bmp, png)}, "u", []string{"unsupported-media"}, false,
		},
		"unsupported-media: not taken elsewhere": {
			flash, []transcript.Message{with(user, bmp)}, "u", []string{"unsupported-media"}, false,
		},
		"unsupported-media: taken elsewhere": {flash, []transcript.Message{with(user, heic)}, "u", nil, false},
		"unsupported-media: too large": {
			opus, []transcript.Message{with(user, huge)}, "u", []string{"unsupported-media"}, false,
		},
		"unsupported-media: nothing in it": {
			flash, []transcript.Message{with(user, transcript.Part{Type: "image", MediaType: "image/png"})}, "u",
			[]string{"unsupported-media"}, false,
		},
		"unsupported-media: in a result": {
			opus, conversation(says(call("1")), result(false, png)), "u a[c] r[1]", nil, false,
		},
		"unsupported-media: in an error": {
			opus, conversation(says(call("1")), result(true, png)), "u a[c] r[1]", []string{"unsupported-media"},
			false,
		},
		"unsupported-media: in an error of GPT": {
			gpt, conversation(says(call("1")), result(true, png)), "u a[c] r[1]", nil, false,
		},
		"unsupported-media: of a developer": {
			gpt, conversation(with(transcript.Developer("d"), png)), "u d", []string{"unsupported-media"}, false,
		},
		"unsupported-media: drawn by the model": {
			opus, conversation(says(by(flash, drawn)...), user), "u a[t] u", []string{"unsupported-media"}, false,
		},
		"unsupported-media: drawn at home": {
			flash, conversation(says(by(flash, drawn)...), user), "u a[O] u", nil, false,
		},
		"unsupported-media: of a whole reply": {
			opus, conversation(with(says(transcript.Text("t")), png), user), "u a[tt] u",
			[]string{"unsupported-media"}, false,
		},
		"unsupported-media: of an orphan result": {
			opus, conversation(result(true, png), user), "u u", []string{"orphan-result"}, false,
		},
	})
}

func TestRoles(t *testing.T) {
	reply := says(transcript.Text("t"))
	run(t, map[string]ruleCase{
		"a reply first":   {opus, []transcript.Message{reply, user}, "u a[t] u", nil, false},
		"a reply last":    {opus, conversation(reply), "u a[t] u", nil, false},
		"a prefilled one": {gpt, conversation(reply), "u a[t]", nil, false},
		"two in a row":    {flash, conversation(reply, reply, user), "u a[t] u a[t] u", nil, false},
		"one that came to nothing": {
			flash, conversation(reply, transcript.Assistant(transcript.StopAborted), user), "u a[t] u u", nil, false,
		},
		"an empty user":          {opus, conversation(transcript.User(" "), reply, user), "u a[t] u", nil, false},
		"system ahead":           {opus, []transcript.Message{transcript.System("s"), user}, "s u", nil, false},
		"system later":           {opus, conversation(reply, transcript.System("s")), "u a[t] s", nil, false},
		"developer after a user": {opus, conversation(transcript.Developer("d")), "u d", nil, false},
	})
	for name, messages := range map[string][]transcript.Message{
		"none": nil, "system only": {transcript.System("s")}, "blank": {transcript.User("\n")},
	} {
		if _, err := Build(History{Messages: messages}, target(t, opus)); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v, want ErrNothing", name, err)
		}
	}
}

// TestSilenced: a model that is not to think does not get what it thought
// before, and what a reply did besides stays.
func TestSilenced(t *testing.T) {
	h := History{
		Messages: conversation(
			says(by(
				budget, signed("x"), opaque("server_tool_use", `{"id":"s"}`),
				opaque("x_tool_result", `{"tool_use_id":"s"}`), transcript.Text("t"),
			)...),
			user,
		),
	}
	for effort, want := range map[string]string{"": "u a[ROOt] u", "none": "u a[OOt] u"} {
		to := target(t, budget)
		to.Effort = effort
		out, _ := Build(h, to)
		if got := sketch(out.Messages); got != want || len(out.Degraded) != len("u a[ROOt] u")-len(want) {
			t.Errorf("effort %q: %s, %v", effort, got, out.Degraded)
		}
	}
}
