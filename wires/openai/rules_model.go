package openai

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

var modelRules = []rule.Rule[*request]{
	liveRule("O-2", "the model exists", recorded, rule.High, modelExists),
	judged("PAR-004/encrypted-content",
		sureRule("O-21", "include asks for encrypted reasoning of models that reason", reported), includeFits),
	judged("PAR-004/effort", sureRule("O-22", "reasoning is set on models that reason", recorded), reasoningFits),
	judged("PAR-004/effort", sureRule("O-23", "the model offers the effort", reported), effortFits),
	judged("PAR-004/effort", sureRule("O-36", "with the effort minimal the model does not search the web", reported),
		searchNeedsEffort),
	judged("PAR-006/known", sureRule("O-35", "for a login to ChatGPT nothing is stored, and no bound of the output set",
		reported), loginTakes),
	strictRule(liveRule("O-22", "reasoning.context and reasoning.mode are set on models that have them", inferred,
		rule.Low, settingsFit)),
	judged("PAR-002/reasoning", sureRule("O-24", "temperature and top_p are not set while the model reasons", recorded),
		samplingFits),
	judged("PAR-002/reasoning", sureRule("O-34",
		"include asks for log probabilities only while the model does not reason", reported), logprobsFit),
	liveRule("O-28", "summaries go to verified organisations; the account \"unverified\" is none", reported, rule.High,
		summaryAllowed),
}

func modelExists(q *request, _ rule.Env) *rule.Refusal {
	if q.known || !q.body.Has("model") {
		return nil
	}
	return invalid("model_not_found", "model", "The requested model '%s' does not exist.", q.model.id)
}

func includeFits(q *request, p *rule.Pass) {
	if q.takes.Reasoning == "" || len(q.body.List("include")) == 0 {
		return
	}
	if p.Observe(); q.takes.Reasoning == "never" && q.includesResult("reasoning.encrypted_content") {
		p.Report("include", "include asks %s, which does not reason, for reasoning.encrypted_content", q.model.id).
			Refuse(invalid("", "include", "Encrypted content is not supported with this model."))
	}
}

func unsupportedParameter(parameter string) *rule.Refusal {
	return invalid("unsupported_parameter", parameter,
		"Unsupported parameter: '%s' is not supported with this model.", parameter)
}

func reasoningFits(q *request, p *rule.Pass) {
	reasoning := q.body.Get("reasoning")
	for _, name := range []string{"effort", "summary", "generate_summary", "context", "mode"} {
		if !reasoning.Has(name) {
			continue
		}
		form := "%s does not reason"
		if name == "effort" {
			form = "%s takes no effort"
		}
		if p.Observe(); q.takes.Reasoning == "never" {
			p.Report("reasoning."+name, form, q.model.id).Refuse(unsupportedParameter("reasoning." + name))
		}
	}
}

func settingsFit(q *request, _ rule.Env) *rule.Refusal {
	reasoning := q.body.Get("reasoning")
	switch {
	case reasoning.Has("context") && !q.model.hasTrait(canContext):
		return unsupportedParameter("reasoning.context")
	case reasoning.Has("mode") && !q.model.hasTrait(canMode):
		return unsupportedParameter("reasoning.mode")
	}
	return nil
}

func effortFits(q *request, p *rule.Pass) {
	effort := q.effort()
	if effort == "" {
		return
	}
	p.Observe()
	switch offered := q.takes.Efforts; {
	case !slices.Contains(allEfforts, effort):
		p.Report("reasoning.effort", "the effort %q is none of %s", rule.Shorten(effort),
			strings.Join(allEfforts, ", ")).Rule = "O-5"
	case offered != nil && !slices.Contains(offered, effort) && len(offered) > 0:
		p.Report("reasoning.effort", "%s does not take effort %q, only %s", q.model.id, effort,
			strings.Join(offered, ", ")).
			Refuse(invalid("unsupported_value", "reasoning.effort",
				"Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s.",
				effort, q.model.id, quoteList(offered, "and")))
	}
}

func searchNeedsEffort(q *request, p *rule.Pass) {
	for i, t := range q.body.List("tools") {
		if !strings.HasPrefix(t.Text("type"), "web_search") {
			continue
		}
		if p.Observe(); q.effort() == "minimal" {
			p.Report("tools["+strconv.Itoa(i)+"]", "the model does not search the web with the effort minimal").
				Refuse(invalid("", "tools",
					"The following tools cannot be used with reasoning.effort 'minimal': %s.", t.Text("type")))
		}
	}
}

func loginTakes(q *request, p *rule.Pass) {
	if !q.isLogin {
		return
	}
	if p.Observe(); q.body.Has("max_output_tokens") {
		p.Report("max_output_tokens", "chatgpt.com takes no max_output_tokens").
			Refuse(invalid("", "", "Unsupported parameter: max_output_tokens"))
	}
	if q.body.True("store") {
		p.Report("store", "chatgpt.com stores nothing").Refuse(invalid("", "", "Store must be set to false"))
	}
}

// reasons reports whether the model is known to reason over this request.
func (q *request) reasons() bool {
	effort := q.effort()
	switch q.takes.Reasoning {
	case "always":
		return true
	case "on":
		return effort != "none"
	case "off":
		return effort != "" && effort != "none"
	}
	return false
}

func samplingFits(q *request, p *rule.Pass) {
	if !q.reasons() {
		return
	}
	p.Observe()
	for _, name := range []string{"temperature", "top_p"} {
		if n, ok := q.body.Get(name).Number(); ok && n != 1 { // no report is of the default
			p.Report(name, "%s does not take %s while it reasons", q.model.id, name).Refuse(unsupportedParameter(name))
		}
	}
}

func logprobsFit(q *request, p *rule.Pass) {
	if !q.reasons() {
		return
	}
	p.Observe()
	if n, ok := q.body.Get("top_logprobs").Number(); q.includesResult("message.output_text.logprobs") {
		p.Report("include", "include asks for log probabilities, and %s gives none while it reasons", q.model.id).
			Refuse(invalid("unsupported_parameter", "include", "logprobs are not supported with reasoning models."))
	} else if ok && n > 0 {
		p.Report("top_logprobs", "top_logprobs is %g, and %s gives no log probabilities while it reasons", n,
			q.model.id).Consequence = "degraded"
	}
}

func summaryAllowed(q *request, _ rule.Env) *rule.Refusal {
	if q.account != accountUnverified || !q.body.Get("reasoning").Has("summary") {
		return nil
	}
	return invalid("unsupported_value", "reasoning.summary",
		"Your organization must be verified to generate reasoning summaries. "+
			"Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. "+
			"If you just verified, it can take up to 15 minutes for access to propagate.")
}
