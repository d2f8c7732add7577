package anthropic

import (
	"net/url"
	"regexp"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know of the Messages API.
func Simulation() *script.Simulation {
	return &script.Simulation{
		Provider: Provider{}, Parse: script.ParseFunc(Parse), Intent: readIntent, Accepted: texts.Accepted,
		ListModels: listModels, ShowModel: Model, Holds: holdsKind,
		Endpoints: []script.Endpoint{
			{Path: regexp.MustCompile(`^/v1/messages$`), Operation: script.Generate},
			{Path: regexp.MustCompile(`^/v1/messages/count_tokens$`), Operation: script.Count},
			{Path: regexp.MustCompile(`^/v1/models$`), Operation: script.Models},
			{Path: regexp.MustCompile(`^/v1/models/(.+)$`), Operation: script.Model},
		},
		UnknownEvent: "event: future_event\ndata: {\"type\":\"future_event\",\"note\":\"new\"}\n\n",
		Refusals:     texts.Kinds,
	}
}

// holdsKind reports whether a block of a request is an image or has a token, or whether the settings ask for the
// effort that a scenario refuses.
func holdsKind(kind string, n *tree.Node) bool {
	switch kind {
	case "image":
		return n.Text("type") == "image"
	case "token":
		return n.Any("signature", "encrypted_content").Text() != "" || n.Text("type") == "redacted_thinking"
	}
	return n.Text("effort") == "max"
}

func listModels(q url.Values) []byte {
	limit, _ := strconv.Atoi(q.Get("limit")) // none: the usual
	return Models(limit, q.Get("after_id"), q.Get("before_id"))
}
