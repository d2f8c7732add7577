package mutant

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// errorMutants let the provider refuse what it was sent, and put in the place of a
// reply what is none.
var errorMutants = []Mutant{
	{"refuse-form", "is refused for the form of its last request", []string{"ERR-001"}, refuseForm},
	{"repeat-refused", "sends what was refused again, byte for byte", []string{"ERR-002"}, afterRefusal(func(refused, next *evidence.Exchange) {
		next.Request, next.Response = refused.Request, refused.Response
	})},
	{"carry-refused", "goes on with what was refused in its history", []string{"ERR-002"}, afterRefusal(carryRefused)},
	{"keep-declined", "keeps a turn that was declined", []string{"ERR-004"}, afterDeclined(func(declined, next *evidence.Exchange) {
		first, then := mustParse(string(declined.Request.Body)), mustParse(string(next.Request.Body))
		reply := mustParse(string(declined.Response.Body))
		list := then.Get("messages")
		list.SetItems(append(append(first.Get("messages").Items(), mustParse(`{"role":"assistant","content":`+reply.Get("content").Raw()+`}`)), list.Items()...))
		next.Request.Body = tree.Encode(then)
	})},
	{"repeat-declined", "asks again what was declined, byte for byte", []string{"ERR-005"}, afterDeclined(func(declined, next *evidence.Exchange) {
		next.Request = declined.Request
	})},
	{"empty-reply", "gets a 200 without a body", []string{"ERR-003"}, replaceReply("")},
	{"page-for-reply", "gets a web page in the place of a reply", []string{"ERR-003"}, replaceReply("<!doctype html><title>Sign in</title>")},
	{"half-document", "gets half of a JSON document", []string{"ERR-003"}, replaceReply(`{"id":"resp_1","output":[{"type":"mess`)},
	{"foreign-document", "gets a document that is not a reply", []string{"ERR-003"}, replaceReply(`{"ok":true}`)},
}

var refusedForm = map[string]string{
	evidence.Anthropic: `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.text: Input should be a valid string"}}`,
	evidence.OpenAI:    `{"error":{"message":"Unknown parameter: 'input[0].foo'.","type":"invalid_request_error","param":"input[0].foo","code":"unknown_parameter"}}`,
	evidence.Gemini:    `{"error":{"code":400,"message":"Please use a valid role: user, model.","status":"INVALID_ARGUMENT"}}`,
}

func refuseForm(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	if len(ev.Exchanges) == 0 {
		return ev, false
	}
	x := &ev.Exchanges[len(ev.Exchanges)-1]
	x.Response = jsonResponse(http.StatusBadRequest, refusedForm[x.Provider])
	return ev, true
}

func jsonResponse(status int, body string) evidence.Response {
	return evidence.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), End: "eof"}
}

// afterRefusal changes the exchange that follows a refusal for the form.
func afterRefusal(change func(refused, next *evidence.Exchange)) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		i := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Response.Status == http.StatusBadRequest && !x.Missed })
		if i < 0 || i+1 >= len(ev.Exchanges) {
			return ev, false
		}
		change(&ev.Exchanges[i], &ev.Exchanges[i+1])
		return ev, true
	}
}

func carryRefused(refused, next *evidence.Exchange) {
	body := bytes.TrimSuffix(refused.Request.Body, []byte("]}"))
	next.Request.Body = append(bytes.Clone(body), `,{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}]}`...)
	next.Response = refused.Response
}

// replaceReply gives the last whole reply another body.
func replaceReply(body string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		for i := len(ev.Exchanges) - 1; i >= 0; i-- {
			x := &ev.Exchanges[i]
			q := wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, nil)
			if r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body); !r.Usable() || x.Missed || q.Op != wire.Generate {
				continue
			}
			x.Response = evidence.Response{Status: http.StatusOK, Header: http.Header{}, Body: []byte(body), End: "eof"}
			return ev, true
		}
		return ev, false
	}
}

// afterDeclined changes the exchange that follows a reply of Anthropic that declined.
func afterDeclined(change func(declined, next *evidence.Exchange)) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		for i := range len(ev.Exchanges) - 1 {
			if x := &ev.Exchanges[i]; x.Provider == evidence.Anthropic && bytes.Contains(x.Response.Body, []byte(`"stop_reason":"refusal"`)) {
				change(x, &ev.Exchanges[i+1])
				return ev, true
			}
		}
		return ev, false
	}
}
