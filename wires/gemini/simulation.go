package gemini

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// resource begins the paths of the Developer API and of Vertex, which says before the model whose it is.
const resource = `^/v1[^/]*/(?:.*?publishers/google/)?models`

// Simulation is what the simulator has to know of generateContent.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: texts.Accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind, Retry: tellRetry,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(resource + `/([^/:]+):(?:generateContent|streamGenerateContent)$`), Operation: script.Generate},
			{Path: regexp.MustCompile(resource + `/([^/:]+):countTokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(resource + `$`), Operation: script.Models},
			{Path: regexp.MustCompile(resource + `/([^:]+)$`), Operation: script.Model},
		},
		UnknownEvent: "data: {\"futureUpdate\": {\"note\": \"new\"}}\r\n\r\n",
		Refusals:     texts.Kinds,
	}
}

// holdsKind reports whether a part of a request is an image or has a token, or whether the settings ask for the
// effort that a scenario refuses. The stand-ins for signatures that Gemini documents are no tokens.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Has("inlineData") || n.Has("inline_data")
	case "token":
		token := n.Any("thoughtSignature", "thought_signature").Text()
		return token != "" && token != "skip_thought_signature_validator" && token != "context_engineering_is_the_way_to_go"
	}
	return strings.EqualFold(n.Text("thinkingLevel"), "HIGH")
}

// tellRetry says when to come back in Gemini's only form: a detail, and the end of the message.
func tellRetry(refusal *rule.Refusal, form string, wait time.Duration) {
	if form == "" {
		return
	}
	delay := fmt.Sprintf("%gs", wait.Seconds())
	refusal.Message += "\nPlease retry in " + delay + "."
	refusal.Details = script.JSON(script.Array{
		script.Object{"@type", "type.googleapis.com/google.rpc.Help", "links", script.Array{
			script.Object{"description", "Learn more about Gemini API quotas", "url", "https://ai.google.dev/gemini-api/docs/rate-limits"},
		}},
		script.Object{"@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", delay},
	})
}

func listModels(q url.Values) []byte {
	size, _ := strconv.Atoi(q.Get("pageSize")) // none: the usual
	return Models(size, q.Get("pageToken"))
}
