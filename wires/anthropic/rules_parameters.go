package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

const thinkingDocs = " Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

var parameterRules = []anthropicRule{
	judged("PAR-007/max-output", sureRule("A-7", "recorded", "max_tokens is not above what the model puts out", nil),
		outputFits),
	judged("PAR-002/model", likelyRule("A-31", "reported", "models from 4.7 on take no sampling parameters", nil),
		samplingTaken),
	judged("PAR-002/one", sureRule("A-31", "reported", "models of 4.5 and 4.6 take temperature or top_p, not both",
		nil), oneSampling),
	judged("PAR-004/effort", sureRule("A-32", "recorded", "the effort is one the model offers", nil), effortOffered),
	judged("PAR-007/range", sureRule("A-7", "reported", "a stop sequence is not white space alone", nil), stopsVisible),
}

func outputFits(c *call, p *rule.Pass) {
	n, ok := c.root.Get("max_tokens").Whole()
	most := c.takes.MaxOutput
	if most == 0 || !ok {
		return
	}
	if c.hasBeta("output-300k-2026-03-24") {
		most = 300_000
	}
	if p.Observe(); n > most {
		p.Report("max_tokens", "max_tokens is %d; %s writes at most %d", n, c.name, most).
			Refuse(invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", n,
				c.takes.MaxOutput, c.name))
	}
}

// samplingTaken lets the default temperature pass: "setting `temperature`, `top_p`, or `top_k` to
// any non-default value will return a 400 error" (platform.claude.com, what's new in Opus 4.7).
func samplingTaken(c *call, p *rule.Pass) {
	if !c.takes.DoesRefuse("sampling") {
		return
	}
	p.Observe()
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if n, _ := c.root.Get(name).Number(); c.root.Given(name) != nil && (name != "temperature" || n != 1) {
			p.Report(name, "%s does not take %s", c.name,
				name).Refuse(invalid("`%s` is deprecated for this model.", name))
		}
	}
}

// oneSampling leaves requests that ask for thinking to A-27: no report is of such a one.
func oneSampling(c *call, p *rule.Pass) {
	if !c.takes.DoesRefuse("temperature beside top_p") || c.asksToThink() {
		return
	}
	if p.Observe(); c.root.Given("temperature") != nil && c.root.Given("top_p") != nil {
		p.Report("top_p", "temperature and top_p are both set, and %s takes one of them", c.name).
			Refuse(invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one."))
	}
}

// efforts are those that some model has.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

func effortOffered(c *call, p *rule.Pass) {
	const at = "output_config.effort"
	v := c.root.Given("output_config").Given("effort")
	if !v.Is(tree.String) {
		return
	}
	p.Observe()
	switch level, offered := v.Text(), c.takes.Efforts; {
	case !slices.Contains(efforts, level):
		p.Report(at, "the effort %q is none of %s", rule.Shorten(level), strings.Join(efforts, ", ")).Rule = "A-7"
	case offered == nil || slices.Contains(offered, level):
	case len(offered) == 0:
		p.Report(at, "%s takes no effort", c.name).Refuse(invalid("This model does not support the effort parameter."))
	default:
		p.Report(at, "%s does not take effort %q, only %s", c.name, level, strings.Join(offered, ", ")).
			Refuse(invalid("This model does not support effort level '%s'. Supported levels: %s.", level,
				strings.Join(slices.Sorted(slices.Values(offered)), ", ")))
	}
}

// stopsVisible has the words of https://github.com/BerriAI/litellm/issues/3286.
func stopsVisible(c *call, p *rule.Pass) {
	blank := func(v *tree.Node) bool { return strings.TrimSpace(v.Text()) == "" }
	if slices.ContainsFunc(c.root.List("stop_sequences"), blank) {
		p.Report("stop_sequences", "stop_sequences holds one of white space alone").
			Refuse(invalid("stop_sequences: each stop sequence must contain non-whitespace"))
	}
}

var thinkingRules = []anthropicRule{
	judged("PAR-003/type", sureRule("A-28", "documented", "no thinking budget on models that are adaptive only", nil),
		thinkingOffered(thinkEnabled)),
	judged("PAR-003/type", sureRule("A-29", "documented", "no adaptive thinking on 4.5 and older", nil),
		thinkingOffered(thinkAdaptive)),
	judged("PAR-003/type", sureRule("A-30", "documented", "thinking is not disabled where it is always on", nil),
		thinkingOffered(thinkDisabled)),
	judged("PAR-001/below-max", sureRule("A-25", "documented",
		"the thinking budget is below max_tokens, unless thinking is interleaved", nil), budgetFits),
	judged("PAR-005/forced", sureRule("A-26", "documented", "no tool is forced while thinking has a budget", nil),
		toolNotForced),
	judged("PAR-003/type", sureRule("A-53", "reported", "an edit that clears thinking comes with thinking", nil),
		thinkingToClear),
	judged("PAR-003/type", likelyRule("A-55", "documented", "an edit that clears thinking is the first of the edits", nil),
		thinkingClearedFirst),
	judged("PAR-002/thinking", sureRule("A-27", "reported",
		"while thinking: temperature 1, top_p of 0.95 or more, no top_k", nil), sampledForThought),
}

// askedThinking is the form of thinking that the request names.
func (c *call) askedThinking() string { return c.root.Given("thinking").Text("type") }

// asksToThink reports whether the request names a form in which the model thinks.
func (c *call) asksToThink() bool {
	return c.askedThinking() == thinkEnabled || c.askedThinking() == thinkAdaptive
}

// thinkingOffered holds requests for one form of thinking against the forms that the model has.
func thinkingOffered(form string) func(*call, *rule.Pass) {
	words := fmt.Sprintf(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, form)
	if form == thinkAdaptive {
		words = "adaptive thinking is not supported on this model"
	}
	return func(c *call, p *rule.Pass) {
		if c.askedThinking() != form || c.takes.Thinking == nil {
			return
		}
		p.Observe()
		effort := c.root.Given("output_config").Given("effort").Text()
		switch {
		case !slices.Contains(c.takes.Thinking, form):
			p.Report("thinking.type", "%s does not take thinking %q, only %s", c.name, form,
				strings.Join(c.takes.Thinking, ", ")).Refuse(invalid("%s", words))
		case form == thinkDisabled && c.takes.DoesRefuse("disabled at xhigh") && (effort == "xhigh" || effort == "max"):
			p.Report("thinking.type", "%s does not take disabled thinking with effort %s", c.name,
				effort).Refuse(invalid("%s", words))
		}
	}
}

// clearThinkingEdit drops thinking of earlier turns on the provider's side.
const clearThinkingEdit = "clear_thinking_20251015"

// thinkingToClear: clients that switch thinking off for one request, because it forces a tool, leave
// the edit in.
func thinkingToClear(c *call, p *rule.Pass) {
	for i, edit := range c.root.Given("context_management").List("edits") {
		if edit.Text("type") != clearThinkingEdit || c.takes.Thinking == nil {
			continue
		}
		if p.Observe(); c.thinkingForm() == "" {
			p.Report(fmt.Sprintf("context_management.edits[%d]", i), "%s is asked for without thinking",
				clearThinkingEdit).
				Refuse(invalid("`%s` strategy requires `thinking` to be enabled or adaptive", clearThinkingEdit))
		}
	}
}

func thinkingClearedFirst(c *call, p *rule.Pass) {
	i := slices.IndexFunc(c.root.Given("context_management").List("edits"),
		func(edit *tree.Node) bool { return edit.Text("type") == clearThinkingEdit })
	if i < 0 || c.thinkingForm() == "" {
		return
	}
	if p.Observe(); i > 0 {
		p.Report(fmt.Sprintf("context_management.edits[%d]", i), "%s is not the first of the edits", clearThinkingEdit).
			Refuse(invalid("context_management.edits: `%s` must be listed first", clearThinkingEdit))
	}
}

// budgetFits: thinking and answer share max_tokens, except where thinking stands between calls.
func budgetFits(c *call, p *rule.Pass) {
	budget, ok := c.root.Given("thinking").Get("budget_tokens").Whole()
	most, limited := c.root.Get("max_tokens").Whole()
	interleaved := (c.betasUnknown || c.hasBeta(betaInterleaved)) && len(c.root.List("tools")) > 0
	if c.askedThinking() != thinkEnabled || !ok || !limited || most < 0 || interleaved {
		return
	}
	if p.Observe(); budget >= most {
		p.Report("thinking.budget_tokens", "budget_tokens %d is not below max_tokens %d", budget, most).
			Refuse(invalid("`max_tokens` must be greater than `thinking.budget_tokens`." + thinkingDocs +
				"#max-tokens-and-context-window-size"))
	}
}

func toolNotForced(c *call, p *rule.Pass) {
	if c.askedThinking() != thinkEnabled || c.root.Given("tool_choice") == nil || c.takes.DoesRefuse("forced tools") {
		return
	}
	if p.Observe(); c.forcesTool() {
		p.Report("tool_choice", "the choice forces a tool while thinking has a budget").
			Refuse(invalid("Thinking may not be enabled when tool_choice forces tool use."))
	}
}

func sampledForThought(c *call, p *rule.Pass) {
	if !c.asksToThink() {
		return
	}
	p.Observe()
	mode := map[string]string{thinkEnabled: "when thinking is enabled",
		thinkAdaptive: "when thinking is enabled or in adaptive mode"}[c.askedThinking()]
	for _, limit := range []struct {
		name, words string
		isTaken     func(v float64) bool
	}{
		{"temperature", "may only be set to 1", func(v float64) bool { return v == 1 }},
		{"top_p", "must be greater than or equal to 0.95 or unset", func(v float64) bool { return v < 0 || v >= 0.95 }},
		{"top_k", "must be unset", func(v float64) bool { return v <= 0 }},
	} {
		if v, ok := c.root.Get(limit.name).Number(); ok && !limit.isTaken(v) {
			p.Report(limit.name, "%s is %g while thinking is on", limit.name,
				v).Refuse(invalid("`%s` %s %s.%s", limit.name, limit.words, mode, thinkingDocs))
		}
	}
}

var toolRules = []anthropicRule{
	judged("PAR-008/unique", sureRule("A-21", "reported", "each tool has a name of its own", nil), toolsUnique),
	judged("PAR-005/has-tools", sureRule("A-23", "reported", "tool_choice comes with tools", nil), choiceHasTools),
	judged("PAR-005/named-tool", sureRule("A-23", "reported", "tool_choice names a tool of the request", nil),
		choiceNamesTool),
	judged("PAR-005/forced", sureRule("A-33", "documented", "no tool is forced on Opus 5.5, Fable and Mythos", nil),
		forcedTaken),
	judged("TSC-001/root", sureRule("A-7", "reported", "the schema of a tool makes no choice at its root", nil),
		schemas(rootChoosesNothing)),
	judged("TSC-002/argument-names", sureRule("A-7", "reported",
		"the names of arguments are up to 64 letters, digits, '_', '.' and '-'", nil), schemas(argumentsNamed)),
	judged("PAR-008/schema", sureRule("A-7", "reported", "the schema of a tool is a JSON Schema of draft 2020-12", nil),
		schemas(schemaSound)),
	judged("TSC-003/keywords", sureRule("A-7", "reported", "the keywords of a schema have the form of draft 2020-12",
		nil), schemas(keywordsKnown)),
	judged("NSP-004/some-loaded", sureRule("A-50", "documented", "of the tools one at least is not deferred", nil),
		someToolLoaded),
	judged("NSP-004/search-first",
		likelyRule("A-50", "documented", "the tool that searches for others is not deferred", nil), searchLoaded),
	judged("NSP-003/declared", sureRule("A-51", "documented", "a tool that a search found is among the tools", nil),
		referencesDeclared),
	judged("PAR-006/required", sureRule("A-56", "reported", "each MCP server of the request is in a toolset", nil),
		serversUsed),
	judged("PAR-008/strict", sureRule("A-48", "recorded", "strict tools are closed and keep to their limits", nil),
		strictFits),
	judged("TSC-007/output-keywords",
		sureRule("A-48", "recorded", "the schema of the output keeps to what can be enforced", nil),
		judgeOutput(boundKeyword)),
	judged("TSC-007/output-closed", sureRule("A-48", "recorded", "the objects in the schema of the output are closed",
		nil), judgeOutput(openObject)),
}

func toolsUnique(c *call, p *rule.Pass) {
	p.JudgeUnique(c.tools, func(*wire.Tool) *rule.Refusal { return invalid("tools: Tool names must be unique.") })
}

// toolsNamed reports what the schema refuses.
func toolsNamed(c *call, p *rule.Pass) {
	form := Members().Find("tool", "custom").Member("name").Pattern
	for _, t := range c.tools {
		if !t.IsClients || t.Name == "" {
			continue
		}
		if p.Observe(); !form.MatchString(t.Name) {
			p.Report(t.Path, "the provider does not take the tool name %.140q", t.Name)
		}
	}
}

// serversUsed: with the older beta servers have no toolsets.
func serversUsed(c *call, p *rule.Pass) {
	for i, server := range c.root.List("mcp_servers") {
		name := server.Text("name")
		if !c.hasBeta("mcp-client-2025-11-20") || c.hasBeta("mcp-client-2025-04-04") {
			return
		}
		if p.Observe(); !slices.ContainsFunc(c.root.List("tools"),
			func(t *tree.Node) bool { return t.Text("mcp_server_name") == name }) {
			p.Report(fmt.Sprintf("mcp_servers[%d]", i), "no mcp_toolset among the tools names the server %.140q", name).
				Refuse(invalid("MCP server '%s' is defined but not referenced by any `mcp_toolset` in `tools`.", name))
		}
	}
}

// offersMore reports whether tools come from elsewhere than the list of the request.
func (c *call) offersMore() bool {
	for range c.blocksOf("tool_addition") {
		return true
	}
	return c.root.Get("mcp_servers") != nil
}

func choiceHasTools(c *call, p *rule.Pass) {
	if c.root.Given("tool_choice") == nil || c.offersMore() {
		return
	}
	if p.Observe(); len(c.tools) == 0 {
		p.Report("tool_choice",
			"a choice among tools is made, and there are none").Refuse(invalid("tool_choice may only be specified while providing tools."))
	}
}

func choiceNamesTool(c *call, p *rule.Pass) {
	choice := choiceOf(c.root)
	for _, name := range choice.Names {
		isKnown := len(c.tools) > 0 && !c.offersMore()
		if isKnown {
			p.Observe()
		}
		if slices.ContainsFunc(c.tools, func(t wire.Tool) bool { return t.Name == name }) {
			continue
		}
		refusal := invalid("Tool '%s' not found in provided tools", name)
		if !isKnown {
			p.Refuse(refusal)
			continue
		}
		p.Report(choice.Path, "the choice names the tool %.140q, which is not declared", name).Refuse(refusal)
	}
}

func forcedTaken(c *call, p *rule.Pass) {
	if !c.takes.DoesRefuse("forced tools") || c.root.Given("tool_choice") == nil {
		return
	}
	if p.Observe(); c.forcesTool() {
		p.Report("tool_choice", "%s does not take tool_choice %q", c.name, c.root.Given("tool_choice").Text("type")).
			Refuse(invalid(`tool_choice: type "tool" and "any" are not supported for this model.`))
	}
}
