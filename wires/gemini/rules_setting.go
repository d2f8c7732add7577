package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// settingRules are about how to answer.
var settingRules = []rule.Rule[*request]{
	judged("PAR-013/one-of", sureRule("G-23", "a thinking level or a budget, not both", "reported"), levelAndBudget),
	judged("PAR-013/one-of", sureRule("G-35", "what a cache holds is not set beside it", "reported"), cachedAlone),
	judged("PAR-013/level", sureRule("G-24", "only thinking levels that the model offers", "reported"),
		levelUnsupported),
	judged("PAR-013/budget", sureRule("G-25",
		"a thinking budget in the model's range, and none of 0 where it always thinks", "reported"), budgetFits),
	judged("PAR-013/circulation", strictRule(liveRule("G-26", "server tools circulate only from Gemini 3 on",
		"inferred", rule.Medium, nil)), circulationAllowed),
	atPublicAPI(judged("PAR-013/circulation", sureRule("G-37",
		"from Gemini 3 on tools of the provider beside functions come with includeServerSideToolInvocations",
		"reported"), mixDeclared)),
	judged("PAR-005/has-tools", sureRule("G-27",
		"a calling mode needs declarations; AUTO may stand beside a tool of the provider", "recorded"), modeHasTools),
	judged("PAR-005/named-tool",
		strictRule(liveRule("G-27", "a function that may be called is declared; the words are inferred", "inferred",
			rule.Low, nil)), allowedDeclared),
	liveRule("G-28", "temperature is from 0 to 2; outside Vertex the words are inferred", "recorded", rule.High,
		generateOnly(temperatureFits)),
	liveRule("G-28", "at most five stop sequences", "reported", rule.High, generateOnly(stopsFew)),
	liveRule("G-28", "other numbers are in the range that members.yaml gives; the words are inferred", "documented",
		rule.Medium, generateOnly(numbersFit)),
	strictRule(liveRule("G-33",
		"a schema of the answer comes with a MIME type other than text/plain; a report of 2025 says that it was passed over", "documented", rule.Medium, generateOnly(schemaHasType))),
	atPublicAPI(judged("PAR-013/logprobs",
		sureRule("G-34", "no log probabilities and no penalties from Gemini 2.5 on, except on Vertex", "reported"),
		extrasOffered)),
	atPublicAPI(judged("PAR-013/one-of", sureRule("G-38",
		"before Gemini 3 functions and an answer in JSON are not asked for together", "reported"), jsonAlone)),
	liveRule("G-29", "the request fits the model's context", "reported", rule.High, generateOnly(promptFits)),
}

func (q *request) thinkingConfig() *tree.Node {
	return q.config.Given("thinkingConfig", "thinking_config")
}

func (q *request) thinkingBudget() (float64, bool) {
	return numberOf(q.thinkingConfig().Given("thinkingBudget", "thinking_budget"))
}

// whereSet returns the path of a member of the thinking settings.
func whereSet(name string) string { return "generationConfig.thinkingConfig." + name }

func levelAndBudget(q *request, p *rule.Pass) {
	level, budget := q.thinkingConfig().Given("thinkingLevel", "thinking_level"),
		q.thinkingConfig().Given("thinkingBudget", "thinking_budget")
	if q.method == count || level == nil && budget == nil {
		return
	}
	if p.Observe(); level != nil && budget != nil {
		p.Report(whereSet("thinkingBudget"), "thinkingBudget and thinkingLevel are both set").
			Refuse(invalid("You can only set only one of thinking budget and thinking level."))
	}
}

// cachedAlone: a cache holds the instruction, the tools and their settings that its requests are
// answered with.
func cachedAlone(q *request, p *rule.Pass) {
	if q.body.Given("cachedContent", "cached_content").Text() == "" {
		return
	}
	p.Observe()
	for _, names := range [][]string{{"systemInstruction", "system_instruction"}, {"tools"},
		{"toolConfig", "tool_config"}} {
		if q.body.Given(names...) == nil {
			continue
		}
		refusal := invalid("CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. Proposed fix: move those values to CachedContent from GenerateContent request.")
		if q.vertex {
			refusal = invalid("Tool config, tools and system instruction should not be set in the request when using cached content.")
		}
		p.Report(names[0], "%s is set beside cachedContent", names[0]).Refuse(refusal)
	}
}

func levelUnsupported(q *request, p *rule.Pass) {
	level, offered := enumName(q.thinkingConfig().Given("thinkingLevel", "thinking_level")), q.model.takes.Levels
	if q.method == count || level == "" {
		return
	}
	p.Observe()
	switch {
	case level == "THINKING_LEVEL_UNSPECIFIED":
	case !slices.Contains(Members().Find("thinkingConfig", "").Member("thinkingLevel").Values, level):
		p.Report(whereSet("thinkingLevel"), "there is no thinkingLevel %s", rule.Shorten(level)).Rule = "G-3"
	case offered == nil || slices.Contains(offered, level):
	case q.vertex:
		p.Report(whereSet("thinkingLevel"), levelForm, q.model.id, level, levelsOf(offered)).
			Refuse(invalid("Unable to submit request because thinking_level %s is not supported by this model. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini", level))
	case len(offered) == 0:
		p.Report(whereSet("thinkingLevel"), levelForm, q.model.id, level, levelsOf(offered)).
			Refuse(invalid("Thinking level is not supported for this model."))
	default:
		p.Report(whereSet("thinkingLevel"), levelForm, q.model.id, level, levelsOf(offered)).
			Refuse(invalid("Thinking level %s is not supported for this model. Please retry with other thinking level.",
				level))
	}
}

const levelForm = "%s does not take thinkingLevel %s, only %s"

func levelsOf(offered []string) string {
	if len(offered) == 0 {
		return "a budget"
	}
	return strings.Join(offered, ", ")
}

// budgetFits has the words of https://github.com/RooCodeInc/Roo-Code/issues/4399 for a budget
// out of range. -1 leaves the budget to the model.
func budgetFits(q *request, p *rule.Pass) {
	budget, ok := q.thinkingBudget()
	bounds, alwaysThinks := q.model.takes.Budget, q.model.takes.DoesRefuse("zero budget")
	if q.method == count || !ok || budget == -1 || budget >= 0 && bounds == nil && !alwaysThinks {
		return
	}
	p.Observe()
	isOutside := bounds != nil && (budget < float64(bounds[0]) || budget > float64(bounds[1]))
	switch {
	case budget < 0:
		p.Report(whereSet("thinkingBudget"), "thinkingBudget is %g",
			budget).Refuse(invalid("The thinking budget (%g) is invalid.", budget))
	case budget == 0 && alwaysThinks:
		p.Report(whereSet("thinkingBudget"), "thinkingBudget is 0 and %s always thinks", q.model.id).
			Refuse(invalid("Budget 0 is invalid. This model only works in thinking mode."))
	case budget > 0 && isOutside:
		p.Report(whereSet("thinkingBudget"), "thinkingBudget is %g; %s takes %d to %d", budget, q.model.id, bounds[0],
			bounds[1]).
			Refuse(invalid("The thinking budget (%g) is invalid.", budget))
	}
}

func circulationAllowed(q *request, p *rule.Pass) {
	v := q.toolConfig.Given(circulation, tree.Snake(circulation))
	if q.method == count || q.model.Major == 0 || v == nil && q.tools == nil {
		return
	}
	if p.Observe(); v.True() && !q.model.needsSignatures() {
		p.Report("toolConfig."+circulation, "%s does not take "+circulation, q.model.id).
			Refuse(invalid("Tool call context circulation is not enabled for models/%s", q.model.id))
	}
}

// mixDeclared leaves computerUse alone, whose calls the client answers. Vertex does not know the member.
func mixDeclared(q *request, p *rule.Pass) {
	if q.method == count || q.vertex || len(q.functions) == 0 || !q.model.needsSignatures() {
		return
	}
	for i, t := range q.tools {
		if t.Given("googleSearch", "google_search", "urlContext", "url_context", "codeExecution", "code_execution",
			"googleMaps", "google_maps", "fileSearch", "file_search") == nil {
			continue
		}
		if p.Observe(); q.toolConfig.Given(circulation, tree.Snake(circulation)).True() {
			continue
		}
		p.Report(fmt.Sprintf("tools[%d]", i), "a tool of the provider stands beside functions, and %s is not set",
			circulation).Refuse(invalid(
			"Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."))
	}
}

// circulation is set where calls of the provider's tools come back.
const circulation = "includeServerSideToolInvocations"

// modeHasTools and allowedDeclared: tools may stand in the content that is cached.
func modeHasTools(q *request, p *rule.Pass) {
	config := q.toolConfig.Given("functionCallingConfig", "function_calling_config")
	if q.method == count || config == nil {
		return
	}
	mode := strings.ToUpper(config.Given("mode").Text())
	var refusal *rule.Refusal
	if len(q.functions) == 0 && (len(q.tools) == 0 || mode != "" && mode != "AUTO") {
		refusal = invalid("Function calling config is set without function_declarations.")
	}
	if q.isCached() {
		p.Refuse(refusal)
	} else if p.Observe(); refusal != nil {
		p.Report("toolConfig.functionCallingConfig", "a choice among tools is made, and there are none").Refuse(refusal)
	}
}

func (q *request) isCached() bool { return q.body.Given("cachedContent", "cached_content") != nil }

func allowedDeclared(q *request, p *rule.Pass) {
	if q.method == count {
		return
	}
	choice, isKnown := choiceOf(q.body), len(q.functions) > 0 && !q.isCached()
	for _, name := range choice.Names {
		if isKnown {
			p.Observe()
		}
		if slices.ContainsFunc(q.functions, func(t wire.Tool) bool { return t.Name == name }) {
			continue
		}
		refusal := invalid("Function calling config allows the function %s, which is not declared.", name)
		if !isKnown {
			p.Refuse(refusal)
			continue
		}
		p.Report(choice.Path, "the choice names the tool %.140q, which is not declared", name).Refuse(refusal)
	}
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

func numbersFit(q *request, _ rule.Env) *rule.Refusal {
	if q.vertex {
		return nil
	}
	var faults []string
	byName := func(a, b *members.Member) int { return strings.Compare(a.Name, b.Name) }
	for _, m := range slices.SortedFunc(slices.Values(Members().Find("generationConfig", "").Members), byName) {
		name := tree.Snake(m.Name)
		n, ok := numberOf(q.config.Given(m.Name, name))
		switch {
		case !ok:
		case m.Min != nil && n < *m.Min:
			faults = append(faults, fmt.Sprintf("generation_config.%s: %s must be at least %g.", name, name, *m.Min))
		case m.Max != nil && n > *m.Max:
			faults = append(faults, fmt.Sprintf("generation_config.%s: %s must be at most %g.", name, name, *m.Max))
		}
	}
	return invalidList(faults)
}

// schemaHasType has the words that public code gives for Vertex and for the Go SDK; those for
// a JSON Schema are the same by inference.
func schemaHasType(q *request, _ rule.Env) *rule.Refusal {
	schema := q.config.Given("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema",
		"_responseJsonSchema")
	mime := q.config.Given("responseMimeType", "response_mime_type").Text()
	if schema == nil || mime != "" && mime != "text/plain" {
		return nil
	}
	return invalid("Response_schema with a response mime type 'text/plain' is unsupported")
}

// extrasOffered has the words of https://github.com/omeryasirkucuk/amx/pull/55. A penalty of 0 is none: see
// https://github.com/google-gemini/cookbook/issues/1290.
func extrasOffered(q *request, p *rule.Pass) {
	if q.method == count || q.vertex || q.model.Major == 0 {
		return
	}
	if p.Observe(); !q.model.IsBefore(2, 5) && q.config.Given("responseLogprobs", "response_logprobs").True() {
		p.Report("generationConfig.responseLogprobs", "%s does not take responseLogprobs", q.model.id).
			Refuse(invalid("Logprobs is not enabled for this model"))
	}
	for _, name := range []string{"presencePenalty", "frequencyPenalty"} {
		if n, _ := numberOf(q.config.Given(name, tree.Snake(name))); n != 0 && !q.model.IsBefore(2, 5) {
			p.Report("generationConfig."+name, "%s takes no penalty, and %s is set", q.model.id, name).
				Refuse(invalid("Penalty is not enabled for models/%s", q.model.id))
		}
	}
}

func jsonAlone(q *request, p *rule.Pass) {
	if q.method == count || q.vertex || len(q.functions) == 0 || q.model.Major == 0 || q.model.needsSignatures() {
		return
	}
	if p.Observe(); q.config.Given("responseMimeType", "response_mime_type").Text() == "application/json" {
		p.Report("generationConfig.responseMimeType", "%s takes no answer in JSON beside functions", q.model.id).
			Refuse(invalid("Function calling with a response mime type: 'application/json' is unsupported"))
	}
}

func promptFits(q *request, _ rule.Env) *rule.Refusal {
	if tokens := countTokens(q.body); q.served && tokens > q.model.Context {
		return invalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens,
			q.model.Context)
	}
	return nil
}
