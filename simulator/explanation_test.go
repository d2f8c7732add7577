package simulator

import (
	"regexp"
	"strings"
)

// explanation says why the simulator deviates from what is recorded.
type explanation struct {
	provider, what, pattern, reason string
	used                            bool
}

// explained names a deviation with its reason.
func (r *report) explained(what, name string) string {
	return sentence(r.reason(what, name)) + " " + name
}

// reasonOf finds the explanation of a deviation; there must be one.
func (r *report) reason(what, name string) string {
	for _, e := range explanations {
		if strings.Contains(e.provider, r.provider) && e.what == what &&
			regexp.MustCompile("^(?:"+e.pattern+")$").MatchString(name) {
			e.used = true
			return e.reason
		}
	}
	r.t.Errorf("%s: %s: %s has no explanation", r.provider, what, name)
	return "unexplained"
}

const (
	everyone = "anthropic openai gemini"
	byScript = "A scenario orders its blocks as it likes; every model did the like, not in this corpus."
)

// explanations are complete and none is idle: TestStreams sees to both.
var explanations = []*explanation{
	{everyone, "header", `Transfer-Encoding|Connection|Content-Encoding`,
		"Of one connection: the server sets them as its transport needs; nothing is compressed.", false},
	{"anthropic openai", "header", `Set-Cookie`,
		"A cookie of the network in front of the API; there is none here, and no client of an API may need it.", false},
	{"openai gemini", "header", `Alt-Svc`, "It offers HTTP/3 on port 443, which the simulator does not serve.", false},
	{"anthropic", "header", `Anthropic-Workspace-Id`, "For keys of a workspace only; the simulator knows none.", false},
	{"anthropic", "header", `Server-Timing|X-Envoy-Upstream-Service-Time`,
		"In a part of the replies, with another name each year; clients do not read it.", false},

	{everyone, "new header", `X-Simulator`, "The mark by which a recording shows that no provider answered.", false},

	{"anthropic", "event", `content_block_start bash_code_execution_tool_result`,
		"Documented; streams of the tool are not in the corpus with headers.", false},
	{"anthropic", "missing", `content_block\.caller(\.type)?`,
		"On a provider's tool that code called (programmatic calling); the simulator's are called by the model.",
		false},
	{"anthropic", "extra", `(delta\.)?stop_details\.(type|category|explanation)`,
		"Of a refusal, as documented; the corpus holds none that is recent.", false},
	{"anthropic", "kind", `(delta\.)?stop_details is object`,
		"Of a refusal, as documented; the corpus holds none that is recent.", false},
	{"anthropic", "new step", `.*bash_code_execution_tool_result.*`,
		"Documented; streams of the tool are not in the corpus with headers.", false},

	{"openai", "missing", `item\.namespace`,
		"Of tools that are grouped into namespaces, which requests to the simulator do not declare.", false},
	{"openai", "extra", `response\.output\[(message|reasoning)\]\..*`,
		"In response.incomplete: the recorded ones were cut while the model reasoned, ours while it spoke.", false},
	{"openai", "kind", `(item|response\.output\[code_interpreter_call\])\.outputs is null`,
		"What code printed is shown to those who include it; the recorded request did.", false},
	{"openai", "kind", `response\.max_output_tokens is null`,
		"In response.incomplete: a scenario ends the reply there, whatever the limit of the request.", false},
	{"openai", "kind", `response\.reasoning\.summary is string`,
		"In response.incomplete: the recorded ones did not ask for summaries.", false},
	{"openai", "new step", `output_item\.done \S+ → (output_item\.added \S+|incomplete)`, byScript, false},

	{"gemini", "missing", `turnToken`,
		"In 6 documents of one client of gemini-3.5-flash, which other clients of the model did not get; what it is for is not documented.", false},
	{"gemini", "step", `\(start\) → (functionCall, signed|text) \+ finish`,
		"Of Gemini 2.5, which all recent streams are: ours of that model say a text first.", false},
	{"gemini", "new step", `.* → .*`, byScript, false},
	{"gemini", "delta", `thought`,
		"Thoughts of scenarios are a sentence; real ones are paragraphs, and each is one chunk.", false},
}
