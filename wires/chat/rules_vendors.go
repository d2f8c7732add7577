package chat

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// vendorRules are about what the servers and models of one vendor take.
var vendorRules = []rule.Rule[*request]{
	everywhere(judged("ORD-015/roles",
		likelyRule("C-4", "a system message stands first where the template of the model wants that", reported),
		templateSystemFirst)),
	judged("ORD-015/parts", sureRule("C-13", "OpenAI takes images in messages of the user, and sounds on audio models",
		recorded), partsFit),
	judged("ORD-015/parts", sureRule("C-14", "DeepSeek takes texts only", recorded), textsOnly),
	judged("PAR-008/schema", sureRule("C-30", "the schema of a function is sound", reported),
		functionSchemas(rule.SchemaSound)),
	judged("PAR-008/strict", sureRule("C-30", "strict schemas are closed and require every key", reported),
		strictSchemas(rule.LooseObject)),
	judged("TSC-006/strict-keywords", sureRule("C-30", "strict schemas have only keywords that can be enforced",
		reported), strictSchemas(rule.UnenforceableKeyword)),
	judged("PAR-005/forced", sureRule("C-31", "DeepSeek, Qwen and Kimi force no tool while the model thinks", recorded),
		forcedWithoutThinking),
	judged("PAR-002/reasoning", sureRule("C-36", "models of OpenAI that reason take neither stop nor logprobs",
		recorded), outputFits),
	judged("PAR-002/model", sureRule("C-37", "Kimi takes the one temperature of the model", documented),
		kimiTemperature),
	judged("PAR-002/model", likelyRule("C-39",
		"models of xAI that reason take neither penalties nor stop nor an effort", reported), xaiTakes),
	judged("PAR-007/range", likelyRule("C-41", "Anthropic answers with one choice", documented), oneChoice),
	judged("PAR-007/range", likelyRule("C-40", "top_logprobs stands beside logprobs", documented), logprobsAsked),
	judged("PAR-006/known", sureRule("C-43",
		"Gemini and Mistral refuse members of OpenAI that they do not have, and Azure those of other vendors", reported),
		membersKnown),
	judged("PAR-004/effort", sureRule("C-111", "Kimi and OpenRouter are told once how much to reason", reported), onceTold),
	judged("PAR-007/range", sureRule("C-112", "DeepSeek knows no json_schema", reported), answerKnown),
	judged("ORD-015/roles", sureRule("C-7", "at Perplexity user and assistant speak in turn", reported), takeTurns),
	judged("PAR-004/effort", likelyRule("C-54", "a model of Kimi that always thinks is not told not to", documented),
		kimiThinks),
	judged("ORD-015/parts", likelyRule("C-59", "a detail of Gemini's reasoning has the id of a call in its message",
		reported), detailsNameCalls),
	judged("SIG-014/call-signed", sureRule("C-60",
		"from Gemini 3 on the first call of each step of the turn carries its signature", reported), callsSigned),
	judged("ORD-014/nothing-empty", sureRule("C-105", "Kimi takes no empty message of the assistant", reported),
		kimiSpeaks),
	judged("PAR-008/names", sureRule("C-100", "the name of a function at Kimi begins with a letter", reported),
		kimiNames),
	judged("PAR-008/schema", sureRule("C-101", "Kimi takes objects as schemas, and references into $defs", documented),
		kimiSchemas),
	judged("PAR-008/schema", sureRule("C-102", "each function at MiniMax has parameters", reported),
		miniMaxParameters),
	judged("PAR-008/strict", sureRule("C-106", "all functions at Cerebras are strict, or none", reported),
		cerebrasStrict),
	judged("ORD-015/roles", likelyRule("C-103", "a request to GLM has a message of the user", reported), glmAsked),
	judged("ORD-015/arguments", sureRule("C-104", "arguments at DashScope and MiniMax are JSON", reported),
		argumentsParse),
	judged("ORD-015/roles", sureRule("C-107", "a conversation with MiniMax has one system message, in its first place",
		reported), miniMaxSystemFirst),
	judged("PAR-007/range", sureRule("C-108",
		"json_object is asked for in messages that have the word JSON, at OpenAI and DashScope", documented), jsonNamed),
	judged("ORD-014/nothing-empty", sureRule("C-109", "GLM takes no empty text in a list of parts", reported), glmTexts),
	judged("ORD-016/user-ends", sureRule("C-110", "Mistral goes on with no message of the assistant but a prefix",
		reported), mistralAsked),
	judged("ORD-015/parts", likelyRule("C-65", "Groq takes reasoning back on models that reason", reported),
		groqReasoning),
}

// templateSystemFirst is about Qwen's templates on engines that anybody runs.
func templateSystemFirst(q *request, p *rule.Pass) {
	name := strings.ToLower(q.model)
	if q.dialect.Name == "" && slices.ContainsFunc([]string{"qwen3.5", "qwen3.6", "qwen3.7", "qwen3.8"},
		func(s string) bool { return strings.Contains(name, s) }) {
		q.systemFirst(p, "the template of "+q.model, "System message must be at the beginning.")
	}
}

func miniMaxSystemFirst(q *request, p *rule.Pass) {
	if q.dialect.Name == "minimax" {
		q.systemFirst(p, "MiniMax", "invalid params, invalid chat setting (2013)")
	}
}

func (q *request) systemFirst(p *rule.Pass, who, words string) {
	for i, m := range q.messages {
		if m.role != "system" {
			continue
		}
		if p.Observe(); i > 0 {
			p.Report(m.path+".role", "%s takes a system message in the first place only",
				who).Refuse(q.newRefusal("", "", "%s", words))
		}
	}
}

// eachPart calls see for each part of the contents, of message i.
func (q *request) eachPart(see func(i int, part *tree.Node, path string)) {
	for i, m := range q.messages {
		for j, part := range m.List("content") {
			see(i, part, fmt.Sprintf("%s.content[%d]", m.path, j))
		}
	}
}

// openAIParts are the types of parts in the API reference.
var openAIParts = []string{"text", "image_url", "input_audio", "file", "refusal"}

func partsFit(q *request, p *rule.Pass) {
	if q.dialect.Name != "openai" {
		return
	}
	takesImages := q.takes.Reasoning != "" && q.takes.Reasoning != "never" && !specs.ParseModel(q.model).IsBefore(5, 2)
	q.eachPart(func(i int, part *tree.Node, path string) {
		m, kind := q.messages[i], part.Text("type")
		switch p.Observe(); {
		case !slices.Contains(openAIParts, kind):
			p.Report(path, "a part of the type %.40q is none of this API",
				kind).Refuse(q.newRefusal("invalid_value", fmt.Sprintf("messages[%d]", i),
				"Invalid 'messages[%d]'. Content blocks are expected to be either text or image_url type.",
				i)).Rule = "C-9"
		case kind == "image_url" && m.role != "user" && (!takesImages || m.role == "tool" || m.role == "assistant"):
			b := p.Report(path, "an image stands in a message with the role %s, where the model does not see it",
				m.role)
			if b.Consequence = string(specs.Degraded); !takesImages {
				b.Consequence = ""
				b.Refuse(q.newRefusal("", fmt.Sprintf("messages[%d]", i),
					"Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, m.role))
			}
		case kind == "input_audio" && q.takes.Reasoning != "" && !strings.Contains(q.model, "audio"):
			p.Report(path, "%s takes no sound", q.model).Refuse(q.newRefusal("", fmt.Sprintf("messages[%d]", i),
				"Invalid 'messages[%d]'. Content blocks are expected to be either text or image_url type.", i))
		}
	})
}

func textsOnly(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(reasoningBack) {
		return
	}
	q.eachPart(func(i int, part *tree.Node, path string) {
		kind := part.Text("type")
		if p.Observe(); kind != "text" {
			p.Report(path, "DeepSeek takes texts only, and this is %.40q", kind).Refuse(q.newRefusal("", "",
				"Failed to deserialize the JSON body into the target type: messages[%d]: unknown variant `%s`, "+
					"expected `text` at line 1 column %d", i, kind, part.Get("type").Offset()))
		}
	})
}

// functionSchemas holds the schemas of functions at OpenAI to what find looks for.
func functionSchemas(find func(schema *tree.Node) (path, ours, words string)) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		if q.checksFunctions() {
			q.judgeSchemas(p, q.offers, find)
		}
	}
}

// strictSchemas is functionSchemas for what is strict: functions, and the form of the answer.
func strictSchemas(find func(schema *tree.Node) (path, ours, words string)) func(*request, *rule.Pass) {
	return func(q *request, p *rule.Pass) {
		if !q.checksFunctions() {
			return
		}
		if format := q.body.Get("response_format", "json_schema"); format.True("strict") {
			p.Observe()
			if path, ours, words := find(format.Get("schema")); ours != "" {
				p.Report("response_format.json_schema.schema"+path, "the schema of the answer: %s", ours).
					Refuse(q.newRefusal("", "response_format", "Invalid schema for response_format '%s': %s",
						format.Text("name"), words))
			}
		}
		q.judgeSchemas(p, slices.DeleteFunc(slices.Clone(q.offers), func(t wire.Tool) bool { return !t.IsStrict }),
			find)
	}
}

func (q *request) judgeSchemas(p *rule.Pass, tools []wire.Tool,
	find func(schema *tree.Node) (path, ours, words string)) {
	p.JudgeSchemas(tools, func(t *wire.Tool) (f rule.SchemaFault) {
		words := ""
		if f.Path, f.Text, words = find(t.Schema); words != "" {
			f.Refusal = q.newRefusal("invalid_function_parameters", t.SchemaPath,
				"Invalid schema for function '%s': %s", t.Name, words)
		}
		return f
	})
}

func forcedWithoutThinking(q *request, p *rule.Pass) {
	isQwen := q.dialect.Name == "qwen"
	isKimi := q.dialect.hasTrait(reasoningKept) && strings.HasPrefix(q.model, "kimi-k2.") // whose thinking can be off
	if q.choice.Kind != "any" && q.choice.Kind != "tool" || !isQwen && !isKimi && !q.dialect.hasTrait(reasoningBack) {
		return
	}
	switch p.Observe(); {
	case isQwen && q.body.True("enable_thinking"):
		p.Report("tool_choice", "Qwen forces no tool while it thinks").Refuse(q.newRefusal("", "",
			"<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode"))
	case isKimi && q.isThinking():
		word := "required"
		if q.choice.Kind == "tool" {
			word = "specified"
		}
		p.Report("tool_choice", "Kimi forces no tool while it thinks").Refuse(q.newRefusal("", "",
			"tool_choice '%s' is incompatible with thinking enabled", word))
	case !isQwen && q.isThinking():
		p.Report("tool_choice", "DeepSeek forces no tool while it thinks").Refuse(q.newRefusal("", "",
			"Thinking mode does not support this tool_choice"))
	}
}

func outputFits(q *request, p *rule.Pass) {
	if !q.isOpenAIs() || !q.isThinking() || strings.HasPrefix(q.model, "o1") || strings.HasPrefix(q.model, "o3-mini") {
		return
	}
	for _, name := range []string{"stop", "logprobs"} {
		if value := q.body.Get(name); !value.Null() && !value.False() {
			p.Observe()
			p.Report(name, "%s reasons and does not take %s", q.model,
				name).Refuse(q.newRefusal("unsupported_parameter", name,
				"Unsupported parameter: '%s' is not supported with this model.", name))
		}
	}
}

func kimiTemperature(q *request, p *rule.Pass) {
	is, isSet := q.body.Get("temperature").Number()
	if !isSet || !q.dialect.hasTrait(reasoningKept) || !strings.HasPrefix(q.model, "kimi-k2.") &&
		!strings.HasPrefix(q.model, "kimi-k3") {
		return
	}
	takes := 0.6
	if q.isThinking() {
		takes = 1
	}
	if p.Observe(); is != takes {
		p.Report("temperature", "%s takes the temperature %g only", q.model,
			takes).Refuse(q.newRefusal("", "", "invalid temperature: only %g is allowed for this model", takes))
	}
}

func xaiTakes(q *request, p *rule.Pass) {
	isMini := strings.HasPrefix(q.model, "grok-3-mini")
	if q.dialect.Name != "xai" || !isMini && !strings.HasPrefix(q.model, "grok-4") ||
		strings.Contains(q.model, "non-reasoning") {
		return
	}
	for _, m := range [][2]string{{"presence_penalty", "presencePenalty"}, {"frequency_penalty", "frequencyPenalty"},
		{"stop", "stop"}, {"reasoning_effort", "reasoningEffort"}} {
		if isMini && m[0] == "reasoning_effort" {
			continue
		}
		if p.Observe(); q.body.Get(m[0]).Null() {
			continue
		}
		p.Report(m[0], "%s does not take %s", q.model,
			m[0]).Refuse(q.newRefusal("", "", "Model %s does not support parameter %s.", q.model, m[1]))
	}
}

func oneChoice(q *request, p *rule.Pass) {
	if n := q.body.Int("n"); q.dialect.Name == "anthropic" && n > 0 {
		if p.Observe(); n > 1 {
			p.Report("n", "%d choices are asked for, and Anthropic gives one", n)
		}
	}
}

func logprobsAsked(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) || q.body.Get("top_logprobs").Null() {
		return
	}
	if p.Observe(); !q.body.True("logprobs") {
		p.Report("top_logprobs", "top_logprobs is set without logprobs").Refuse(q.newRefusal("", "top_logprobs",
			"Invalid value for 'top_logprobs': 'top_logprobs' is only allowed when 'logprobs' is enabled."))
	}
}

func membersKnown(q *request, p *rule.Pass) {
	vendor := vendorOf(q.model).Name
	if q.dialect.Lacks == nil || q.dialect.Name == "azure" && vendor != "" && vendor != "openai" {
		return // Azure serves models of others, too
	}
	p.Observe()
	for _, name := range q.dialect.Lacks {
		if !q.body.Has(name) {
			continue
		}
		p.Report(name, "the host does not know the member %s", name).
			Refuse(q.newRefusal("", "", "%s", strings.ReplaceAll(q.dialect.Says, "{name}", name)))
	}
}

func onceTold(q *request, p *rule.Pass) {
	both := &q.dialect.NeverBoth
	isGiven := func(member string) bool { return !q.body.Get(strings.Split(member, ".")...).Null() }
	if !slices.ContainsFunc(both.Members, isGiven) {
		return
	}
	if p.Observe(); isGiven(both.Members[0]) && isGiven(both.Members[1]) {
		p.Report(both.Members[1], "%s stands beside %s", both.Members[1], both.Members[0]).
			Refuse(q.newRefusal("", "", "%s", both.Says))
	}
}

func answerKnown(q *request, p *rule.Pass) {
	kind, takes := q.body.Text("response_format", "type"), &q.dialect.Answers
	if kind == "" || takes.Types == nil {
		return
	}
	if p.Observe(); !slices.Contains(takes.Types, kind) {
		p.Report("response_format.type", "the host does not take the response_format %.40q, only %s", kind,
			strings.Join(takes.Types, ", ")).Refuse(q.newRefusal("invalid_request_error", "", "%s", takes.Says))
	}
}

// takeTurns leaves results of tools alone, of which reports say nothing.
func takeTurns(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		if !q.dialect.hasTrait(alternates) || i == 0 || m.role != "user" && m.role != "assistant" {
			continue
		}
		if p.Observe(); m.role == q.messages[i-1].role {
			p.Report(m.path, "two messages of the %s stand in a row", m.role).Refuse(q.newRefusal("", "",
				"After the (optional) system message(s), user and assistant roles should be alternating."))
		}
	}
}

func kimiThinks(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(reasoningKept) || !q.alwaysThinks() || q.body.Get("thinking").Null() {
		return
	}
	if p.Observe(); q.body.Text("thinking", "type") == "disabled" {
		p.Report("thinking.type", "%s always thinks", q.model)
	}
}

// alwaysThinks reports whether Kimi's model cannot be told not to think, and wants all of its reasoning back.
func (q *request) alwaysThinks() bool { return strings.HasPrefix(q.model, "kimi-k2.7-code") }

func detailsNameCalls(q *request, p *rule.Pass) {
	for _, m := range q.messages {
		for j, d := range m.List("reasoning_details") {
			id := d.Text("id")
			if q.dialect.Name != "openrouter" || len(m.calls) == 0 || id == "" ||
				!strings.HasPrefix(d.Text("format"), "google-gemini") {
				continue
			}
			if p.Observe(); countCalls(m.calls, id) == 0 {
				p.Report(fmt.Sprintf("%s.reasoning_details[%d].id", m.path, j),
					"the detail belongs to call %s, which the message does not have", rule.Shorten(id))
			}
		}
	}
}

// callsSigned is about the turn since the user's last message. Any text passes, as the stand-in for histories of
// other models does; whether it is the one that was issued is for the referee.
func callsSigned(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(signsCalls) ||
		len(specs.FindCapability("gemini", strings.TrimPrefix(q.model, "models/")).Levels) == 0 {
		return
	}
	start := 0
	for i, m := range q.messages {
		if m.role == "user" {
			start = i
		}
	}
	for _, m := range q.messages[start:] {
		if len(m.calls) == 0 {
			continue
		}
		if p.Observe(); signatureOf(m.calls[0]).Text() == "" {
			name := m.calls[0].Text("function", "name")
			p.Report(m.path+".tool_calls[0].extra_content.google.thought_signature",
				"the first call of the step, %s, has no signature", rule.Shorten(name)).Refuse(q.newRefusal("", "",
				"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. "+
					"Additional data, function call `default_api:%s` , position 1. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", name))
		}
	}
}

func groqReasoning(q *request, p *rule.Pass) {
	name := q.model[strings.LastIndexByte(q.model, '/')+1:]
	if q.dialect.Name != "groq" || !strings.HasPrefix(name, "llama-") &&
		!strings.HasPrefix(name, "gemma") {
		return
	}
	for i, m := range q.messages {
		if m.role == "assistant" {
			if p.Observe(); m.Has("reasoning") {
				p.Report(m.path+".reasoning", "%s does not reason, and Groq refuses reasoning in its messages",
					q.model).
					Refuse(q.newRefusal("", "", "messages[%d].reasoning: reasoning is not supported with this model",
						i))
			}
		}
	}
}

// kimiSpeaks leaves a message alone that goes on with a begun answer (partial), or that holds reasoning.
func kimiSpeaks(q *request, p *rule.Pass) {
	for i, m := range q.messages {
		content := m.Get("content")
		if q.dialect.Name != "kimi" || m.role != "assistant" || !content.Is(tree.String) {
			continue
		}
		p.Observe()
		if content.Text() == "" && len(m.calls) == 0 && m.Text("reasoning_content") == "" && !m.True("partial") {
			p.Report(m.path+".content", "the message of the assistant is empty").Refuse(q.newRefusal("", "",
				"Invalid request: the message at position %d with role 'assistant' must not be empty", i))
		}
	}
}

var kimiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

func kimiNames(q *request, p *rule.Pass) {
	for _, t := range q.offers {
		name := t.Node.Text("function", "name")
		if q.dialect.Name != "kimi" || name == "" {
			continue
		}
		if p.Observe(); !kimiName.MatchString(name) {
			p.Report(t.Path+".function.name",
				"the provider does not take the tool name %.140q, only letters, digits, _ and - behind a letter",
				name).Refuse(q.newRefusal("", "",
				"Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes"))
		}
	}
}

func kimiSchemas(q *request, p *rule.Pass) {
	if q.dialect.Name != "kimi" {
		return
	}
	p.JudgeSchemas(q.offers, func(t *wire.Tool) (f rule.SchemaFault) {
		if f.Path, f.Text = misfitOfKimi(t.Schema); f.Text != "" {
			f.Refusal = q.newRefusal("", "",
				"tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '%s': %s>",
				strings.TrimPrefix(f.Path, "."), f.Text)
		}
		return f
	})
}

// misfitOfKimi finds what Kimi refuses in a schema. It drops most keywords that it does not know.
func misfitOfKimi(root *tree.Node) (path, text string) {
	for at, s := range tree.Schemas(root) {
		properties := s.Get("properties")
		for i, name := range properties.Names() {
			if !properties.Items()[i].Is(tree.Object) {
				return at.Path + ".properties", fmt.Sprintf("property schema for '%.60s' must be an object", name)
			}
		}
		if items := s.Get("items"); items != nil && !items.Is(tree.Object) {
			return at.Path + ".items", "items must be an object"
		}
		if ref := s.Text("$ref"); ref != "" && ref != "#" && !strings.HasPrefix(ref, "#/$defs/") {
			return at.Path + ".$ref", "references must start with #/$defs/"
		}
	}
	return "", ""
}

func miniMaxParameters(q *request, p *rule.Pass) {
	for i, t := range q.body.List("tools") {
		f := t.Get("function")
		if q.dialect.Name != "minimax" || !f.Is(tree.Object) {
			continue
		}
		if p.Observe(); f.Get("parameters").Null() {
			p.Report(fmt.Sprintf("tools[%d].function", i), "the function %.140q has no parameters",
				f.Text("name")).Refuse(q.newRefusal("", "", "invalid params, function parameters is empty (2013)"))
		}
	}
}

// cerebrasStrict: a function without strict counts as one that is not.
func cerebrasStrict(q *request, p *rule.Pass) {
	if q.dialect.Name != "cerebras" || len(q.offers) < 2 {
		return
	}
	p.Observe()
	i := slices.IndexFunc(q.offers, func(t wire.Tool) bool { return t.IsStrict != q.offers[0].IsStrict })
	if i > 0 {
		p.Report(q.offers[i].Path+".function.strict", "strict of %.60q is not that of %.60q; all tools need the same",
			q.offers[i].Name, q.offers[0].Name).Refuse(q.newRefusal("wrong_api_format", "tools",
			"Tools with mixed values for 'strict' are not allowed. Please set all tools to 'strict: true' or 'strict: false'"))
	}
}

func glmAsked(q *request, p *rule.Pass) {
	if q.dialect.Name != "glm" || len(q.messages) == 0 {
		return
	}
	if p.Observe(); !slices.ContainsFunc(q.messages, func(m message) bool { return m.role == "user" }) {
		p.Report("messages", "no message is the user's").Refuse(q.newRefusal("1214", "",
			"messages 参数非法。请检查文档。"))
	}
}

// argumentsParse leaves empty arguments alone, of which nothing is known. DashScope wants an object.
func argumentsParse(q *request, p *rule.Pass) {
	isQwen := q.dialect.Name == "qwen"
	for _, m := range q.messages {
		for j, call := range m.calls {
			text := call.Text("function", "arguments")
			if !isQwen && q.dialect.Name != "minimax" || text == "" {
				continue
			}
			p.Observe()
			root, err := tree.Parse([]byte(text))
			if err == nil && (!isQwen || root.Is(tree.Object)) {
				continue
			}
			r := q.newRefusal("", "",
				"<400> InternalError.Algo.InvalidParameter: The \"function.arguments\" parameter of the code model must be in JSON format.")
			if !isQwen {
				r = q.newRefusal("", "",
					"invalid params, invalid function arguments json string, tool_call_id: %s (2013)", call.Text("id"))
			}
			p.Report(fmt.Sprintf("%s.tool_calls[%d].function.arguments", m.path, j),
				"the arguments of %.140s are no JSON object", call.Text("function", "name")).Refuse(r)
		}
	}
}

// jsonNamed takes the word from any text of the messages.
func jsonNamed(q *request, p *rule.Pass) {
	isMeant := q.dialect.Name == "openai" || q.dialect.Name == "qwen"
	if !isMeant || q.body.Text("response_format", "type") != "json_object" {
		return
	}
	if p.Observe(); !q.body.Get("messages").Mentions("json") {
		p.Report("response_format.type", "response_format is json_object, and the word JSON is not in the messages").
			Refuse(q.newRefusal("", "messages",
				"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."))
	}
}

func glmTexts(q *request, p *rule.Pass) {
	q.eachPart(func(i int, part *tree.Node, path string) {
		if q.dialect.Name != "glm" || part.Text("type") != "text" {
			return
		}
		if p.Observe(); part.Text("text") == "" {
			p.Report(path+".text", "the text is empty").Refuse(q.newRefusal("1214", "",
				"messages[%d].content[%s.text:text cannot be empty.", i, path[strings.LastIndexByte(path, '[')+1:]))
		}
	})
}

func mistralAsked(q *request, p *rule.Pass) {
	if q.dialect.Name != "mistral" || len(q.messages) == 0 {
		return
	}
	last := q.messages[len(q.messages)-1]
	if p.Observe(); last.role == "assistant" && len(last.calls) == 0 && !last.True("prefix") {
		r := q.newRefusal("3230", "",
			"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
		r.Type = "invalid_request_message_order"
		p.Report(last.path, "the last message is the assistant's, and prefix is not set").Refuse(r)
	}
}
