// Package gemini speaks the Gemini generateContent wire: what a request means
// and how a reply looks, byte for byte as the Developer API writes it
// (reference §1.3, §2.3, §3.3).
package gemini

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
)

// Voice is the script.Voice of Gemini.
type Voice struct{}

// Provider returns "gemini".
func (Voice) Provider() string { return "gemini" }

const (
	models = "/v1beta/models/"
	unary  = "generateContent"
	stream = "streamGenerateContent"
)

// Serves reports whether path is a generate call of a model.
func (Voice) Serves(path string) bool {
	_, _, ok := call(path)
	return ok
}

// call splits /v1beta/models/MODEL:METHOD.
func call(path string) (model, method string, ok bool) {
	rest, ok := strings.CutPrefix(path, models)
	model, method, _ = strings.Cut(rest, ":")
	return model, method, ok && model != "" && (method == unary || method == stream)
}

type request struct {
	Contents         []content       `json:"contents"`
	Tools            json.RawMessage `json:"tools"`
	GenerationConfig struct {
		ThinkingConfig struct {
			IncludeThoughts bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role"`
	Parts []struct {
		Text *string `json:"text"`
	} `json:"parts"`
}

// prompts reports whether the user says something in the content: a text, not
// only results.
func (c content) prompts() bool {
	for _, p := range c.Parts {
		if c.Role != "model" && p.Text != nil {
			return true
		}
	}
	return false
}

type toolset struct {
	FunctionDeclarations []struct {
		Name string `json:"name"`
	} `json:"functionDeclarations"`
}

// Read understands a generate request (rules G-1, G-4).
func (v Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	if r.Header.Get("x-goog-api-key") == "" && r.URL.Query().Get("key") == "" {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth}
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return script.Request{}, script.Invalid("Invalid JSON payload received. %v", err)
	}
	if len(in.Contents) == 0 {
		return script.Request{}, script.Invalid("* GenerateContentRequest.contents: contents is not specified\n")
	}
	model, method, _ := call(r.URL.Path)
	out := script.Request{
		Provider: v.Provider(), Model: model, Form: form(method, r.URL.Query().Get("alt")), Body: body,
		Thinks: true, Shown: in.GenerationConfig.ThinkingConfig.IncludeThoughts, Sealed: true,
	}
	own := make([]bool, len(in.Contents))
	for i, c := range in.Contents {
		own[i] = c.Role == "model"
		if c.prompts() {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	for _, set := range toolsets(in.Tools) {
		for _, f := range set.FunctionDeclarations {
			out.Tools = append(out.Tools, f.Name)
		}
	}
	return out, nil
}

func form(method, alt string) script.Form {
	switch {
	case method == unary:
		return script.FormUnary
	case alt == "sse":
		return script.FormSSE
	}
	return script.FormArray
}

// toolsets reads tools as a list or, as the API also accepts, as one object.
func toolsets(tools json.RawMessage) []toolset {
	var many []toolset
	if json.Unmarshal(tools, &many) == nil {
		return many
	}
	var one toolset
	_ = json.Unmarshal(tools, &one) // neither: no tools
	return []toolset{one}
}
