package gemini

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// addCode adds what the provider ran and what came out of it (reference §3.3). The
// signature on it is one of its own: that of the turn follows.
func (c *reply) addCode(n int, b script.Block) {
	run := script.Object{"language", "PYTHON", "code", b.Code.Source}
	result := script.Object{"outcome", "OUTCOME_OK", "output", b.Code.Output}
	if issuesIDs(c.Request.Model) {
		id := c.ID("", n, script.Base36, 8)
		run, result = append(run, "id", id), append(result, "id", id)
	}
	c.output += script.Tokens(b.Code.Source)
	c.addPart(script.Object{"executableCode", run, "thoughtSignature", c.textSignature()})
	c.addPart(script.Object{"codeExecutionResult", result})
}

// addSearch adds the provider's call and its response, for a request that wants to
// see them (reference §3.3). Both are signed apart.
func (c *reply) addSearch(n int, b script.Block) {
	shown := c.Request.Document.Given("toolConfig", "tool_config").Given("includeServerSideToolInvocations", "include_server_side_tool_invocations")
	if !c.model.needsSignatures() || !shown.True() {
		return
	}
	const kind = "GOOGLE_SEARCH_WEB"
	id := c.ID("", n, script.Base36, 8)
	suggestions := script.Object{"search_suggestions", "<div class=\"container\">" + b.Search.Query + "</div>"}
	c.output += script.Tokens(b.Search.Query)
	c.addPart(script.Object{"toolCall", script.Object{"toolType", kind, "args", script.Object{"queries", script.Array{b.Search.Query}}, "id", id},
		"thoughtSignature", c.textSignature()})
	c.addPart(script.Object{"toolResponse", script.Object{"toolType", kind, "response", suggestions, "id", id}, "thoughtSignature", c.textSignature()})
}

// grounding is what a candidate says of the searches behind it, nil without any.
func (c *reply) grounding() script.Object {
	queries, chunks := script.Array{}, script.Array{}
	for _, b := range c.Blocks {
		if b.Kind != specs.KindSearch {
			continue
		}
		queries = append(queries, b.Search.Query)
		for _, f := range b.Search.Results {
			chunks = append(chunks, script.Object{"web", script.Object{"uri", f.URL, "title", f.Title}})
		}
	}
	if len(queries) == 0 {
		return nil
	}
	return script.Object{"groundingMetadata", script.Object{"groundingChunks", chunks, "webSearchQueries", queries}}
}

// blockedDocument is the only chunk for a prompt that is not answered.
func (c *reply) blockedDocument() []byte {
	return script.JSON(append(script.Object{"promptFeedback", script.Object{"blockReason", "PROHIBITED_CONTENT"}}, c.frame(nil, 0, 0)...))
}
