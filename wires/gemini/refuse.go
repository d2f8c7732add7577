package gemini

import (
	"encoding/json"
	"net/http"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// refusals are the codes and words of reference §4 and rules G-1, G-2, G-30.
var refusals = map[string]rule.Refusal{
	script.RefuseInvalid:    {Status: 400, Type: "INVALID_ARGUMENT"},
	script.RefuseAuth:       {Status: 403, Type: "PERMISSION_DENIED", Message: unregistered},
	script.RefuseModel:      {Status: 404, Type: "NOT_FOUND"},
	script.RefuseOverloaded: {Status: 503, Type: "UNAVAILABLE", Message: "The model is overloaded. Please try again later."},
	script.RefuseServer:     {Status: 500, Type: "INTERNAL", Message: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
}

const contentType = "application/json; charset=UTF-8"

// Reject returns a refusal as the API sends it: one object, or one in a list
// whereSet a list was asked for (reference §4).
func (Provider) Reject(r *rule.Refusal) (int, http.Header, []byte) {
	body := prettyJSON(script.JSON(failure(r)))
	if r.Listed {
		body = joinFrames("[", body, "\n]")
	}
	return r.Status, http.Header{
		"Content-Type": {contentType}, "Server": {"scaffolding on HTTPServer2"}, "Vary": {"Origin", "X-Origin", "Referer"},
		"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"SAMEORIGIN"}, "X-Xss-Protection": {"0"},
	}, append(body, '\n')
}

// Refuse returns the error envelope.
func (Provider) Refuse(r *script.Refusal) (int, string, []byte) {
	to := refusal(r)
	return to.Status, contentType, prettyJSON(script.JSON(failure(to)))
}

// refusal puts a script's refusal into the provider's words.
func refusal(r *script.Refusal) *rule.Refusal {
	to := refusals[r.Kind]
	switch {
	case r.Kind == script.RefuseModel:
		to.Message = notFound(route{version: "v1beta", model: r.Message, method: unary})
	case to.Message == "" || r.Kind == script.RefuseAuth && r.Message != "":
		to.Message = r.Message
	}
	return &to
}

func failure(r *rule.Refusal) script.Object {
	e := script.Object{"code", r.Status, "message", r.Message, "status", r.Type}
	if r.Details != nil {
		e = append(e, "details", json.RawMessage(r.Details))
	}
	return script.Object{"error", e}
}

// Failure is a chunk that holds an error instead of candidates.
func (Provider) Failure(r script.Reply, sent int, kind string) [][]byte {
	chunk := script.JSON(failure(refusal(&script.Refusal{Kind: kind})))
	if r.Request.Form == script.FormArray && sent > 0 {
		return [][]byte{joinFrames(",\r\n", prettyJSON(chunk), "\n]")}
	}
	return sseFrame([][]byte{chunk}, r.Request.Form)
}
