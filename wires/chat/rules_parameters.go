package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// parameterRules are about the settings that OpenAI's models take.
var parameterRules = []rule.Rule[*request]{
	judged("PAR-006/required", sureRule("C-1", "the request names a model, unless the path does", documented),
		modelNamed),
	judged("PAR-004/effort", sureRule("C-34", "reasoning_effort is set on models that reason", reported), effortFits),
	judged("PAR-004/effort", sureRule("C-35",
		"functions are offered without an effort to models that take both only elsewhere", reported),
		effortBesideTools),
	judged("PAR-002/reasoning", sureRule("C-36", "models that reason take no temperature but 1", reported),
		temperatureFits),
	judged("PAR-002/reasoning", sureRule("C-33", "models that reason take max_completion_tokens, not max_tokens",
		documented), limitFits),
	judged("PAR-007/range", sureRule("C-40", "settings have values that OpenAI takes", documented), valuesFit),
	judged("PAR-007/range", sureRule("C-42", "stream_options stand beside stream: true only", documented),
		streamOptionsFit),
}

func modelNamed(q *request, p *rule.Pass) {
	if q.dialect.Name == "" || q.dialect.Name == "azure" || q.dialect.Name == "foundry" {
		return
	}
	if p.Observe(); q.model == "" {
		p.Report("model", "model is required and absent").Refuse(q.newRefusal("", "",
			"you must provide a model parameter"))
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
	p.Observe()
	switch effort := q.body.Text("reasoning_effort"); {
	case q.takes.Reasoning == "never":
		p.Report("reasoning_effort", "%s does not reason",
			q.model).Refuse(q.newRefusal("", "", "Unrecognized request argument supplied: reasoning_effort"))
	case len(q.takes.Efforts) > 0 && slices.Contains(efforts, effort) && !slices.Contains(q.takes.Efforts, effort):
		offered := strings.Join(q.takes.Efforts, "', '")
		p.Report("reasoning_effort", "%s does not take effort %q, only %s", q.model, effort,
			strings.Join(q.takes.Efforts, ", ")).
			Refuse(q.newRefusal("unsupported_value", "reasoning_effort",
				"Unsupported value: 'reasoning_effort' does not support '%s' with this model. Supported values are: '%s'.", effort, offered))
	}
}

// efforts are those that some model of OpenAI takes.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// valuesFit is about values that the API reference lists, at OpenAI's own host: other hosts take others.
func valuesFit(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) {
		return
	}
	found := Members().Walk(q.body, "official", nil)
	p.Observed += found.Objects
	for _, f := range found.Faults {
		if !slices.Contains([]members.Kind{members.Missing, members.WrongType, members.WrongValue, members.WrongForm,
			members.WrongLength}, f.Kind) || f.Value.Is(tree.String) && f.Value.Text() == "" {
			continue
		}
		b := p.Report(f.At.String(), "%s %s", f.At, f.Describe()).Refuse(shapeBreach{f, q}.refusal())
		b.Rule, b.Cause = cmp.Or(f.Rule, b.Rule), f.Rule+f.Describe()
	}
	if stops := q.body.Get("stop"); len(stops.List()) > 4 {
		p.Report("stop", "there are %d texts to stop at, more than 4",
			len(stops.List())).Refuse(q.tooLong("stop", stops, 4))
	}
	for _, name := range q.body.Get("metadata").Names() {
		if len(name) > 64 {
			p.Report("metadata", "a key has %d characters, more than 64", len(name)).Refuse(q.newRefusal("", "metadata",
				"Invalid 'metadata': object key too long. Expected a key with maximum length 64, but got a key with length %d instead.", len(name)))
		}
	}
}

func effortBesideTools(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || len(q.offers) == 0 {
		return
	}
	effort, isLater := q.body.Get("reasoning_effort").Text(), strings.HasPrefix(q.model, "gpt-5.5") ||
		strings.HasPrefix(q.model, "gpt-5.6")
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
	p.Report(path, "%s takes no effort beside functions in Chat Completions, and the default counts",
		q.model).Refuse(q.newRefusal("", path,
		"Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. %s", q.model, words))
}

func temperatureFits(q *request, p *rule.Pass) {
	n, isSet := q.body.Get("temperature").Number()
	if !q.isOpenAIs() || !isSet || !q.isThinking() {
		return
	}
	if p.Observe(); n != 1 {
		p.Report("temperature", "%s does not take temperature while it reasons",
			q.model).Refuse(q.newRefusal("unsupported_value", "temperature",
			"Unsupported value: 'temperature' does not support %s with this model. Only the default (1) value is supported.", q.body.Get("temperature").Raw()))
	}
}

func limitFits(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || q.takes.Reasoning == "never" || q.body.Get("max_tokens").Null() {
		return
	}
	p.Observe()
	p.Report("max_tokens", "%s reasons and takes max_completion_tokens instead",
		q.model).Refuse(q.newRefusal("unsupported_parameter", "max_tokens",
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."))
}

func streamOptionsFit(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) && !q.isOpenAIs() && !q.dialect.hasTrait(reasoningBack) ||
		q.body.Get("stream_options").Null() {
		return
	}
	if p.Observe(); q.body.True("stream") {
		return
	}
	words := "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	if q.dialect.hasTrait(reasoningBack) {
		words = "stream_options should be set along with stream = true"
	}
	p.Report("stream_options", "stream_options are set, and the reply is no stream").Refuse(q.newRefusal("",
		"stream_options", "%s", words))
}
