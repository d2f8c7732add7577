package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// refusedTool is the end of the name of the tool whose schema kind "tool" refuses.
const refusedTool = "conform_noargs"

// refusedEffort is the effort that kind "effort" refuses.
var refusedEffort = map[string]string{"anthropic": "max", "openai": "xhigh", "gemini": "HIGH"}

// contentRefusal returns the refusal of a request that holds what kind names, in the
// provider's words; false if the request does not hold it.
func contentRefusal(req Request, kind string) (r rule.Refusal, holds bool) {
	r = rule.Refusal{Status: 400, Type: "invalid_request_error"}
	if req.Provider == "gemini" {
		r.Type = "INVALID_ARGUMENT"
	}
	doc := documentOf(req)
	switch kind {
	case "image":
		holds = anyNode(doc, isImage)
		r.Message, r.Code, r.Param = imageWords[req.Provider], onlyOpenAI(req, "image_parse_error"), onlyOpenAI(req, "input")
	case "token":
		holds = anyNode(doc, hasToken)
		r.Message, r.Code = tokenWords[req.Provider], onlyOpenAI(req, "invalid_encrypted_content")
	case "tool":
		i := slices.IndexFunc(req.Tools, func(name string) bool { return strings.HasSuffix(name, refusedTool) })
		if holds = i >= 0; holds {
			r.Message = fmt.Sprintf(toolWords[req.Provider], toolPlace(req, i))
			r.Code, r.Param = onlyOpenAI(req, "invalid_function_parameters"), onlyOpenAI(req, fmt.Sprintf("tools[%d].parameters", i))
		}
	case "effort":
		holds = anyNode(doc, func(n *tree.Node) bool {
			return slices.ContainsFunc([]string{"effort", "thinkingLevel"}, func(name string) bool {
				return strings.EqualFold(n.Get(name).Text(), refusedEffort[req.Provider])
			})
		})
		r.Message, r.Code, r.Param = effortWords[req.Provider], onlyOpenAI(req, "unsupported_value"), onlyOpenAI(req, "reasoning.effort")
	}
	return r, holds
}

// holdsText reports whether a text of the request holds words; "" is in every request.
func holdsText(req Request, words string) bool {
	return words == "" || anyText(documentOf(req), words)
}

func documentOf(req Request) *tree.Node {
	if req.Document != nil {
		return req.Document
	}
	doc, _ := tree.ParseLenient(req.Body, maxRequestDepth)
	return doc
}

// maxRequestDepth bounds the nesting of a request that is read here.
const maxRequestDepth = 200

func onlyOpenAI(req Request, text string) string {
	if req.Provider == "openai" {
		return text
	}
	return ""
}

// toolPlace names a tool as the provider's words do.
func toolPlace(req Request, i int) any {
	if req.Provider == "openai" {
		return req.Tools[i]
	}
	return i
}

// The providers' words (rules, G-16, G-24, O-15, O-23).
var (
	imageWords = map[string]string{
		"anthropic": "Could not process image",
		"openai":    "The image data you provided does not represent a valid image. Please check your input and try again.",
		"gemini":    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
	}
	tokenWords = map[string]string{
		"anthropic": "messages.1.content.0: Invalid `signature` in `thinking` block",
		"openai":    "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
		"gemini":    "Corrupted thought signature.",
	}
	toolWords = map[string]string{
		"anthropic": "tools.%d.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
		"openai":    "Invalid schema for function '%s': In context=(), object schema missing properties.",
		"gemini":    "* GenerateContentRequest.tools[0].function_declarations[%d].parameters.properties: should be non-empty for OBJECT type\n",
	}
	effortWords = map[string]string{
		"anthropic": "This model does not support effort level 'max'. Supported levels: high, low, medium.",
		"openai":    "Unsupported value: 'xhigh' is not supported with this model. Supported values are: 'none', 'low', 'medium', and 'high'.",
		"gemini":    "Thinking level HIGH is not supported for this model. Please retry with other thinking level.",
	}
)

// anyNode reports whether a node of the document matches.
func anyNode(n *tree.Node, matches func(*tree.Node) bool) bool {
	if n.Is(tree.Object) && matches(n) {
		return true
	}
	items := n.Items()
	for i := range items {
		if anyNode(items[i], matches) {
			return true
		}
	}
	return false
}

// anyText reports whether a text of the document holds words.
func anyText(n *tree.Node, words string) bool {
	if strings.Contains(n.Text(), words) {
		return true
	}
	items := n.Items()
	for i := range items {
		if anyText(items[i], words) {
			return true
		}
	}
	return false
}

func isImage(n *tree.Node) bool {
	kind := n.Get("type").Text()
	return kind == "image" || kind == "input_image" || n.Has("inlineData") || n.Has("inline_data")
}

// hasToken reports whether a block holds a continuity token. The stand-in that Gemini
// documents is none.
func hasToken(n *tree.Node) bool {
	for _, name := range []string{"signature", "encrypted_content", "thoughtSignature", "thought_signature"} {
		if token := n.Get(name).Text(); token != "" && token != "skip_thought_signature_validator" && token != "context_engineering_is_the_way_to_go" {
			return true
		}
	}
	return n.Get("type").Text() == "redacted_thinking"
}
