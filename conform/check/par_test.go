package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// singleRequest is a request that breaks one rule or, with an empty rule, the nearest
// legal neighbour of one. MODEL: names a Gemini model, HEADERS: adds headers.
type singleRequest struct{ check, rule, path, request string }

// parameterExchange makes the exchange of one row.
func parameterExchange(request string) (x evidence.Exchange, bad bool) {
	request = strings.ReplaceAll(request, "MSG", `"messages":[{"role":"user","content":"hi"}]`)
	request = strings.ReplaceAll(request, "MARK", `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`)
	option, body, _ := strings.Cut(request, "{")
	body, bad = "{"+body, strings.HasSuffix(option, "BAD")
	option = strings.TrimSpace(strings.TrimSuffix(option, "BAD"))
	provider := evidence.OpenAI
	if strings.Contains(body, `"claude-`) {
		provider = evidence.Anthropic
	}
	model, isGemini := strings.CutPrefix(option, "MODEL:")
	if isGemini {
		provider = evidence.Gemini
	}
	x = asked(0, provider, body, 0, "")
	x.Request.URL = strings.Replace(x.Request.URL, "gemini-3-flash-preview", model, 1)
	x.Request.Header = http.Header{"Content-Type": {"application/json"}}
	if headers, ok := strings.CutPrefix(option, "HEADERS:"); ok {
		for _, h := range strings.Split(headers, ",") {
			name, value, _ := strings.Cut(h, "=")
			x.Request.Header.Set(name, value)
		}
	}
	return x, bad
}

func readRequests(t *testing.T) (list []singleRequest) {
	for _, r := range readTable(t, "requests") {
		fields := append(r.fields, "", "")
		list = append(list, singleRequest{fields[0], fields[1], fields[2], r.text})
	}
	return list
}

// TestParameters: each check sees its breach, names the rule and the place, and leaves
// the nearest legal request alone.
func TestParameters(t *testing.T) {
	broken, legal := map[string]bool{}, map[string]bool{}
	for _, p := range readRequests(t) {
		x, bad := parameterExchange(p.request)
		res := find(t, p.check).Run(recording(x))
		if p.rule == "" && !bad {
			legal[p.check] = true
			if len(res.Findings) > 0 {
				t.Errorf("%s minds a legal request: %s\n%+v", p.check, x.Request.Body, res.Findings)
			}
			continue
		}
		broken[p.check] = true
		if len(res.Findings) != 1 || res.Findings[0].Rule != p.rule || res.Findings[0].Path != p.path ||
			res.Observed == 0 {
			t.Errorf("%s: %s\n%+v", p.check, x.Request.Body, res)
		}
	}
	for _, c := range check.All() {
		if elsewhere := c.ID == "PAR-012/stored" || isJudgedByWire(c.ID) && !broken[c.ID]; strings.Contains("PAR-TSC-", c.ID[:4]) && !elsewhere && (!broken[c.ID] || !legal[c.ID]) {
			t.Errorf("%s: no breach or no legal neighbour in the table", c.ID)
		}
	}
}

// TestParametersOfOtherHosts: policies of a provider do not bind a host that only speaks
// its format; its format does.
func TestParametersOfOtherHosts(t *testing.T) {
	format := map[string]bool{"PAR-006/required": true, "PAR-007/type": true, "PAR-012/stored": true}
	for _, p := range readRequests(t) {
		x, _ := parameterExchange(p.request)
		x.Request.URL = strings.NewReplacer("api.anthropic.com", "gateway.example", "api.openai.com", "gateway.example",
			"generativelanguage.googleapis.com", "gateway.example").Replace(x.Request.URL)
		if res := find(t, p.check).Run(recording(x)); len(res.Findings) > 0 && !format[p.check] {
			t.Errorf("%s: %+v", p.check, res.Findings)
		}
	}
}

// TestPreviousStored: what was made with store false cannot be gone on with.
func TestPreviousStored(t *testing.T) {
	for store, found := range map[string]bool{"false": true, "true": false} {
		first := asked(0, "openai", `{"model":"gpt-5.2","store":`+store+`,"input":"hi"}`, 200,
			`{"id":"resp_1","status":"completed","output":[]}`)
		next := asked(1, "openai", `{"model":"gpt-5.2","previous_response_id":"resp_1","input":"more"}`, 200,
			`{"id":"resp_2","status":"completed","output":[]}`)
		res := find(t, "PAR-012/stored").Run(recording(first, next))
		if (len(res.Findings) > 0) != found || res.Observed != 1 {
			t.Errorf("store %s: %+v", store, res)
		}
	}
}

// TestPreviousOnWebSockets: a WebSocket knows its last response, stored or not.
func TestPreviousOnWebSockets(t *testing.T) {
	turn := func(i, socket int, previous, id string, status int) evidence.Exchange {
		x := asked(i, "openai",
			`{"type":"response.create","model":"gpt-5.2","store":false,"generate":true,"input":"hi"`+previous+`}`,
			status, `{"id":"`+id+`","status":"completed","output":[]}`)
		x.WebSocket = socket
		return x
	}
	after := func(id string) string { return `,"previous_response_id":"` + id + `"` }
	for name, tt := range map[string]struct {
		list []evidence.Exchange
		want string
	}{
		"the last one": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200),
			turn(1, 1, after("resp_1"), "resp_2", 200)}, ""},
		"the last of another stream": {[]evidence.Exchange{turn(0, 1, `,"stream_id":"a"`, "resp_1", 200),
			turn(1, 1, `,"stream_id":"b"`, "resp_2", 200),
			turn(2, 1, `,"stream_id":"c"`+after("resp_1"), "resp_3", 200)}, ""},
		"by turns": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 2, "", "resp_2", 200),
			turn(2, 1, after("resp_1"), "resp_3", 200)}, ""},
		"on another": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200),
			turn(1, 2, after("resp_1"), "resp_2", 200)}, "this is another"},
		"by HTTP": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200),
			turn(1, 0, after("resp_1"), "resp_2", 200)}, "nothing can go on"},
		"an older one": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 1, "", "resp_2", 200),
			turn(2, 1, after("resp_1"), "resp_3", 200)}, "last response only"},
		"after it failed once": {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200),
			turn(1, 1, after("resp_1"), "", 400), turn(2, 1, after("resp_1"), "resp_3", 200)}, "last response only"},
	} {
		id := "WSK-001/own-response"
		if name == "by HTTP" {
			id = "PAR-012/stored"
		}
		res := find(t, id).Run(recording(tt.list...))
		if (len(res.Findings) > 0) != (tt.want != "") ||
			tt.want != "" && !strings.Contains(res.Findings[0].Message, tt.want) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
		if res := find(t, "PAR-006/known").Run(recording(tt.list...)); name != "by HTTP" && len(res.Findings) > 0 {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}

// TestIssuedPartsAreTakenBack is TestIssuedTypesAreTakenBack for Gemini, whose parts have
// no type: the name of their member is it.
func TestIssuedPartsAreTakenBack(t *testing.T) {
	reply := `{"candidates":[{"content":{"role":"model","parts":[{"futurePart":{"note":"new"}},{"text":"hi"}]},"finishReason":"STOP","index":0}]}`
	first := asked(0, evidence.Gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 200, reply)
	second := asked(1, evidence.Gemini,
		`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"futurePart":{"note":"new"}},{"text":"hi"}]},{"role":"user","parts":[{"text":"go on"}]}]}`, 200, reply)
	first.Response.Body = []byte(reply)
	if res := find(t, "PAR-006/known").Run(recording(first, second)); len(res.Findings) > 0 {
		t.Errorf("what the provider issued is a breach: %+v", res.Findings)
	}
	first.Response.Body = []byte(strings.Replace(reply, "futurePart", "otherPart", 1))
	if res := find(t, "PAR-006/known").Run(recording(first, second)); len(res.Findings) == 0 {
		t.Error("no finding of an invented part")
	}
}

// TestIssuedTypesAreTakenBack: a block of an unknown type is a breach, unless the
// provider itself issued one before.
func TestIssuedTypesAreTakenBack(t *testing.T) {
	reply := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"future_block","x":1}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	first := asked(0, evidence.Anthropic,
		`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, 200, reply)
	second := asked(1, evidence.Anthropic,
		`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"future_block","x":1}]},{"role":"user","content":"go on"}]}`, 200, reply)
	known := find(t, "PAR-006/known")
	if res := known.Run(recording(first, second)); len(res.Findings) > 0 {
		t.Errorf("what the provider issued is a breach: %+v", res.Findings)
	}
	first.Response.Body = []byte(strings.Replace(reply, "future_block", "text", 1))
	if res := known.Run(recording(first, second)); len(res.Findings) != 1 {
		t.Errorf("%d findings of an invented type", len(res.Findings))
	}
}

// TestRecursiveToolIsNotCounted holds that a schema which refers to itself is not reported in
// the words for too many tools, which are another limit of the same rule.
func TestRecursiveToolIsNotCounted(t *testing.T) {
	body := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"a","strict":true,
"input_schema":{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"],
"$defs":{"n":{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}}]}`
	got := find(t,
		"PAR-008/strict").Run(recording(asked(0, "anthropic", body, 200, `{"type":"message","content":[]}`))).Findings
	if len(got) != 1 || !strings.Contains(got[0].Message, "refers to itself") ||
		!strings.Contains(got[0].Message, "Circular reference detected in n") {
		t.Errorf("%+v", got)
	}
}
