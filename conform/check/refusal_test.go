package check_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/specs"
)

// asked is one request of a provider, with any body.
func asked(i int, provider, body string, status int, reply string) evidence.Exchange {
	url := map[string]string{
		evidence.Anthropic: "https://api.anthropic.com/v1/messages",
		evidence.OpenAI:    "https://api.openai.com/v1/responses",
		evidence.Gemini:    "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:generateContent",
		"chat":             "https://chat.example/v1/chat/completions",
	}[provider]
	return evidence.Exchange{Index: i, Process: -1, Provider: provider,
		Request:  evidence.Request{Method: http.MethodPost, URL: url, Body: []byte(body), Header: http.Header{}},
		Response: evidence.Response{Status: status, Body: []byte(reply), Header: http.Header{}}}
}

func recording(list ...evidence.Exchange) *check.Trace {
	return check.Decode(&evidence.Evidence{Source: evidence.SourceRecording, Case: "made-up", Exchanges: list})
}

var minimal = map[string]string{
	evidence.Anthropic: `{"model":"claude-opus-4-6","max_tokens":10,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"a"}]}]}`,
	evidence.OpenAI:    `{"model":"gpt-5.2","input":[{"role":"user","content":"hi"}]}`,
	evidence.Gemini:    `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
	"chat":             `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
}

var errorShapes = map[string]string{
	evidence.Anthropic: `{"type":"error","error":{"type":"invalid_request_error","message":"WORDS"}}`,
	evidence.OpenAI:    `{"error":{"message":"WORDS","type":"invalid_request_error","param":null,"code":null}}`,
	evidence.Gemini:    `{"error":{"code":400,"message":"WORDS","status":"INVALID_ARGUMENT"}}`,
	"chat":             `{"error":{"message":"WORDS","type":"invalid_request_error"}}`,
}

// TestRefusalKinds: what is refused for its form is told from everything else, and the
// rule is named by the words. A row holds the message of the error, or a whole body.
func TestRefusalKinds(t *testing.T) {
	for _, r := range readTable(t, "refusals") {
		provider, rule, kind := r.fields[0], r.fields[2], check.RefusalKind(strings.Join(r.fields[3:], " "))
		status, err := strconv.Atoi(r.fields[1])
		if err != nil {
			t.Fatal(err)
		}
		reply := strings.Replace(errorShapes[provider], "WORDS", r.text, 1)
		if strings.HasPrefix(r.text, "{") || strings.HasPrefix(r.text, "data:") {
			reply = r.text
		}
		got := recording(asked(0, provider, minimal[provider], status, reply)).Refusals()
		if len(got) != 1 || got[0].Kind != kind || got[0].Rule != rule {
			t.Errorf("%s %d %q: %+v", provider, status, r.text, got)
		}
		res := find(t, "ERR-001/form").Run(recording(asked(0, provider, minimal[provider], status, reply)))
		if fault := kind == check.RefusedForm; res.Observed != 1 || (len(res.Findings) == 1) != fault {
			t.Errorf("%s %d %q: ERR-001 %+v", provider, status, r.text, res)
		}
	}
}

// cutWords are messages of the wire rules that their table shows cut off before the words by
// which they are known, or that are known by their status.
var cutWords = []string{
	"model: NAME",
	"Incorrect API key provided: … You can find your API key at https://platform.openai.com/account/api-keys.",
	"Rate limit reached for X … Please try again in 1.2s.", "The model is overloaded. Please try again later.",
	"… for custom tool call …", "… for local shell call …", "… for shell call output …",
	"….properties[a].items: missing field.", "….properties: only allowed for OBJECT type",
	"Request contains an invalid argument.",
}

// TestWordsOfTheWireRules: what section 5 of the wire rules says that a provider answers is known
// by its words.
func TestWordsOfTheWireRules(t *testing.T) {
	rules, err := specs.WireRules()
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("``\\s?(.+?)\\s?``|`([^`]+)`")
	providers := map[string]string{"5.1": evidence.Anthropic, "5.2": evidence.OpenAI, "5.3": evidence.Gemini}
	seen := 0
	for _, rule := range rules {
		provider := providers[rule.Section[:min(3, len(rule.Section))]]
		if provider == "" || len(rule.Cells) < 2 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(rule.Cells[1].Text, -1) {
			words := m[1] + m[2]
			said, err := json.Marshal(words)
			if err != nil {
				t.Fatal(err)
			}
			reply := strings.Replace(errorShapes[provider], `"WORDS"`, string(said), 1)
			if strings.Count(words, " ") < 2 {
				continue // a code, or the name of a member
			}
			seen++
			got := recording(asked(0, provider, minimal[provider], 400, reply)).Refusals()[0]
			if got.Kind == check.RefusedForm && !slices.Contains(rule.IDs, got.Rule) &&
				!slices.Contains(cutWords, words) {
				t.Errorf("%s says %q, which is taken for %q", rule.IDs[0], words, got.Rule)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d messages were read from the wire rules", seen)
	}
}

// TestRefusalWords: secrets, tokens and control characters of a provider's words do not
// reach a report, and what gateways write in other places does.
func TestRefusalWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Incorrect key sk-abcdef1234567890 given"}}`: "Incorrect key sk-a… given",
		`{"error":{"message":"a\u001b[31m\u202eb\nc"}}`:                   `a\x1b[31m\u202eb c`,
		`{"error":"plain"}`: "plain",
		`{"detail":[{"loc":["body"],"msg":"field required"}]}`: `[{"loc":["body"],"msg":"field required"}]`,
		`<html>Bad Request</html>`:                             "<html>Bad Request</html>",
		`{"error":{"message":"The encrypted content gAAAAABsynthetic0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ could not be verified."}}`: "The encrypted content gAAAAA…WXYZ could not be verified.",
		``: "",
	} {
		got := recording(asked(0, "openai", minimal["openai"], 400, body)).Refusals()
		if len(got) != 1 || got[0].Words != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// TestRefusalPlace: the finding points to what the words speak of.
func TestRefusalPlace(t *testing.T) {
	for _, c := range []struct{ provider, reply, path string }{
		{"anthropic", `{"error":{"message":"messages.1.content.0.text.text: Input should be a valid string"}}`,
			"messages[1].content[0].text"},
		{"openai", `{"error":{"message":"Invalid value","param":"input[0].content"}}`, "input[0].content"},
		{"gemini",
			`{"error":{"message":"* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field"}}`, "contents[0].parts[0]"},
		{"openai", `{"error":{"message":"no"}}`, ""},
	} {
		res := find(t, "ERR-001/form").Run(recording(asked(0, c.provider, minimal[c.provider], 400, c.reply)))
		if len(res.Findings) != 1 || res.Findings[0].Path != c.path || (res.Findings[0].Offset < 0) != (c.path == "") {
			t.Errorf("%s: %+v", c.reply, res.Findings)
		}
	}
}

// TestRepeatedAfterRefusal: the same request again after a refusal is a loop; a changed
// one, or one that is then accepted, is none.
func TestRepeatedAfterRefusal(t *testing.T) {
	refused := `{"error":{"message":"Unknown parameter: 'input[0].foo'."}}`
	body, other := minimal["openai"], strings.Replace(minimal["openai"], "gpt-5.2", "gpt-5.4", 1)
	longer := strings.Replace(body, `"hi"}`, `"hi"},{"role":"user","content":"again"}`, 1)
	for _, c := range []struct {
		name, body   string
		status       int
		reply        string
		bytes, words bool
	}{
		{"the same bytes", body, 400, refused, true, false},
		{"the same bytes, now overloaded", body, 503, `{"error":{"message":"Overloaded"}}`, true, false},
		{"the same bytes, now accepted", body, 200, `{"output":[]}`, false, false},
		{"another model", other, 400, refused, false, false},
		{"a longer conversation, the same fault", longer, 400, refused, false, true},
		{"a longer conversation, another fault", longer, 400, `{"error":{"message":"other"}}`, false, false},
	} {
		tr := recording(asked(0, "openai", body, 400, refused), asked(1, "openai", c.body, c.status, c.reply))
		bytes, words := find(t, "ERR-002/same-bytes").Run(tr), find(t, "ERR-002/same-words").Run(tr)
		if (len(bytes.Findings) > 0) != c.bytes || (len(words.Findings) > 0) != c.words {
			t.Errorf("%s: %+v %+v", c.name, bytes, words)
		}
	}
	rate := recording(asked(0, "openai", body, 429, `{"error":{"message":"slow down"}}`),
		asked(1, "openai", body, 429, `{"error":{"message":"slow down"}}`))
	if res := find(t, "ERR-002/same-bytes").Run(rate); len(res.Findings) > 0 || res.Observed > 0 {
		t.Errorf("a retry after 429: %+v", res)
	}
}

// TestRepeatedOperations: other operations are not sent again either. What is refused for one
// says nothing about another, and a question without a body may be asked again.
func TestRepeatedOperations(t *testing.T) {
	refused := `{"error":{"message":"Unknown parameter: 'input[0].foo'."}}`
	const openAI, anthropic, gemini = "https://api.openai.com/v1/", "https://api.anthropic.com/v1/",
		"https://generativelanguage.googleapis.com/v1beta/"
	for _, c := range []struct {
		provider, first, then, body string
		want                        bool
	}{
		{"openai", openAI + "responses/compact", openAI + "responses/compact", minimal["openai"], true},
		{"openai", openAI + "responses/input_tokens", openAI + "responses/input_tokens", minimal["openai"], true},
		{"openai", openAI + "batches", openAI + "batches", `{"input_file_id":"file-1"}`, true},
		{"anthropic", anthropic + "messages/count_tokens", anthropic + "messages/count_tokens",
			minimal["anthropic"], true},
		{"anthropic", anthropic + "messages/batches", anthropic + "messages/batches", `{"requests":[]}`, true},
		{"gemini", gemini + "models/gemini-3-pro:countTokens", gemini + "models/gemini-3-pro:countTokens",
			minimal["gemini"], true},
		{"gemini", gemini + "cachedContents", gemini + "cachedContents", minimal["gemini"], true},
		{"openai", openAI + "responses/compact", openAI + "responses", minimal["openai"], false},
		{"openai", openAI + "responses/compact", openAI + "responses/input_tokens", minimal["openai"], false},
		{"openai", openAI + "responses/resp_1", openAI + "responses/resp_1", ``, false},
	} {
		first, then := asked(0, c.provider, c.body, 400, refused), asked(1, c.provider, c.body, 400, refused)
		first.Request.URL, then.Request.URL = c.first, c.then
		if res := find(t, "ERR-002/same-bytes").Run(recording(first, then)); (len(res.Findings) > 0) != c.want {
			t.Errorf("%s, then %s: %+v", c.first, c.then, res)
		}
		then.Response.Status, then.Response.Body = 200, []byte(`{"object":"ok"}`)
		if res := find(t, "ERR-002/same-bytes").Run(recording(first, then)); len(res.Findings) > 0 {
			t.Errorf("%s, then accepted: %+v", c.first, res)
		}
	}
}

// TestUnreadableReplies: each way in which a 200 is not a reply, and the nearest that is
// one.
func TestUnreadableReplies(t *testing.T) {
	stream := strings.Replace(minimal["openai"], `{"model"`, `{"stream":true,"model"`, 1)
	event := "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n"
	for _, c := range []struct{ name, provider, body, reply, check string }{
		{"nothing for a stream", "openai", stream, "", "ERR-003/empty"},
		{"nothing", "anthropic", minimal["anthropic"], " \n", "ERR-003/empty"},
		{"a page for a stream", "openai", stream, "<html>Sign in</html>", "ERR-003/event"},
		{"comments for a stream", "openai", stream, ": ping\n\n: ping\n\n", "ERR-003/event"},
		{"a page", "gemini", minimal["gemini"], "<html>Sign in</html>", "ERR-003/provider-object"},
		{"half a document", "anthropic", minimal["anthropic"], `{"type":"message","content":[{"type":"te`,
			"ERR-003/whole-document"},
		{"half a document for a stream", "openai", stream, `{"output":[`, "ERR-003/whole-document"},
		{"another document", "anthropic", minimal["anthropic"], `{"ok":true}`, "ERR-003/provider-object"},
		{"another document", "openai", minimal["openai"], `{"ok":true}`, "ERR-003/provider-object"},
		{"another document", "gemini", minimal["gemini"], `{"ok":true}`, "ERR-003/provider-object"},
		{"a reply", "anthropic", minimal["anthropic"], `{"type":"message","content":[]}`, ""},
		{"a reply", "gemini", minimal["gemini"], `{"promptFeedback":{"blockReason":"SAFETY"}}`, ""},
		{"a stream", "openai", stream, event, ""},
		{"a document for a stream", "openai", stream, `{"status":"completed","output":[]}`, ""},
		{"an error with status 200", "anthropic", minimal["anthropic"],
			`{"type":"error","error":{"message":"Overloaded"}}`, "ERR-003/provider-object"},
		{"an error with status 200", "gemini", minimal["gemini"],
			`{"error":{"message":"no","status":"INVALID_ARGUMENT"}}`, "ERR-003/provider-object"},
		{"a response that failed", "openai", minimal["openai"],
			`{"status":"failed","error":{"message":"no"},"output":[]}`, ""},
	} {
		x := asked(0, c.provider, c.body, 200, c.reply)
		x.Response.End = "eof"
		for _, id := range []string{"ERR-003/empty", "ERR-003/event", "ERR-003/whole-document",
			"ERR-003/provider-object"} {
			res := find(t, id).Run(recording(x))
			if (len(res.Findings) > 0) != (id == c.check) ||
				len(res.Findings) > 0 && res.Findings[0].Consequence != "" {
				t.Errorf("%s (%s): %s: %+v", c.name, c.provider, id, res)
			}
			unmarked := x
			unmarked.Response.End = ""
			isLost := id == "ERR-003/empty" || id == "ERR-003/whole-document"
			if res := find(t, id).Run(recording(unmarked)); len(res.Findings) > 0 &&
				(res.Findings[0].Consequence == specs.Degraded) != isLost {
				t.Errorf("%s (%s), in a format that marks no end: %s: %+v", c.name, c.provider, id, res)
			}
			cut := x
			cut.Response.End = "client_abort"
			if res := find(t, id).Run(recording(cut)); len(res.Findings) > 0 {
				t.Errorf("%s (%s), aborted: %s: %+v", c.name, c.provider, id, res)
			}
		}
	}
}

// TestInterrupt: where a format cannot mark a cut, a conversation that goes on without
// the reply shows that the user interrupted it.
func TestInterrupt(t *testing.T) {
	cut := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n"
	first := `{"model":"claude-opus-4-6","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	next := `{"model":"claude-opus-4-6","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"},{"role":"user","content":"stop that"}]}`
	full := `{"model":"claude-opus-4-6","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"go on"}]}`
	for _, c := range []struct {
		name, reply, next, end, check string
		found                         bool
	}{
		{"cut, goes on without", cut, next, "", "STR-002/terminal", false},
		{"empty, goes on without", "", next, "", "ERR-003/empty", false},
		{"cut, asked again", cut, first, "", "STR-002/terminal", false},
		{"cut, goes on with an answer", cut, full, "", "STR-002/terminal", true},
		{"empty, goes on with an answer", "", full, "", "ERR-003/empty", true},
		{"cut, in a format that marks cuts", cut, next, "eof", "STR-002/terminal", true},
	} {
		x := asked(0, "anthropic", first, 200, c.reply)
		x.Response.End = c.end
		res := find(t, c.check).Run(recording(x, asked(1, "anthropic", c.next, 200, `{"type":"message","content":[]}`)))
		if (len(res.Findings) > 0) != c.found {
			t.Errorf("%s: %+v", c.name, res)
		}
	}
}

// TestQuotedOnlyWhereItBelongs: a refusal's words stand in the finding of the rule they
// speak of and in no other.
func TestQuotedOnlyWhereItBelongs(t *testing.T) {
	body := `{"model":"claude-opus-4-6","max_tokens":10,"messages":[{"role":"user","content":""},{"role":"tool","content":"x"},{"role":"user","content":"x"}]}`
	tr := recording(asked(0, "anthropic", body, 400, strings.Replace(errorShapes["anthropic"], "WORDS",
		"messages.1.role: Input should be 'user' or 'assistant'", 1)))
	roles, empty := find(t, "ORD-015/roles").Run(tr).Findings, find(t, "ORD-014/nothing-empty").Run(tr).Findings
	if len(roles) != 1 || !strings.Contains(roles[0].Message, "Anthropic refused the request: \"messages.1.role") {
		t.Errorf("%+v", roles)
	}
	if len(empty) != 1 || strings.Contains(empty[0].Message, "messages.1.role") {
		t.Errorf("%+v", empty)
	}
}

// TestQuotedLine: of a refusal that names several faults a finding quotes the line about its own.
func TestQuotedLine(t *testing.T) {
	body := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"grep","parameters":{"type":"OBJECT","properties":{"a":{"type":["string","null"]},"b":{"type":"INTEGER","exclusiveMinimum":0}}}}]}]}`
	const first = `Unknown name \"type\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not repeating, cannot start list.`
	const second = `Unknown name \"exclusiveMinimum\" at 'tools[0].function_declarations[0].parameters.properties[1].value': Cannot find field.`
	got := find(t, "PAR-006/known").Run(recording(asked(0, evidence.Gemini, body, 400,
		`{"error":{"code":400,"message":"`+first+`\n`+second+`","status":"INVALID_ARGUMENT"}}`))).Findings
	if len(got) != 1 || !strings.Contains(got[0].Refusal, "exclusiveMinimum") || strings.Contains(got[0].Refusal, "list") {
		t.Errorf("%+v", got)
	}
}

// TestRefusedPartialTurn: a broken reply in the history is a warning, unless the provider refuses it, or the message in
// which it stands.
func TestRefusedPartialTurn(t *testing.T) {
	const user = `{"role":"user","content":"Say something long."}`
	const thought = `,{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2lnMDAx"},{"type":"text","text":"So."}]}`
	body := func(messages string) string {
		return `{"model":"claude-opus-4-5","max_tokens":9000,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` +
			messages + `]}`
	}
	cut := asked(0, evidence.Anthropic, body(user), 200, `event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":8,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2lnMDAx"}}

`)
	cut.Response.End = "reset"
	cut.Response.Header.Set("Content-Type", "text/event-stream")
	for _, c := range []struct {
		words string
		want  specs.Consequence
		rule  string
	}{
		{"messages.1: The final block in an assistant message cannot be `thinking`.", specs.Refused, "A-40"},
		{"messages.1.content.0.signature: Field required", specs.Refused, "A-6"},
		{"messages.1.content.1.text: Input should be a valid string", "", "§4"},
		{"messages.0.content: Input should be a valid list", "", "§4"},
	} {
		refused := asked(1, evidence.Anthropic, body(user+thought), 400,
			strings.Replace(errorShapes["anthropic"], "WORDS", c.words, 1))
		got := find(t, "STR-007/partial-turn").Run(recording(cut, refused)).Findings
		if len(got) != 1 || got[0].Consequence != c.want || got[0].Rule != c.rule ||
			strings.Contains(got[0].Message, "refused the request") != (c.want == specs.Refused) {
			t.Errorf("%s: %+v", c.words, got)
		}
	}
}

// TestCorpusRefusals: every recorded refusal is classified, those for the form are
// reported with their words, and nothing else is.
func TestCorpusRefusals(t *testing.T) {
	_, recordings := readCorpus(t)
	kinds := map[check.RefusalKind]int{}
	for _, rec := range recordings {
		tr := check.Decode(&rec.Evidence)
		form := 0
		for _, f := range tr.Refusals() {
			kinds[f.Kind]++
			if f.Kind == check.RefusedForm {
				form++
			}
			t.Logf("%s: %s [%s]", filepath.Base(rec.Path), f, f.Rule)
		}
		if res := find(t, "ERR-001/form").Run(tr); len(res.Findings) != form {
			t.Errorf("%s: %d refusals for the form, %d findings", rec.Path, form, len(res.Findings))
		}
	}
	if kinds[check.RefusedForm] < 20 || kinds[check.RefusedKey] < 12 || kinds[check.RefusedModel] < 10 {
		t.Errorf("%v", kinds)
	}
}

// TestErrorDocumentIsNoAcceptance: what a gateway answers with status 200 is not an accepted call
// when it is an error.
func TestErrorDocumentIsNoAcceptance(t *testing.T) {
	for reply, want := range map[string]int{
		`{"type":"error","error":{"message":"no"}}`:                0,
		`{"type":"message","content":[],"stop_reason":"end_turn"}`: 1,
	} {
		if got := recording(asked(0, "anthropic", minimal["anthropic"], 200, reply)).AcceptedCalls(); got != want {
			t.Errorf("%s: %d accepted calls, want %d", reply, got, want)
		}
	}
}

// TestServerIsNamed: who refuses is the provider only where it answers itself. Elsewhere it is the
// server that speaks its format.
func TestServerIsNamed(t *testing.T) {
	body := strings.Replace(minimal["anthropic"], `"role":"user"`, `"role":"tool"`, 1)
	reply := strings.Replace(errorShapes["anthropic"], "WORDS",
		"messages.0.role: Input should be 'user' or 'assistant'", 1)
	for _, c := range []struct {
		name, url                    string
		provenance                   evidence.Provenance
		status                       int
		general, specific, noMention string
	}{
		{name: "the provider refuses", url: "https://api.anthropic.com/v1/messages", status: 400,
			general: "Anthropic refused the request", specific: "Anthropic refused the request: "},
		{name: "a simulator refuses", url: "http://127.0.0.1:8080/v1/messages",
			provenance: evidence.ProvenanceSimulator, status: 400,
			general: "Anthropic refused the request", specific: "Anthropic refused the request: "},
		{name: "a gateway refuses", url: "https://llm.example.com/v1/messages", status: 400,
			general:  "the server llm.example.com refused the request",
			specific: "the server llm.example.com refused the request: ", noMention: "Anthropic"},
		{name: "the provider answers", url: "https://api.anthropic.com/v1/messages", status: 200,
			specific: "where Anthropic refuses this it says "},
		{name: "a gateway answers", url: "https://llm.example.com/v1/messages", status: 200,
			specific: "a server that refuses this may say ", noMention: "Anthropic"},
	} {
		x := asked(0, "anthropic", body, c.status, reply)
		x.Request.URL, x.Provenance = c.url, c.provenance
		tr, said := recording(x), ""
		for id, want := range map[string]string{"ERR-001/form": c.general, "ORD-015/roles": c.specific} {
			for _, f := range find(t, id).Run(tr).Findings {
				said += f.Message
			}
			if !strings.Contains(said, want) {
				t.Errorf("%s: %s: %q is missing in %s", c.name, id, want, said)
			}
		}
		if c.noMention != "" && strings.Contains(said, c.noMention) {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}

// TestWordsOfAnotherVendor: what all servers of a wire refuse is not put into the mouth of the vendor that was asked.
func TestWordsOfAnotherVendor(t *testing.T) {
	orphan := `{"model":"m-1","messages":[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"x"}]}`
	for host, want := range map[string]string{
		"api.groq.com": "a server that refuses this may say ", "api.openai.com": "refuses this it says "} {
		x := asked(0, "chat", orphan, 200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
		x.Request.URL = "https://" + host + "/v1/chat/completions"
		found := find(t, "ORD-003/no-orphan").Run(recording(x)).Findings
		if len(found) != 1 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %q is missing in %+v", host, want, found)
		}
	}
}

// TestBedrockFetchesNothing: a cloud that takes no URLs refuses the image that the provider itself fetches.
func TestBedrockFetchesNothing(t *testing.T) {
	const own, bedrock = "https://api.anthropic.com/v1/messages",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke"
	for _, c := range []struct{ url, source, want string }{
		{bedrock, `{"type":"url","url":"https://example.com/a.png"}`, "does not fetch what stands behind a URL; " +
			`where Anthropic refuses this it says "messages.0.content.0.image.source.base64.data: URL sources are not supported" (A-46)`},
		{bedrock, `{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}`, ""},
		{own, `{"type":"url","url":"https://example.com/a.png"}`, ""},
	} {
		x := asked(0, "anthropic", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,`+
			`"messages":[{"role":"user","content":[{"type":"image","source":`+c.source+`}]}]}`, 200, `{"type":"message","content":[],"stop_reason":"end_turn"}`)
		x.Request.URL = c.url
		found := find(t, "PAR-010/file").Run(recording(x)).Findings
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, c.want)) {
			t.Errorf("%s %s: %+v", c.url, c.source, found)
		}
	}
}
