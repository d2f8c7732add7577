package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

const (
	thought1 = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAAAABsyntheticheron31=="}`
	thought2 = `{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gAAAAABsyntheticstork32=="}`
	call2    = `{"type":"function_call","id":"fc_2","call_id":"call_2","name":"ls","arguments":"{\"path\":\"b\"}"}`
	answer2  = `{"type":"function_call_output","call_id":"call_2","output":"b.txt"}`
)

// TestReasoningAtResume: a process that resumes a conversation with OpenAI sends the reasoning
// that the one before it sent or got.
func TestReasoningAtResume(t *testing.T) {
	const (
		more    = `"store":false,`
		bare    = `{"id":"rs_1","type":"reasoning","summary":[]}`
		refused = `{"error":{"message":"The encrypted content for item rs_1 could not be verified."}}`
	)
	turn := strings.Join([]string{words, thought1, keptCall, answer}, ",")
	whole := strings.Join([]string{turn, thought2, call2, answer2}, ",")
	for name, tt := range map[string]struct {
		input, model string
		isRefused    bool
		want         string // part of the first message
		consequence  specs.Consequence
	}{
		"all of it":             {input: whole},
		"all, and a new prompt": {input: whole + "," + words},
		"that of the request": {input: strings.Replace(whole, thought1+",", "", 1),
			want: "rs_1, which exchange 1 held at input[1], is gone"},
		"its ciphertext": {input: strings.Replace(whole, thought1, bare, 1),
			want: "rs_1, which exchange 1 held at input[1], has lost its encrypted content"},
		"that of the reply": {input: strings.Replace(whole, thought2+",", "", 1),
			want: "rs_2, which exchange 1 held in its reply, is gone"},
		"of a closed turn": {input: strings.Replace(whole, thought1+",", "", 1) + "," + words, want: "rs_1",
			consequence: specs.Degraded},
		"another model": {input: strings.ReplaceAll(strings.Replace(whole, thought1+",", "", 1), thought2+",",
			""), model: "gpt-5.5"},
		"after it was refused": {input: strings.Replace(whole, thought1+",", "", 1), isRefused: true},
		"one that was never":   {input: whole + `,{"role":"assistant","content":"Hm."},` + words},
	} {
		list := []evidence.Exchange{keptTurn(0, more, words, "resp_1", thought1+","+keptCall),
			keptTurn(1, more, turn, "resp_2", thought2+","+call2)}
		if tt.isRefused {
			list = append(list, asked(2, evidence.OpenAI, `{"model":"gpt-4.1","store":false,"input":[`+whole+`]}`,
				400, refused))
		}
		last := keptTurn(len(list), more, tt.input, "resp_3", "")
		if tt.model != "" {
			last.Request.Body = []byte(strings.Replace(string(last.Request.Body), "gpt-4.1", tt.model, 1))
		}
		res := find(t, "RES-001/reasoning").Run(resumedAt(len(list), append(list, last)...))
		if (len(res.Findings) > 0) != (tt.want != "") || tt.want != "" &&
			(!strings.Contains(res.Findings[0].Message, tt.want) || res.Findings[0].Consequence != tt.consequence ||
				len(res.Findings) > 1) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
		if (res.Observed == 0) != tt.isRefused {
			t.Errorf("%s: %d seen", name, res.Observed)
		}
	}
}

// TestReasoningOfClosedTurns: an agent that leaves out reasoning at every prompt does so at a
// resume as well.
func TestReasoningOfClosedTurns(t *testing.T) {
	const more, said = `"store":false,`, `{"role":"assistant","content":"It is empty.","type":"message","id":"msg_1"}`
	for kept, want := range map[string]int{thought1 + ",": 1, "": 0} {
		turn := words + "," + thought1 + "," + keptCall + "," + answer
		next := words + "," + kept + keptCall + "," + answer + "," + said + "," + words
		trace := resumedAt(4, keptTurn(0, more, words, "resp_1", thought1+","+keptCall),
			keptTurn(1, more, turn, "resp_2", said),
			keptTurn(2, more, next, "resp_3", thought2+","+call2),
			keptTurn(3, more, next+","+thought2+","+call2+","+answer2, "resp_4", ""),
			keptTurn(4, more, next+","+call2+","+answer2+","+words, "resp_5", ""))
		if res := find(t, "RES-001/reasoning").Run(trace); len(res.Findings) != want {
			t.Errorf("kept %q: %+v", kept, res.Findings)
		}
	}
}
