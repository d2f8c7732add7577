package mutant

import (
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// parameterMutants ask with parameters, tools, media and headers that the provider
// does not take.
var parameterMutants = []Mutant{
	{"small-max", "leaves no room beside the thinking budget", []string{"PAR-001"}, changeRequest(func(e *editor) bool {
		budget := e.doc.Get("thinking").Get("budget_tokens")
		mayExceed := e.doc.Get("tools") != nil && !e.keepsHeaders() && e.header("Anthropic-Version") == ""
		return budget.Is(tree.Number) && !mayExceed && !strings.Contains(e.header("Anthropic-Beta"), "interleaved") && setMember(e.doc, "max_tokens", copyOf(budget))
	}, evidence.Anthropic)},
	{"small-budget", "thinks with less than the least budget", []string{"PAR-001"}, changeRequest(func(e *editor) bool {
		return e.doc.Get("thinking").Get("budget_tokens").Is(tree.Number) && setMember(e.doc.Get("thinking"), "budget_tokens", mustParse("512"))
	}, evidence.Anthropic)},
	{"sample-while-thinking", "sets a temperature while it thinks", []string{"PAR-002"}, changeRequest(func(e *editor) bool {
		kind := e.doc.Get("thinking").Get("type").Text()
		return (kind == "enabled" || kind == "adaptive") && setMember(e.doc, "temperature", mustParse("0.2"))
	}, evidence.Anthropic)},
	{"sample-new-model", "sets top_k for a model that has none", []string{"PAR-002"}, changeRequest(func(e *editor) bool {
		return e.capability().DoesRefuse("sampling") && setMember(e.doc, "top_k", mustParse("5"))
	}, evidence.Anthropic)},
	{"sample-twice", "sets temperature and top_p where one is taken", []string{"PAR-002"}, changeRequest(func(e *editor) bool {
		kind := e.doc.Get("thinking").Get("type").Text()
		return e.capability().DoesRefuse("temperature beside top_p") && kind != "enabled" && kind != "adaptive" &&
			setMember(e.doc, "temperature", mustParse("0.5")) && setMember(e.doc, "top_p", mustParse("0.9"))
	}, evidence.Anthropic)},
	{"sample-while-reasoning", "sets a temperature while it reasons", []string{"PAR-002"}, changeRequest(func(e *editor) bool {
		effort := e.doc.Get("reasoning").Get("effort").Text()
		return e.capability().Reasoning != "" && e.capability().Reasoning != "never" && effort != "" && effort != "none" && setMember(e.doc, "temperature", mustParse("0.2"))
	}, evidence.OpenAI)},
	{"logprobs-while-reasoning", "asks for log probabilities while it reasons", []string{"PAR-002"}, changeRequest(func(e *editor) bool {
		effort := e.doc.Get("reasoning").Get("effort").Text()
		return e.capability().Reasoning != "" && e.capability().Reasoning != "never" && effort != "" && effort != "none" &&
			setMember(e.doc, "include", mustParse(`["message.output_text.logprobs"]`))
	}, evidence.OpenAI)},
	{"wrong-thinking-form", "thinks in a form that the model does not have", []string{"PAR-003"}, changeRequest(wrongThinkingForm, evidence.Anthropic)},
	{"forget-thinking", "does not ask for thinking in a turn that holds some", []string{"PAR-003"}, changeRequest(func(e *editor) bool {
		last := e.findItem(func(i int, it *wire.Item) bool { return i >= e.turnStart() && it.Continuity() })
		return last >= 0 && slices.Contains(e.capability().Thinking, "enabled") && dropMember(e.doc, "thinking")
	}, evidence.Anthropic)},
	{"unknown-effort", "asks for an effort that does not exist", []string{"PAR-004"}, changeRequest(func(e *editor) bool {
		n := e.doc.Any("reasoning", "output_config")
		return n.Get("effort").Is(tree.String) && e.capability().Efforts != nil && setMember(n, "effort", jsonString("extreme"))
	}, evidence.Anthropic, evidence.OpenAI)},
	{"encrypt-without-reasoning", "asks a model that does not reason for its reasoning", []string{"PAR-004"}, changeRequest(func(e *editor) bool {
		return strings.Contains(string(tree.Encode(e.doc)), `"reasoning.encrypted_content"`) && setMember(e.doc, "model", jsonString("gpt-4.1"))
	}, evidence.OpenAI)},
	{"choose-without-tools", "chooses among no tools", []string{"PAR-005"}, changeRequest(func(e *editor) bool {
		mustCall := e.choice() == "any" || e.choice() == "tool" || e.choice() == "required" || e.choice() == "function" || strings.EqualFold(e.choice(), "ANY")
		return mustCall && !e.req.Stateful && !e.hasOtherTools() && dropMember(e.doc, "tools")
	})},
	{"choose-absent-tool", "chooses a tool that is not there", []string{"PAR-005"}, changeRequest(func(e *editor) bool {
		choice := e.doc.Get("tool_choice")
		return choice.Get("name").Is(tree.String) && !e.req.Stateful && !e.hasOtherTools() && setMember(choice, "name", jsonString("no_such_tool"))
	}, evidence.Anthropic, evidence.OpenAI)},
	{"force-while-thinking", "forces a tool while thinking is enabled", []string{"PAR-005"}, changeRequest(func(e *editor) bool {
		return e.doc.Get("thinking").Get("type").Text() == "enabled" && e.choice() != "" && setMember(e.doc, "tool_choice", mustParse(`{"type":"any"}`))
	}, evidence.Anthropic)},
	{"unknown-member", "sends a member that the provider does not know", []string{"PAR-006"}, changeRequest(func(e *editor) bool {
		return e.isPublicAPI() && setMember(e.doc, "no_such_member", mustParse("1"))
	})},
	{"missing-member", "leaves a member out that is required", []string{"PAR-006"}, changeRequest(func(e *editor) bool {
		if e.x.Provider == evidence.OpenAI {
			return e.eachItem(func(_ int, it *wire.Item) bool { return it.Type == "function_call" && dropMember(it.Node, "name") })
		}
		return dropMember(e.doc, "max_tokens", "contents")
	})},
	{"wrong-member-type", "writes a number as text", []string{"PAR-007"}, changeRequest(func(e *editor) bool {
		return setMember(e.doc, "stream", jsonString("yes"))
	}, evidence.Anthropic, evidence.OpenAI)},
	{"out-of-range", "sets a temperature that no provider takes", []string{"PAR-007"}, changeRequest(func(e *editor) bool {
		config := e.doc
		if e.x.Provider == evidence.Gemini {
			config = e.doc.Any("generationConfig", "generation_config")
		}
		family := specs.ParseModel(e.req.Model).Family
		return family != "" && setMember(config, "temperature", mustParse("7"))
	})},
	{"too-much-output", "asks for more tokens than the model writes", []string{"PAR-007"}, changeRequest(func(e *editor) bool {
		return e.capability().MaxOutput > 0 && setMember(e.doc, "max_tokens", mustParse("400000"))
	}, evidence.Anthropic)},
	{"bad-tool-name", "gives a tool a name that the provider does not take", []string{"PAR-008"}, changeRequest(func(e *editor) bool {
		return e.eachFunction(func(f, _ *tree.Node) bool { return setMember(f, "name", jsonString("1 bad/name")) })
	})},
	{"same-tool-name", "declares a tool twice", []string{"PAR-008"}, changeRequest(func(e *editor) bool {
		return e.eachFunction(func(f, list *tree.Node) bool {
			list.SetItems(append(list.Items(), copyOf(f)))
			return true
		})
	})},
	{"bad-schema", "declares an argument of a type that does not exist", []string{"PAR-008"}, changeRequest(func(e *editor) bool {
		return e.eachFunction(func(f, _ *tree.Node) bool {
			schema := f.Any("input_schema", "parameters")
			return schema.Is(tree.Object) && setMember(schema, "properties", mustParse(`{"x":{"type":"str"}}`))
		})
	})},
	{"loose-strict-schema", "calls a schema strict that lets anything in", []string{"PAR-008"}, changeRequest(func(e *editor) bool {
		return e.eachFunction(func(f, _ *tree.Node) bool {
			schema := f.Any("input_schema", "parameters")
			return f.Get("strict").True() && schema.Is(tree.Object) && setMember(schema, "additionalProperties", mustParse("true"))
		})
	}, evidence.Anthropic, evidence.OpenAI)},
	{"many-marks", "marks five places for the cache", []string{"PAR-009"}, changeRequest(func(e *editor) bool {
		mark := `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`
		return setMember(e.doc, "system", mustParse("["+strings.Repeat(mark+",", 4)+mark+"]"))
	}, evidence.Anthropic)},
	{"long-mark-last", "marks a place for an hour behind one for five minutes", []string{"PAR-009"}, changeRequest(func(e *editor) bool {
		mark := `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`
		return setMember(e.doc, "system", mustParse("["+mark+","+strings.Replace(mark, `l"}`, `l","ttl":"1h"}`, 1)+"]"))
	}, evidence.Anthropic)},
	{"bad-media-type", "sends an image of a type that is not read", []string{"PAR-010"}, changeMedia(func(source *tree.Node) bool { return setMember(source, "media_type", jsonString("image/bmp")) })},
	{"bad-base64", "sends an image that is not base64", []string{"PAR-010"}, changeMedia(func(source *tree.Node) bool { return setMember(source, "data", jsonString("not base64!")) })},
	{"huge-image", "sends an image of 10,240 pixels", []string{"PAR-010"}, changeMedia(func(source *tree.Node) bool {
		return setMember(source, "media_type", jsonString("image/png")) && setMember(source, "data", jsonString("iVBORw0KGgoAAAANSUhEUgAAKAAAAAAB"))
	})},
	{"audio-file", "sends a sound as a document", []string{"PAR-010"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return slices.ContainsFunc(it.Node.Get("content").List(), func(p *tree.Node) bool {
				return p.Get("file_data").Is(tree.String) && setMember(p, "file_data", jsonString("data:audio/mpeg;base64,SUQz"))
			})
		})
	}, evidence.OpenAI)},
	{"drop-version", "does not name the version", []string{"PAR-011"}, changeHeaders(func(e *editor) bool {
		named := e.header("Anthropic-Version") != ""
		e.x.Request.Header.Del("Anthropic-Version")
		return named && e.keepsHeaders() && e.isPublicAPI()
	})},
	{"bad-beta", "asks for a beta without its date", []string{"PAR-011"}, changeHeaders(func(e *editor) bool {
		e.x.Request.Header.Set("Anthropic-Beta", "compact")
		return true
	})},
	{"drop-beta", "sends a beta's member without its header", []string{"PAR-011"}, changeHeaders(func(e *editor) bool {
		e.x.Request.Header.Set("Anthropic-Beta", "claude-code-20250219")
		return e.isPublicAPI() && e.doc.Any("mcp_servers", "context_management") != nil
	})},
	{"two-states", "goes on with a response and with a conversation", []string{"PAR-012"}, changeRequest(func(e *editor) bool {
		return setMember(e.doc, "previous_response_id", jsonString("resp_1")) && setMember(e.doc, "conversation", jsonString("conv_1"))
	}, evidence.OpenAI)},
	{"continue-unstored", "goes on with a response that was not stored", []string{"PAR-012"}, continueUnstored},
	{"level-and-budget", "says in two ways how much to think", []string{"PAR-013"}, changeThinking(func(config *tree.Node, _ specs.Capability) bool {
		return setMember(config, "thinkingLevel", jsonString("LOW")) && setMember(config, "thinkingBudget", mustParse("1024"))
	})},
	{"bad-level", "asks for a level that the model does not have", []string{"PAR-013"}, changeThinking(func(config *tree.Node, c specs.Capability) bool {
		return c.Levels != nil && config.Get("thinkingLevel") != nil && setMember(config, "thinkingLevel", jsonString("EXTREME"))
	})},
	{"circulate-early", "sends back what the provider's tools did before Gemini 3", []string{"PAR-013"}, changeRequest(func(e *editor) bool {
		e.x.Request.URL = strings.Replace(e.x.Request.URL, e.req.Model, "gemini-2.5-flash", 1)
		return e.doc.Get("tools") != nil && e.req.Model != "" && setMember(e.doc, "toolConfig", mustParse(`{"includeServerSideToolInvocations":true}`))
	}, evidence.Gemini)},
	{"ask-probabilities", "asks for log probabilities", []string{"PAR-013"}, changeRequest(func(e *editor) bool {
		isOld := specs.ParseModel(e.req.Model).IsBefore(2, 5) // gives them
		return !isOld && e.isPublicAPI() && setMember(e.doc.Get("generationConfig"), "responseLogprobs", mustParse("true"))
	}, evidence.Gemini)},
	{"zero-budget", "forbids a model to think that always thinks", []string{"PAR-013"}, changeThinking(func(config *tree.Node, c specs.Capability) bool {
		return c.DoesRefuse("zero budget") && config.Get("thinkingBudget") != nil && setMember(config, "thinkingBudget", mustParse("0"))
	})},
}

func (e *editor) capability() specs.Capability {
	return specs.FindCapability(e.x.Provider, e.req.Model)
}

func (e *editor) header(name string) string { return e.x.Request.Header.Get(name) }

// keepsHeaders reports whether the evidence seems to hold all headers.
func (e *editor) keepsHeaders() bool {
	return e.header("User-Agent") != "" && e.header("Content-Type") != "" && e.header("X-Api-Key") != ""
}

// choice is the kind of tool choice that the request makes.
func (e *editor) choice() string {
	choice := e.doc.Get("tool_choice")
	config := e.doc.Any("toolConfig", "tool_config").Any("functionCallingConfig", "function_calling_config")
	return choice.Text() + choice.Get("type").Text() + config.Get("mode").Text()
}

// hasOtherTools reports whether tools are given elsewhere than in the list.
func (e *editor) hasOtherTools() bool {
	return e.doc.Any("mcp_servers", "prompt") != nil || e.findItem(func(_ int, it *wire.Item) bool {
		return slices.Contains([]string{"additional_tools", "tool_search_output", "tool_addition", "mcp_list_tools"}, it.Type)
	}) >= 0
}

func (e *editor) isPublicAPI() bool {
	u, err := url.Parse(e.x.Request.URL)
	family := specs.ParseModel(e.req.Model).Family
	return err == nil && family != "" && slices.Contains([]string{"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"}, u.Hostname())
}

// eachFunction calls f for every tool that the client runs and the list it stands in,
// until it returns true.
func (e *editor) eachFunction(f func(function, list *tree.Node) bool) bool {
	tools := e.doc.Get("tools")
	for _, t := range tools.List() {
		list, functions := tools, []*tree.Node{t}
		if e.x.Provider == evidence.Gemini {
			list = t.Any("functionDeclarations", "function_declarations")
			functions = list.List()
		}
		for _, function := range functions {
			kind := function.Get("type").Text()
			if (kind == "" || kind == "custom" || kind == "function") && function.Get("name") != nil && f(function, list) {
				return true
			}
		}
	}
	return false
}

func wrongThinkingForm(e *editor) bool {
	thinking, c := e.doc.Get("thinking"), e.capability()
	switch kind := thinking.Get("type").Text(); {
	case kind == "" || c.Thinking == nil:
		return false
	case !slices.Contains(c.Thinking, "adaptive"):
		return setMember(thinking, "type", jsonString("adaptive"))
	case !slices.Contains(c.Thinking, "enabled"):
		return setMember(thinking, "type", jsonString("enabled"))
	}
	return false
}

// changeMedia makes a mutant that changes the first image of a request.
func changeMedia(change func(source *tree.Node) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			source := it.Node.Get("source")
			return it.Type == "image" && source.Get("type").Text() == "base64" && change(source)
		})
	}, evidence.Anthropic)
}

// changeHeaders makes a mutant that changes the headers of the first request for which
// change returns true.
func changeHeaders(change func(e *editor) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		kept := e.x.Request.Header
		e.x.Request.Header = kept.Clone()
		if e.x.Request.Header != nil && change(e) {
			return true
		}
		e.x.Request.Header = kept
		return false
	}, evidence.Anthropic)
}

// changeThinking makes a mutant that changes how much a Gemini model thinks.
func changeThinking(change func(config *tree.Node, c specs.Capability) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		config := e.doc.Get("generationConfig").Get("thinkingConfig")
		return config != nil && change(config, e.capability())
	}, evidence.Gemini)
}

// continueUnstored says of a response that a later request goes on with that it was not
// stored.
func continueUnstored(ev evidence.Evidence) (evidence.Evidence, bool) {
	named := map[string]bool{}
	for n := range ev.Exchanges {
		e := openEditor(&ev, n, nil)
		if id := e.doc.Get("previous_response_id").Text(); id != "" && e.asksForAnswer() && !strings.Contains(id, "REDACTED") {
			named[id] = true
		}
	}
	return changeRequest(func(e *editor) bool {
		r := wire.ReadReply(e.x.Provider, e.x.Response.Status, e.x.Response.Body)
		return e.x.WebSocket == 0 && named[r.ID] && setMember(e.doc, "store", mustParse("false"))
	}, evidence.OpenAI)(ev)
}
