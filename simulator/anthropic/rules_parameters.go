package anthropic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

const thinkingDocs = " Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

var parameterRules = []anthropicRule{
	sureRule("A-7", "recorded", "max_tokens is not above what the model puts out", outputFits),
	likelyRule("A-31", "reported", "models from 4.7 on take no sampling parameters", samplingTaken),
	sureRule("A-31", "reported", "models of 4.5 and 4.6 take temperature or top_p, not both", oneSampling),
	sureRule("A-32", "recorded", "the effort is one the model offers", effortOffered),
	sureRule("A-7", "reported", "a stop sequence is not white space alone", stopsVisible),
}

func outputFits(c *call, _ rule.Env) *rule.Refusal {
	n, ok := c.root.Get("max_tokens").Whole()
	if c.takes.MaxOutput == 0 || !ok || n <= c.takes.MaxOutput || c.hasBeta("output-300k-2026-03-24") && n <= 300_000 {
		return nil
	}
	return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", n, c.takes.MaxOutput, c.name)
}

// samplingTaken lets the default temperature pass: "setting `temperature`, `top_p`, or `top_k` to
// any non-default value will return a 400 error" (platform.claude.com, what's new in Opus 4.7).
func samplingTaken(c *call, _ rule.Env) *rule.Refusal {
	if !c.takes.DoesRefuse("sampling") {
		return nil
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if n, _ := c.root.Get(name).Number(); c.root.Given(name) != nil && (name != "temperature" || n != 1) {
			return invalid("`%s` is deprecated for this model.", name)
		}
	}
	return nil
}

// oneSampling leaves requests that ask for thinking to A-27: no report is of such a one.
func oneSampling(c *call, _ rule.Env) *rule.Refusal {
	if !c.takes.DoesRefuse("temperature beside top_p") || c.askedThinking() == thinkEnabled || c.askedThinking() == thinkAdaptive ||
		c.root.Given("temperature") == nil || c.root.Given("top_p") == nil {
		return nil
	}
	return invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
}

func effortOffered(c *call, _ rule.Env) *rule.Refusal {
	level := c.root.Given("output_config").Given("effort").Text()
	switch {
	case level == "" || c.takes.Efforts == nil || slices.Contains(c.takes.Efforts, level):
		return nil
	case len(c.takes.Efforts) == 0:
		return invalid("This model does not support the effort parameter.")
	}
	return invalid("This model does not support effort level '%s'. Supported levels: %s.", level, strings.Join(slices.Sorted(slices.Values(c.takes.Efforts)), ", "))
}

// stopsVisible has the words of https://github.com/BerriAI/litellm/issues/3286.
func stopsVisible(c *call, _ rule.Env) *rule.Refusal {
	blank := func(v *tree.Node) bool { return strings.TrimSpace(v.Text()) == "" }
	return invalidIf(slices.ContainsFunc(c.root.Get("stop_sequences").List(), blank), "stop_sequences: each stop sequence must contain non-whitespace")
}

var thinkingRules = []anthropicRule{
	sureRule("A-28", "documented", "no thinking budget on models that are adaptive only", budgetTaken),
	sureRule("A-29", "documented", "no adaptive thinking on 4.5 and older", adaptiveTaken),
	sureRule("A-30", "documented", "thinking is not disabled where it is always on", disabledTaken),
	sureRule("A-25", "documented", "the thinking budget is below max_tokens, unless thinking is interleaved", budgetFits),
	sureRule("A-26", "documented", "no tool is forced while thinking has a budget", toolNotForced),
	sureRule("A-27", "reported", "while thinking: temperature 1, top_p of 0.95 or more, no top_k", sampledForThought),
}

// askedThinking is the form of thinking that the request names.
func (c *call) askedThinking() string { return c.root.Given("thinking").Get("type").Text() }

func (c *call) takesThinking(form string) bool {
	return c.takes.Thinking == nil || slices.Contains(c.takes.Thinking, form)
}

func unsupportedThinking(form string) *rule.Refusal {
	return invalid(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, form)
}

func budgetTaken(c *call, _ rule.Env) *rule.Refusal {
	if c.askedThinking() != thinkEnabled || c.takesThinking(thinkEnabled) {
		return nil
	}
	return unsupportedThinking(thinkEnabled)
}

func adaptiveTaken(c *call, _ rule.Env) *rule.Refusal {
	return invalidIf(c.askedThinking() == thinkAdaptive && !c.takesThinking(thinkAdaptive), "adaptive thinking is not supported on this model")
}

func disabledTaken(c *call, _ rule.Env) *rule.Refusal {
	if c.askedThinking() != thinkDisabled {
		return nil
	}
	level := c.root.Given("output_config").Given("effort").Text()
	if c.takesThinking(thinkDisabled) && (!c.takes.DoesRefuse("disabled at xhigh") || level != "xhigh" && level != "max") {
		return nil
	}
	return unsupportedThinking(thinkDisabled)
}

func budgetFits(c *call, _ rule.Env) *rule.Refusal {
	budget, ok := c.root.Given("thinking").Get("budget_tokens").Whole()
	most, limited := c.root.Get("max_tokens").Whole()
	interleaved := c.hasBeta(betaInterleaved) && len(c.root.Get("tools").List()) > 0
	if c.askedThinking() != thinkEnabled || !ok || !limited || budget < most || interleaved {
		return nil
	}
	return invalid("`max_tokens` must be greater than `thinking.budget_tokens`." + thinkingDocs + "#max-tokens-and-context-window-size")
}

func toolNotForced(c *call, _ rule.Env) *rule.Refusal {
	return invalidIf(c.askedThinking() == thinkEnabled && c.forcesTool(), "Thinking may not be enabled when tool_choice forces tool use.")
}

func sampledForThought(c *call, _ rule.Env) *rule.Refusal {
	mode := map[string]string{thinkEnabled: "when thinking is enabled", thinkAdaptive: "when thinking is enabled or in adaptive mode"}[c.askedThinking()]
	if mode == "" {
		return nil
	}
	if v, ok := c.root.Get("temperature").Number(); ok && v != 1 {
		return invalid("`temperature` may only be set to 1 %s.%s", mode, thinkingDocs)
	}
	if v, ok := c.root.Get("top_p").Number(); ok && v >= 0 && v < 0.95 {
		return invalid("`top_p` must be greater than or equal to 0.95 or unset %s.%s", mode, thinkingDocs)
	}
	if v, ok := c.root.Get("top_k").Number(); ok && v > 0 {
		return invalid("`top_k` must be unset %s.%s", mode, thinkingDocs)
	}
	return nil
}

var toolRules = []anthropicRule{
	sureRule("A-21", "reported", "each tool has a name of its own", toolsUnique),
	sureRule("A-23", "reported", "tool_choice comes with tools and names one of them", choiceExists),
	sureRule("A-33", "documented", "no tool is forced on Opus 5.5, Fable and Mythos", forcedTaken),
	sureRule("A-7", "reported", "the schema of a tool is a JSON Schema of draft 2020-12, without a choice at its root", toolSchemasValid),
	sureRule("A-50", "documented", "of the tools one at least is not deferred", someToolLoaded),
	likelyRule("A-50", "documented", "the tool that searches for others is not deferred", searchLoaded),
	sureRule("A-51", "documented", "a tool that a search found is among the tools", referencesDeclared),
	sureRule("A-48", "recorded", "strict tools keep to their limits", strictFits),
	sureRule("A-48", "recorded", "the schema of the output keeps to what can be enforced", outputSchemaFits),
}

func toolsUnique(c *call, _ rule.Env) *rule.Refusal {
	seen := map[string]bool{}
	for _, t := range c.root.Get("tools").List() {
		name := t.Get("name").Text()
		if name != "" && seen[name] {
			return invalid("tools: Tool names must be unique.")
		}
		seen[name] = true
	}
	return nil
}

// propertyKey is what the name of an argument looks like.
var propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func toolSchemasValid(c *call, _ rule.Env) *rule.Refusal {
	for i, t := range c.root.Get("tools").List() {
		schema := t.Get("input_schema")
		if schema == nil {
			continue
		}
		at := fmt.Sprintf("tools.%d.custom.input_schema", i)
		switch {
		case schema.Given("oneOf") != nil || schema.Given("allOf") != nil || schema.Given("anyOf") != nil:
			return invalid("%s: input_schema does not support oneOf, allOf, or anyOf at the top level", at)
		case slices.ContainsFunc(schema.Get("properties").Names(), func(name string) bool { return !propertyKey.MatchString(name) }):
			return invalid("%s.properties: Property keys should match pattern '%s'", at, propertyKey)
		case !tree.IsSchema(schema):
			return invalid("%s: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.", at)
		}
	}
	return nil
}

func choiceExists(c *call, _ rule.Env) *rule.Refusal {
	choice, tools := c.root.Given("tool_choice"), c.root.Get("tools").List()
	if choice == nil {
		return nil
	}
	if len(tools) == 0 && len(c.root.Get("mcp_servers").List()) == 0 {
		return invalid("tool_choice may only be specified while providing tools.")
	}
	name := choice.Get("name").Text()
	if choice.Get("type").Text() != "tool" || slices.ContainsFunc(tools, func(t *tree.Node) bool { return t.Get("name").Text() == name }) {
		return nil
	}
	return invalid("Tool '%s' not found in provided tools", name)
}

func forcedTaken(c *call, _ rule.Env) *rule.Refusal {
	return invalidIf(c.takes.DoesRefuse("forced tools") && c.forcesTool(), `tool_choice: type "tool" and "any" are not supported for this model.`)
}
