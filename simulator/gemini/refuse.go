package gemini

import (
	"fmt"

	"github.com/meerkat-go/conformance/simulator/script"
)

type refusal struct {
	code   int
	status string
	text   string // empty: the refusal's own message
}

// refusals are the codes and words of reference §4 and rules G-1, G-2.
var refusals = map[string]refusal{
	script.RefuseInvalid:    {400, "INVALID_ARGUMENT", ""},
	script.RefuseAuth:       {403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."},
	script.RefuseModel:      {404, "NOT_FOUND", ""},
	script.RefuseOverloaded: {503, "UNAVAILABLE", "The model is overloaded. Please try again later."},
	script.RefuseServer:     {500, "INTERNAL", "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
}

// Refuse returns the error envelope.
func (Voice) Refuse(r *script.Refusal) (int, string, []byte) {
	to := refusals[r.Kind]
	return to.code, "application/json; charset=UTF-8", pretty(script.JSON(fault(r)))
}

func fault(r *script.Refusal) script.Object {
	to := refusals[r.Kind]
	text := to.text
	switch {
	case r.Kind == script.RefuseModel:
		text = fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods.", r.Message)
	case text == "":
		text = r.Message
	}
	return script.Object{"error", script.Object{"code", to.code, "message", text, "status", to.status}}
}

// Failure is a chunk that holds an error instead of candidates.
func (Voice) Failure(r script.Reply, sent int, kind string) [][]byte {
	chunk := script.JSON(fault(&script.Refusal{Kind: kind}))
	if r.Request.Form == script.FormArray && sent > 0 {
		return [][]byte{join(",\r\n", pretty(chunk), "\n]")}
	}
	return frame([][]byte{chunk}, r.Request.Form)
}
