package openai

import (
	"github.com/meerkat-go/conformance/wires/rule"
)

// passes states what looks like a fault and is none (reference §5.2,
// regressions §3.4).
var passes = []rule.Info{
	{ID: "O-4", Demand: "a function tool may have the member function beside its own", Source: recorded, Confidence: rule.High},
	{ID: "O-4", Demand: "client_metadata is a parameter, though no reference names it: Codex sends it", Source: inferred, Confidence: rule.Medium},
	{ID: "O-11", Demand: "a function_call_output may answer a tool_search_call", Source: recorded, Confidence: rule.High},
	{ID: "O-12", Demand: "with store false, what stands behind reasoning may lack its id", Source: recorded, Confidence: rule.High},
	{ID: "O-15", Demand: "encrypted content may come without the id it is bound to, and beside any summary", Source: recorded, Confidence: rule.High},
	{ID: "OAI-I5", Demand: "calls and messages may lack an item id", Source: recorded, Confidence: rule.High},
	{ID: "OAI-A2", Demand: "arguments need not be JSON", Source: inferred, Confidence: rule.Low},
	{ID: "OAI-B1", Demand: "a changed prefix drops the reasoning behind it, and says so in input_transformations", Source: documented, Confidence: rule.Medium},
}
