package chat

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

// parameterRules are about the settings that OpenAI's models take.
var parameterRules = []rule.Rule[*request]{
	judged("PAR-006/required", sureRule("C-1", "the request names a model, unless the path does", documented, modelNamed)),
	judged("PAR-004/effort", sureRule("C-34", "reasoning_effort is set on models that reason", reported, effortFits)),
	judged("PAR-004/effort", sureRule("C-35", "functions are offered without an effort to models that take both only elsewhere", reported, effortBesideTools)),
	judged("PAR-002/reasoning", sureRule("C-36", "models that reason take no temperature but 1", reported, temperatureFits)),
	judged("PAR-002/reasoning", sureRule("C-33", "models that reason take max_completion_tokens, not max_tokens", documented, limitFits)),
	judged("PAR-007/range", sureRule("C-42", "stream_options stand beside stream: true only", documented, streamOptionsFit)),
}

func modelNamed(q *request, p *rule.Pass) {
	if q.dialect.name == "" || q.dialect.name == "azure" || q.dialect.name == "foundry" {
		return
	}
	if p.Observe(); q.model == "" {
		p.Report("model", "model is required and absent").Refuse(q.newRefusal("", "", "you must provide a model parameter"))
	}
}

// isOpenAIs reports whether the request goes to a model of OpenAI with OpenAI's limits.
func (q *request) isOpenAIs() bool {
	return q.dialect.hasTrait(openAIModels) && q.takes.Reasoning != ""
}

func effortFits(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || q.body.Get("reasoning_effort").Null() {
		return
	}
	if p.Observe(); q.takes.Reasoning == "never" {
		p.Report("reasoning_effort", "%s does not reason", q.model).Refuse(q.newRefusal("", "", "Unrecognized request argument supplied: reasoning_effort"))
	}
}

func effortBesideTools(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || len(q.offers) == 0 {
		return
	}
	effort, isLater := q.body.Get("reasoning_effort").Text(), strings.HasPrefix(q.model, "gpt-5.5") || strings.HasPrefix(q.model, "gpt-5.6")
	if effort == "" && !isLater {
		return
	}
	if p.Observe(); effort == "none" || !isLater && !strings.HasPrefix(q.model, "gpt-5.4") {
		return
	}
	words, path := "Please use /v1/responses instead.", "reasoning_effort"
	if isLater {
		words = "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
	}
	p.Report(path, "%s takes no effort beside functions in Chat Completions, and the default counts", q.model).Refuse(q.newRefusal("", path,
		"Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. %s", q.model, words))
}

func temperatureFits(q *request, p *rule.Pass) {
	n, isSet := q.body.Get("temperature").Number()
	if !q.isOpenAIs() || !isSet || !q.isThinking() {
		return
	}
	if p.Observe(); n != 1 {
		p.Report("temperature", "%s does not take temperature while it reasons", q.model).Refuse(q.newRefusal("unsupported_value", "temperature",
			"Unsupported value: 'temperature' does not support %s with this model. Only the default (1) value is supported.", q.body.Get("temperature").Raw()))
	}
}

func limitFits(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || q.takes.Reasoning == "never" || q.body.Get("max_tokens").Null() {
		return
	}
	p.Observe()
	p.Report("max_tokens", "%s reasons and takes max_completion_tokens instead", q.model).Refuse(q.newRefusal("unsupported_parameter", "max_tokens",
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."))
}

func streamOptionsFit(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) || q.body.Get("stream_options").Null() {
		return
	}
	if p.Observe(); !q.body.True("stream") {
		p.Report("stream_options", "stream_options are set, and the reply is no stream").Refuse(q.newRefusal("", "stream_options",
			"The 'stream_options' parameter is only allowed when 'stream' is enabled."))
	}
}
