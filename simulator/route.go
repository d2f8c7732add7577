package simulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/openai"
)

// operation is what a path asks for.
type operation uint8

const (
	opUnknown  operation = iota
	opGenerate           // a reply of the model
	opCompact            // a conversation compacted by OpenAI
	opCount              // how many tokens a request has
	opModels             // what models there are
	opModel              // one of them
	opResponse           // a stored response of OpenAI; GET or DELETE
	opCancel
	opItems // the input of a stored response
)

// methods are the ones that an operation allows.
var methods = map[operation][]string{
	opGenerate: {http.MethodPost}, opCompact: {http.MethodPost}, opCount: {http.MethodPost}, opCancel: {http.MethodPost},
	opModels: {http.MethodGet}, opModel: {http.MethodGet}, opItems: {http.MethodGet},
	opResponse: {http.MethodGet, http.MethodDelete},
}

// route is where a request goes.
type route struct {
	provider string
	op       operation
	id       string // of the model or the response
	path     string // without the provider's prefix
}

func (r route) allowsMethod(method string) bool { return slices.Contains(methods[r.op], method) }

// routeOf returns what a request is for. A path may begin with /PROVIDER.
// Without it the host decides, then a path that only one provider has, then the
// credential.
func routeOf(r *http.Request) route {
	provider, path := cutProvider(r.URL.Path)
	provider = cmp.Or(provider, byHost(r.Host), byPath(path))
	if provider == "" {
		provider = cmp.Or(byCredential(r), "openai")
	}
	op, id := operations[provider](path)
	return route{provider, op, id, path}
}

// codexPath begins the paths of OpenAI's API at chatgpt.com, which codex calls when it is
// logged in to ChatGPT.
const codexPath = "/backend-api/codex/"

// cutProvider cuts the provider's name off a path.
func cutProvider(path string) (provider, rest string) {
	if rest, ok := strings.CutPrefix(path, codexPath); ok {
		return "openai", "/v1/" + rest
	}
	first, _, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if _, ok := operations[first]; ok && more {
		return first, path[1+len(first):]
	}
	return "", path
}

func byHost(host string) string {
	switch host, _, _ = strings.Cut(host, ":"); host {
	case "api.anthropic.com":
		return "anthropic"
	case "api.openai.com":
		return "openai"
	case "generativelanguage.googleapis.com":
		return "gemini"
	}
	return ""
}

func byPath(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return "anthropic"
	case strings.HasPrefix(path, "/v1/responses") || strings.HasPrefix(path, "/v1/chat/"):
		return "openai"
	case strings.HasPrefix(path, "/v1beta") || strings.Contains(path, ":"):
		return "gemini"
	}
	return ""
}

func byCredential(r *http.Request) string {
	switch {
	case r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "":
		return "anthropic"
	case r.Header.Get("X-Goog-Api-Key") != "" || query(r).Get("key") != "":
		return "gemini"
	}
	return ""
}

// operations read the paths of reference §1.1 to §1.3.
var operations = map[string]func(path string) (operation, string){
	"anthropic": anthropicOperation, "openai": openaiOperation, "gemini": geminiOperation,
}

func anthropicOperation(path string) (operation, string) {
	switch path {
	case "/v1/messages":
		return opGenerate, ""
	case "/v1/messages/count_tokens":
		return opCount, ""
	}
	return modelOperation(path, "/v1/models")
}

func openaiOperation(path string) (operation, string) {
	switch path {
	case "/v1/responses":
		return opGenerate, ""
	case openai.CompactPath:
		return opCompact, ""
	case "/v1/responses/input_tokens":
		return opCount, ""
	}
	if rest, ok := strings.CutPrefix(path, "/v1/responses/"); ok {
		id, what, more := strings.Cut(rest, "/")
		switch {
		case id == "":
			return opUnknown, ""
		case !more:
			return opResponse, id
		case what == "cancel":
			return opCancel, id
		case what == "input_items":
			return opItems, id
		}
		return opUnknown, ""
	}
	return modelOperation(path, "/v1/models")
}

// geminiOperation reads the paths of the Developer API and those of Vertex, which
// say before the model whose it is.
func geminiOperation(path string) (operation, string) {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !strings.HasPrefix(version, "v1") {
		return opUnknown, ""
	}
	if _, model, ok := strings.Cut(rest, "publishers/google/"); ok {
		rest = model
	}
	model, method, called := strings.Cut(rest, ":")
	model, named := strings.CutPrefix(model, "models/")
	switch {
	case !called:
		return modelOperation("/"+rest, "/models")
	case !named || model == "" || strings.Contains(model, "/"):
	case method == "generateContent" || method == "streamGenerateContent":
		return opGenerate, model
	case method == "countTokens":
		return opCount, model
	}
	return opUnknown, ""
}

func modelOperation(path, list string) (operation, string) {
	if path == list {
		return opModels, ""
	}
	if id, ok := strings.CutPrefix(path, list+"/"); ok && id != "" {
		return opModel, id
	}
	return opUnknown, ""
}
