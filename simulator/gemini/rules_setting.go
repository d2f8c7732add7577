package gemini

import (
	"strings"

	"slices"

	"github.com/meerkat-go/conformance/simulator/jsontree"
	"github.com/meerkat-go/conformance/simulator/rule"
)

// settingRules are about how to answer.
var settingRules = []rule.Rule[*request]{
	{Info: rule.Info{ID: "G-23", Demand: "a thinking level or a budget, not both", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(levelAndBudget)},
	{Info: rule.Info{ID: "G-24", Demand: "only thinking levels that the model offers", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(levelUnsupported)},
	{Info: rule.Info{ID: "G-25", Demand: "no budget of 0 where the model always thinks", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(budgetZero)},
	{Info: rule.Info{ID: "G-26", Demand: "server tools circulate only from Gemini 3 on", Source: "inferred", Confidence: rule.Medium, Least: rule.Strict}, Broken: generateOnly(circulationAllowed)},
	{Info: rule.Info{ID: "G-27", Demand: "a calling mode needs declarations; AUTO may stand beside a tool of the provider", Source: "recorded", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(modeWithoutTools)},
	{Info: rule.Info{ID: "G-28", Demand: "temperature is from 0 to 2; outside Vertex the words are inferred", Source: "recorded", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(temperatureFits)},
	{Info: rule.Info{ID: "G-28", Demand: "at most five stop sequences", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(stopsFew)},
	{Info: rule.Info{ID: "G-33", Demand: "a schema of the answer comes with a MIME type other than text/plain; a report of 2025 says that it was passed over", Source: "documented", Confidence: rule.Medium, Least: rule.Strict}, Broken: generateOnly(schemaHasType)},
	{Info: rule.Info{ID: "G-34", Demand: "no log probabilities from Gemini 2.5 on, except on Vertex", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(logprobsOffered)},
	{Info: rule.Info{ID: "G-29", Demand: "the request fits the model's context", Source: "reported", Confidence: rule.High, Least: rule.Live}, Broken: generateOnly(promptFits)},
}

func (q *request) thinkingConfig() *jsontree.Node {
	return q.config.Given("thinkingConfig", "thinking_config")
}

func (q *request) thinkingLevel() string {
	return enumName(q.thinkingConfig().Given("thinkingLevel", "thinking_level"))
}

func (q *request) thinkingBudget() (float64, bool) {
	return numberOf(q.thinkingConfig().Given("thinkingBudget", "thinking_budget"))
}

func levelAndBudget(q *request, _ rule.Env) *rule.Refusal {
	if _, budgeted := q.thinkingBudget(); budgeted && q.thinkingLevel() != "" {
		return invalid("You can only set only one of thinking budget and thinking level.")
	}
	return nil
}

func levelUnsupported(q *request, _ rule.Env) *rule.Refusal {
	level := q.thinkingLevel()
	switch {
	case level == "" || level == levels[0] || slices.Contains(q.model.Levels, level):
		return nil
	case q.vertex:
		return invalid("Unable to submit request because thinking_level %s is not supported by this model. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini", level)
	case q.model.Levels == nil:
		return invalid("Thinking level is not supported for this model.")
	}
	return invalid("Thinking level %s is not supported for this model. Please retry with other thinking level.", level)
}

func budgetZero(q *request, _ rule.Env) *rule.Refusal {
	if budget, ok := q.thinkingBudget(); ok && budget == 0 && q.model.Always {
		return invalid("Budget 0 is invalid. This model only works in thinking mode.")
	}
	return nil
}

func circulationAllowed(q *request, _ rule.Env) *rule.Refusal {
	on := q.toolConfig.Given("includeServerSideToolInvocations", "include_server_side_tool_invocations").True()
	if on && !q.model.needsSignatures() {
		return invalid("Tool call context circulation is not enabled for models/%s", q.model.Name)
	}
	return nil
}

func modeWithoutTools(q *request, _ rule.Env) *rule.Refusal {
	config := q.toolConfig.Given("functionCallingConfig", "function_calling_config")
	automatic := config.Given("mode").Text() == "" || strings.EqualFold(config.Given("mode").Text(), "AUTO")
	if config != nil && len(q.functionDeclarations()) == 0 && (len(q.tools) == 0 || !automatic) {
		return invalid("Function calling config is set without function_declarations.")
	}
	return nil
}

func temperatureFits(q *request, _ rule.Env) *rule.Refusal {
	t := q.config.Given("temperature")
	degrees, ok := numberOf(t)
	switch {
	case !ok || degrees >= 0 && degrees < 2.0001:
		return nil
	case !q.vertex:
		return invalidList([]string{"generation_config.temperature: temperature must be in the range [0.0, 2.0]."})
	}
	refusal := invalid("Unable to submit request because it has a temperature value of %g but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.", degrees)
	refusal.Details = []byte("[]")
	return refusal
}

// stopsFew has the words of https://github.com/continuedev/continue/issues/2702, on Vertex
// those of issue 7849.
func stopsFew(q *request, _ rule.Env) *rule.Refusal {
	const most = 5
	n := len(q.config.Given("stopSequences", "stop_sequences").List())
	switch {
	case n <= most:
		return nil
	case q.vertex:
		return invalid("Unable to submit request because it has a stopSequences value of %d but the supported range is from 1 (inclusive) to %d (exclusive). Update the value and try again.", n, most+1)
	}
	return invalidList([]string{"generation_config.stop_sequences: the number of stop_sequences must not exceed 5"})
}

// schemaHasType has the words that public code gives for Vertex and for the Go SDK; those for
// a JSON Schema are the same by inference.
func schemaHasType(q *request, _ rule.Env) *rule.Refusal {
	schema := q.config.Given("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema", "_responseJsonSchema")
	mime := q.config.Given("responseMimeType", "response_mime_type").Text()
	if schema == nil || mime != "" && mime != "text/plain" {
		return nil
	}
	return invalid("Response_schema with a response mime type 'text/plain' is unsupported")
}

// logprobsOffered has the words of https://github.com/omeryasirkucuk/amx/pull/55.
func logprobsOffered(q *request, _ rule.Env) *rule.Refusal {
	if !q.vertex && q.model.atLeast(2, 5) && q.config.Given("responseLogprobs", "response_logprobs").True() {
		return invalid("Logprobs is not enabled for this model")
	}
	return nil
}

func promptFits(q *request, _ rule.Env) *rule.Refusal {
	if tokens := countTokens(q.body); tokens > q.model.Limit {
		return invalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, q.model.Limit)
	}
	return nil
}
