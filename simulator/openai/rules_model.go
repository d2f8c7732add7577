package openai

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/rule"
)

var modelRules = []rule.Rule[*request]{
	liveRule("O-2", "the model exists", recorded, rule.High, modelExists),
	liveRule("O-21", "include asks for encrypted reasoning of models that reason", reported, rule.High, includeFits),
	liveRule("O-22", "reasoning is set on models that reason", recorded, rule.High, reasoningFits),
	liveRule("O-23", "the model offers the effort", reported, rule.High, effortFits),
	strictRule(liveRule("O-22", "reasoning.context and reasoning.mode are set on models that have them", inferred, rule.Low, settingsFit)),
	liveRule("O-24", "temperature and top_p are not set while the model reasons", recorded, rule.High, samplingFits),
	liveRule("O-34", "include asks for log probabilities only while the model does not reason", reported, rule.High, logprobsFit),
	liveRule("O-28", "summaries go to verified organisations; the account \"unverified\" is none", reported, rule.High, summaryAllowed),
}

func modelExists(q *request, _ rule.Env) *rule.Refusal {
	if q.known || !q.body.Has("model") {
		return nil
	}
	return invalid("model_not_found", "model", "The requested model '%s' does not exist.", q.model.id)
}

func includeFits(q *request, _ rule.Env) *rule.Refusal {
	if q.model.reasons() || !q.includesResult("reasoning.encrypted_content") {
		return nil
	}
	return invalid("", "include", "Encrypted content is not supported with this model.")
}

func unsupportedParameter(parameter string) *rule.Refusal {
	return invalid("unsupported_parameter", parameter, "Unsupported parameter: '%s' is not supported with this model.", parameter)
}

// firstOf refuses the first of some members of reasoning that is set.
func (q *request) firstOf(members ...string) *rule.Refusal {
	for _, name := range members {
		if q.body.Get("reasoning").Has(name) {
			return unsupportedParameter("reasoning." + name)
		}
	}
	return nil
}

func reasoningFits(q *request, _ rule.Env) *rule.Refusal {
	if q.model.reasons() {
		return nil
	}
	return q.firstOf("effort", "summary", "generate_summary", "context", "mode")
}

func settingsFit(q *request, _ rule.Env) *rule.Refusal {
	var lacking []string
	if !q.model.hasTrait(canContext) {
		lacking = append(lacking, "context")
	}
	if !q.model.hasTrait(canMode) {
		lacking = append(lacking, "mode")
	}
	return q.firstOf(lacking...)
}

func effortFits(q *request, _ rule.Env) *rule.Refusal {
	effort := q.effort()
	if effort == "" || slices.Contains(q.model.efforts, effort) {
		return nil
	}
	return invalid("unsupported_value", "reasoning.effort", "Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s.",
		effort, q.model.id, quoteList(q.model.efforts, "and"))
}

func samplingFits(q *request, _ rule.Env) *rule.Refusal {
	if !q.thinks() {
		return nil
	}
	for _, name := range []string{"temperature", "top_p"} {
		if n, ok := q.body.Get(name).Number(); ok && n != 1 { // no report is of the default
			return unsupportedParameter(name)
		}
	}
	return nil
}

func logprobsFit(q *request, _ rule.Env) *rule.Refusal {
	if !q.thinks() || !q.includesResult("message.output_text.logprobs") {
		return nil
	}
	return invalid("unsupported_parameter", "include", "logprobs are not supported with reasoning models.")
}

func summaryAllowed(q *request, _ rule.Env) *rule.Refusal {
	if q.account != accountUnverified || !q.body.Get("reasoning").Has("summary") {
		return nil
	}
	return invalid("unsupported_value", "reasoning.summary", "Your organization must be verified to generate reasoning summaries. "+
		"Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. "+
		"If you just verified, it can take up to 15 minutes for access to propagate.")
}
