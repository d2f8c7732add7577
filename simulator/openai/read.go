// Package openai speaks the OpenAI Responses wire: what a request means and
// how a reply looks, byte for byte as api.openai.com writes it (reference
// §1.2, §2.2, §3.2).
package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
)

// Voice is the script.Voice of OpenAI.
type Voice struct{}

// Provider returns "openai".
func (Voice) Provider() string { return "openai" }

// Serves reports whether path is the Responses call.
func (Voice) Serves(path string) bool { return path == "/v1/responses" }

type request struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	Input     json.RawMessage `json:"input"`
	Include   []string        `json:"include"`
	Reasoning struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type item struct {
	Type string `json:"type"`
	Role string `json:"role"`
}

// own reports whether a provider wrote the item.
func (i item) own() bool {
	switch i.Type {
	case "", "message":
		return i.Role == "assistant"
	}
	return i.Type == "reasoning" || strings.HasSuffix(i.Type, "_call")
}

// Read understands a Responses request (rules O-1, O-3, O-5).
func (v Voice) Read(r *http.Request, body []byte) (script.Request, *script.Refusal) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return script.Request{}, &script.Refusal{Kind: script.RefuseAuth, Message: "You didn't provide an API key."}
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return script.Request{}, script.Invalid("We could not parse the JSON body of your request: %v", err)
	}
	if in.Model == "" {
		return script.Request{}, script.Invalid("Missing required parameter: 'model'.")
	}
	items, refusal := inputItems(in.Input)
	if refusal != nil {
		return script.Request{}, refusal
	}
	out := script.Request{Provider: v.Provider(), Model: in.Model, Body: body}
	own := make([]bool, len(items))
	for i, it := range items {
		own[i] = it.own()
		if it.Role == "user" {
			out.Prompts++
		}
	}
	out.Turns = script.Runs(own)
	if !in.Stream {
		out.Form = script.FormUnary
	}
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	out.Thinks = in.Reasoning.Effort != "none" && (in.Reasoning.Effort != "" || alwaysThinks(in.Model))
	out.Shown = in.Reasoning.Summary != ""
	out.Sealed = slices.Contains(in.Include, "reasoning.encrypted_content")
	return out, nil
}

// inputItems reads the input: items, or a string that is one prompt.
func inputItems(input json.RawMessage) ([]item, *script.Refusal) {
	if len(input) == 0 {
		return nil, script.Invalid("Missing required parameter: 'input'.")
	}
	if input[0] == '"' {
		return []item{{Type: "message", Role: "user"}}, nil
	}
	var items []item
	if err := json.Unmarshal(input, &items); err != nil {
		return nil, script.Invalid("Invalid type for 'input': expected one of an array of input items or a string.")
	}
	return items, nil
}

// alwaysThinks reports whether the model reasons without an effort: all but
// 5.2 to 5.4 do (reference §6.2).
func alwaysThinks(model string) bool {
	if strings.Contains(model, "-pro") {
		return true
	}
	for _, off := range []string{"gpt-5.2", "gpt-5.3", "gpt-5.4"} {
		if strings.HasPrefix(model, off) {
			return false
		}
	}
	return true
}
