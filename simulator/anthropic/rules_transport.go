package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/simulator/jsontree"
	"github.com/meerkat-go/conformance/simulator/rule"
)

// maxBody is the largest request body, in bytes.
const maxBody = 32 << 20

var transportRules = []anthropicRule{
	sureRule("A-2", "recorded", "a request carries a valid key", keyValid),
	sureRule("A-1", "reported", "the header anthropic-version is there", versionGiven),
	sureRule("A-4", "reported", "every name in anthropic-beta is known", betasKnown),
	sureRule("A-49", "documented", "the body has up to 32 MB", bodyFits),
	basicRule("ANT-X10", "reported", "the body is JSON without lone surrogates", isJSON),
}

// keyValid takes every key but an empty one and those that say that they
// are invalid: the simulator knows no others.
func keyValid(c *call, _ rule.Env) *rule.Refusal {
	switch key := c.apiKey(); {
	case key == "":
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: typeAuth, Message: "x-api-key header is required"}
	case strings.HasPrefix(key, "invalid"):
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: typeAuth, Message: "invalid x-api-key"}
	}
	return nil
}

func versionGiven(c *call, _ rule.Env) *rule.Refusal {
	return invalidIf(c.header.Get("Anthropic-Version") == "", "anthropic-version: header is required")
}

// betas are the beta names that are known: those of the official SDKs and of the
// documentation, those that recorded requests were answered with, and those that
// the vendor's own agent sends.
var betas = strings.Fields(`
	advanced-tool-use-2025-11-20 advisor-tool-2026-03-01 agent-memory-2026-07-22 cache-diagnosis-2026-04-07 ce-plugins-2026-09-01
	ce-user-management-2026-07-13 claude-code-20250219 code-execution-2025-05-22 code-execution-2025-08-25
	compact-2026-01-12 compact-2026-09-04 computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24
	context-1m-2025-08-07 context-management-2025-06-27 dev-full-thinking-2025-05-14 dreaming-2026-04-21
	effort-2025-11-24 extended-cache-ttl-2025-04-11 fallback-credit-2026-06-01 fallback-credit-2026-07-01
	fast-mode-2026-02-01 files-api-2025-04-14 fine-grained-tool-streaming-2025-05-14 inline-tools-2026-09-15
	interleaved-thinking-2025-05-14 managed-agents-2026-04-01 mcp-client-2025-04-04 mcp-client-2025-11-20
	mcp-client-2026-09-15 mcp-tunnels-2026-06-22 message-batches-2024-09-24
	mid-conversation-output-config-2026-07-01 mid-conversation-system-clear-at-2026-08-21
	mid-conversation-tool-changes-2026-07-01 model-context-window-exceeded-2025-08-26 oauth-2025-04-20
	output-128k-2025-02-19 output-300k-2026-03-24 pdfs-2024-09-25 prompt-caching-2024-07-31
	prompt-caching-scope-2026-01-05 redact-thinking-2026-02-12 server-side-fallback-2026-06-01 server-side-fallback-2026-07-01
	skills-2025-10-02 spend-limit-reads-2026-09-26 structured-outputs-2025-11-13 structured-outputs-2025-12-15
	task-budgets-2026-03-13 telemetry-destinations-2026-08-11 thinking-binding-controls-2026-08-01
	thinking-display-updates-2026-08-18 thinking-token-count-2026-05-13 token-counting-2024-11-01
	token-efficient-tools-2025-02-19 tools-2024-04-04 tools-2024-05-16 user-profiles-2026-03-24
	user-profiles-2026-08-18 user-profiles-2026-09-04 web-fetch-2025-09-10 web-search-2025-03-05
	webhooks-2026-10-07`)

func betasKnown(c *call, _ rule.Env) *rule.Refusal {
	for _, name := range c.betas {
		if !slices.Contains(betas, name) {
			return invalid("Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation at platform.claude.com/docs or try again without the header.", name)
		}
	}
	return nil
}

func bodyFits(c *call, _ rule.Env) *rule.Refusal {
	if len(c.body) <= maxBody {
		return nil
	}
	return &rule.Refusal{Status: http.StatusRequestEntityTooLarge, Type: typeTooLarge, Message: "Request exceeds the maximum size"}
}

func isJSON(c *call, _ rule.Env) *rule.Refusal {
	if c.bad == nil {
		return nil
	}
	what, at := "unexpected character", len(c.body)
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(c.bad, &syntax) && strings.Contains(syntax.Error(), "surrogate"):
		what, at = "no low surrogate in string", int(syntax.ByteOffset)
	case syntax != nil:
		at = int(syntax.ByteOffset)
		if at >= len(c.body) {
			what = "unexpected end of data"
		}
	}
	line, column := lineAndColumn(c.body, at)
	return invalid("The request body is not valid JSON: %s: line %d column %d (char %d)", what, line, column, at)
}

// lineAndColumn is the line and column, from 1, of an offset.
func lineAndColumn(body []byte, at int) (line, column int) {
	before := string(body[:min(max(at, 0), len(body))])
	return 1 + strings.Count(before, "\n"), at - strings.LastIndex(before, "\n")
}

var shapeRules = []anthropicRule{
	basicRule("A-6", "recorded", "mandatory fields are there", modelNamed),
	sureRule("A-5", "documented", "there are no unknown fields, at any depth", schemaKept("A-5")),
	sureRule("A-6", "recorded", "mandatory fields are there", schemaKept("A-6")),
	sureRule("A-7", "recorded", "fields have their types and ranges", schemaKept("A-7")),
	likelyRule("A-9", "reported", "roles are user, assistant and system", schemaKept("A-9")),
	sureRule("A-20", "reported", "ids of calls are letters, digits, _ and -", schemaKept("A-20")),
	sureRule("A-21", "reported", "names of tools are up to 128 letters, digits, _ and -", schemaKept("A-21")),
	likelyRule("A-22", "reported", "the input of a call is an object", schemaKept("A-22")),
	sureRule("A-35", "reported", "a thinking block has its signature", schemaKept("A-35")),
	sureRule("ANT-T5", "reported", "a thinking block has its thinking", schemaKept("ANT-T5")),
	likelyRule("A-44", "documented", "thinking has no cache mark", schemaKept("A-44")),
	sureRule("A-46", "documented", "images are of four types", schemaKept("A-46")),
}

// shapeLeast says how much each rule of the schema is asked for, filled from
// shapeRules: of all flaws the first that counts answers, whatever its rule.
var shapeLeast = map[string]rule.Level{}

func init() {
	for _, r := range shapeRules[1:] {
		shapeLeast[r.ID] = r.Least
	}
}

// schemaKept refuses with the first flaw that counts if it is one of this rule.
func schemaKept(id string) func(*call, rule.Env) *rule.Refusal {
	return func(c *call, env rule.Env) *rule.Refusal {
		for _, f := range c.schemaFlaws() {
			if env.Level > shapeLeast[f.rule] || env.Off[f.rule] {
				continue
			}
			if f.rule == id {
				return invalid("%s", f.text)
			}
			return nil
		}
		return nil
	}
}

// schemaFlaws is what the schema finds.
func (c *call) schemaFlaws() []flaw {
	if !c.looked {
		c.looked = true
		in := &inspector{betas: c.betas}
		if c.counts {
			counting(in, c.root, nil)
		} else {
			wholeCall(in, c.root, nil)
		}
		c.flaws = in.flaws
	}
	return c.flaws
}

func modelNamed(c *call, _ rule.Env) *rule.Refusal {
	switch {
	case !c.root.Is(jsontree.Object):
		return invalid("Input should be a valid dictionary")
	case c.root.Get("model") == nil:
		return invalid("model: Field required")
	case !c.root.Get("model").Is(jsontree.String):
		return invalid("model: Input should be a valid string")
	case c.name == "":
		return invalid("model: String should have at least 1 character")
	}
	return nil
}

var modelRules = []anthropicRule{
	basicRule("A-3", "recorded", "the model is served", modelServed),
}

func modelServed(c *call, _ rule.Env) *rule.Refusal {
	if c.model != nil {
		return nil
	}
	return &rule.Refusal{Status: http.StatusNotFound, Type: typeNotFound, Message: fmt.Sprintf("model: %s", c.name)}
}
