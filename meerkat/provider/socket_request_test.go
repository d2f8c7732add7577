package provider

import (
	"encoding/json"
	"testing"
)

func parse(t *testing.T, body string) socketRequest {
	t.Helper()
	q, err := parseSocketRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestNewInput holds what travels alone, and that everything else goes out whole.
func TestNewInput(t *testing.T) {
	const (
		asked  = `{"role":"user","content":"hi"}`
		called = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		result = `{"type":"function_call_output","call_id":"c1","output":"ok"}`
	)
	last := &heldResponse{
		id:      "resp_1",
		request: parse(t, `{"model":"m","input":[`+asked+`]}`),
		output:  []json.RawMessage{json.RawMessage(`{"status":"completed","type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"}`)},
	}
	for name, c := range map[string]struct {
		last *heldResponse
		body string
		want int
	}{
		"the result of a call": {last, `{"model":"m","input":[` + asked + `,` + called + `,` + result + `]}`, 1},
		"more than one": {
			last, `{"model":"m","input":[` + asked + `,` + called + `,` + result + `,` + asked + `]}`, 2,
		},
		"other tools": {
			last, `{"model":"m","tools":[{}],"input":[` + asked + `,` + called + `,` + result + `]}`, 1,
		},
		"nothing held":  {nil, `{"model":"m","input":[` + asked + `]}`, 0},
		"nothing new":   {last, `{"model":"m","input":[` + asked + `,` + called + `]}`, 0},
		"another model": {last, `{"model":"n","input":[` + asked + `,` + called + `,` + result + `]}`, 0},
		"an edited prompt": {
			last, `{"model":"m","input":[{"role":"user","content":"ho"},` + called + `,` + result + `]}`, 0,
		},
		"an edited reply": {
			last,
			`{"model":"m","input":[` + asked +
				`,{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},` + result + `]}`,
			0,
		},
		"a member of our own": {
			last,
			`{"model":"m","input":[` + asked +
				`,{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","x":1},` + result + `]}`,
			0,
		},
		"without the reply": {last, `{"model":"m","input":[` + asked + `,` + result + `,` + asked + `]}`, 0},
		"a text as input":   {last, `{"model":"m","input":"hi"}`, 0},
		"another conversation": {
			last, `{"model":"m","input":[{"role":"user","content":"a"},{"role":"user","content":"b"},` + asked + `]}`,
			0,
		},
		"a response without name": {
			&heldResponse{request: last.request, output: last.output},
			`{"model":"m","input":[` + asked + `,` + called + `,` + result + `]}`, 0,
		},
	} {
		if got := c.last.newInput(parse(t, c.body)); len(got) != c.want {
			t.Errorf("%s: %d items are new (%s), not %d", name, len(got), got, c.want)
		}
	}
}

// TestMessageOf holds that the members of the request travel as they are, except for those
// of HTTP.
func TestMessageOf(t *testing.T) {
	q := parse(t, `{"model":"m","stream":true,"big":12345678901234567890,"instructions":"a<b","input":[1,2,3]}`)
	for _, c := range []struct{ previous, want string }{
		{"", `{"big":12345678901234567890,"input":[1,2,3],"instructions":"a<b","model":"m","type":"response.create"}`},
		{
			"r",
			`{"big":12345678901234567890,"input":[3],"instructions":"a<b","model":"m","previous_response_id":"r","type":"response.create"}`,
		},
	} {
		if got, err := createMessage(q, c.previous, q.input[2:]); err != nil || string(got) != c.want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// FuzzNewInput: what is sent alone and what is held make the request together.
func FuzzNewInput(f *testing.F) {
	f.Add(`{"model":"m","input":[1]}`, `[{"a":1,"b":2}]`, `{"model":"m","input":[1,{"a":1},2]}`)
	f.Fuzz(func(t *testing.T, before, output, after string) {
		last := &heldResponse{id: "r"}
		var errs [3]error
		last.request, errs[0] = parseSocketRequest([]byte(before))
		errs[1] = json.Unmarshal([]byte(output), &last.output)
		q, err := parseSocketRequest([]byte(after))
		if errs[0] != nil || errs[1] != nil || err != nil {
			return
		}
		rest := last.newInput(q)
		if held := len(last.request.input) + len(last.output); len(rest) > 0 && held+len(rest) != len(q.input) {
			t.Errorf("%d held and %d new of %d", held, len(rest), len(q.input))
		}
	})
}
