package bench

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// toolFaults tell the model something else about its tools than is so.
var toolFaults = []Kind{
	{Name: "result-of-unknown-tool-invented", Rule: "R31", Providers: all, alter: answerUnknownTool(`{"files":3}`), prepare: renameOffered},
	{Name: "result-printed-object", Rule: "R29", Providers: all, alter: onNewBlock(replaceResult("[object Object]"), isKind(resultBlock), answersACall)},
	{Name: "result-undefined", Rule: "R29", Providers: all, alter: onNewBlock(replaceResult("undefined"), isKind(resultBlock), answersACall)},
	{Name: "result-cut-in-json", Rule: "R29", Providers: all, alter: onNewBlock(replaceResult(longJSON[:1234]), isKind(resultBlock))},
	{Name: "tool-forced-again", Rule: "A-33", Providers: []string{evidence.Anthropic, evidence.OpenAI}, prepare: withoutMembers(keepDraft, "tool_choice", "thinking"), alter: onPage(forceCalledTool)},
	{Name: "offered-tool-not-found", Rule: "R29", Providers: all, alter: onNewBlock(notFoundResult, isKind(resultBlock), isOfferedCall)},
	{Name: "server-error-unmarked", Rule: "R29", Providers: anthropic, alter: onNewBlock(replaceResult(markedServerError), isKind(resultBlock))},
	{Name: "tools-grow-at-the-front", Rule: "R44", Providers: all, alter: laterRequests(addToolInFront)},
}

// cacheFaults make the provider read a prompt again.
var cacheFaults = []Kind{
	{Name: "clock-ticks-in-system-prompt", Rule: "R44", Providers: all, alter: onEveryPage(tickingPrompt)},
	{Name: "id-in-first-prompt", Rule: "R44", Providers: all, alter: onEveryPage(idInPrompt)},
	{Name: "tools-shuffled-later", Rule: "R44", Providers: all, alter: laterRequests(func(p *page, _ *rand.Rand) string { return swapTools(p) })},
	{Name: "schema-shuffled-later", Rule: "R44", Providers: []string{evidence.Anthropic, evidence.OpenAI}, alter: laterRequests(func(p *page, _ *rand.Rand) string { return rotateSchema(p) })},
	{Name: "cache-key-of-request", Rule: "R44", Providers: openAI, alter: onEveryPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		if !continuesAny(d) {
			return ""
		}
		p.root.setMember("prompt_cache_key", stringNode("request-"+strings.Repeat("x", k+1)))
		return "prompt_cache_key"
	})},
}

// continuationFaults send beside a response id what the provider holds under it.
var continuationFaults = []Kind{
	{Name: "history-beside-response-id", Rule: "R49 O-9", Providers: openAI, prepare: stateful, alter: historyBesideID},
}

// legalTools are the nearest things to the faults above that are allowed.
var legalTools = []Kind{
	{Name: "result-whole-json", Rule: "own results", Providers: all, alter: onNewBlock(replaceResult(longJSON), isKind(resultBlock))},
	{Name: "result-cut-with-notice", Rule: "own results", Providers: all, alter: onNewBlock(replaceResult(longJSON[:1234]+"\n[output truncated]"), isKind(resultBlock))},
	{Name: "result-says-not-found", Rule: "own results", Providers: all, alter: onNewBlock(replaceResult("Error: file 'heron.txt' not found"), isKind(resultBlock))},
	{Name: "date-in-system-prompt", Rule: "R44", Providers: all, alter: onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string { return setSystem(p, "Today is 2026-11-23.") })},
	{Name: "cache-key-of-session", Rule: "R44", Providers: openAI, alter: onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		p.root.setMember("prompt_cache_key", stringNode("session-1"))
		return "prompt_cache_key"
	})},
}

var longJSON = `{"rows":[` + strings.TrimSuffix(strings.Repeat(`{"name":"heron","legs":2},`, 90), ",") + `]}`

const markedServerError = `{"content":[{"type":"text","text":"no such document"}],"isError":true}`

func keepDraft(*draft, *rand.Rand) bool { return true }

// replaceResult makes a result say text.
func replaceResult(text string) blockEdit {
	return func(p *page, b *block, _ *rand.Rand) bool {
		holder, key := p.resultBody(b)
		if p.provider == evidence.Anthropic && b.node.at("is_error").isTrue() {
			return false
		}
		if p.provider == evidence.Gemini {
			holder.setMember(key, parseLiteral(`{"output":`+string(stringNode(text).raw)+`}`))
			return true
		}
		holder.setMember(key, stringNode(text))
		return true
	}
}

// toolName is what a tool of the list is called.
func (p *page) toolNames() (names []string) {
	for _, f := range p.functions() {
		names = append(names, f.at("name").stringValue())
	}
	return names
}

// functions lists the tools that the client runs.
func (p *page) functions() (list []*node) {
	tools := p.root.at("tools")
	for i := range tools.countMembers() {
		t := tools.at(i)
		if group, _ := t.firstOf("functionDeclarations", "function_declarations"); group != nil {
			for j := range group.countMembers() {
				list = append(list, group.at(j))
			}
			continue
		}
		if kind := t.at("type").stringValue(); kind == "" || kind == "function" || kind == "custom" {
			list = append(list, t)
		}
	}
	return list
}

func callOf(s *scene, k int, result *block) *block {
	for _, c := range s.blocks[k] {
		if c.kind == callBlock && answerTo(s.provider, s.blocks[k], c) == result {
			return c
		}
	}
	return nil
}

func answersACall(s *scene, k int, b *block) bool { return callOf(s, k, b) != nil }

func isOfferedCall(s *scene, k int, b *block) bool {
	call := callOf(s, k, b)
	p := &page{provider: s.provider, root: s.requests[k]}
	return call != nil && slices.Contains(p.toolNames(), call.name)
}

func notFoundResult(p *page, b *block, r *rand.Rand) bool {
	return replaceResult("Error: no such tool")(p, b, r)
}

// renameOffered gives the only tool of each request another name, so that the model calls
// one that does not exist.
func renameOffered(d *draft, _ *rand.Rand) bool {
	done := false
	for _, k := range d.asked {
		p := d.editableRequest(k)
		for _, f := range p.functions() {
			f.setMember("name", stringNode("renamed_"+f.at("name").stringValue()))
			done = true
		}
		if p.root.at("tool_choice") != nil || p.root.at("toolConfig") != nil || len(p.functions()) != p.root.at("tools").countMembers() && d.provider != evidence.Gemini {
			return false
		}
		d.commitPage(k, p)
	}
	return done
}

func answerUnknownTool(text string) func(*draft, *rand.Rand) (Place, bool) {
	return onNewBlock(replaceResult(text), isKind(resultBlock), func(s *scene, k int, b *block) bool {
		call := callOf(s, k, b)
		return call != nil && call.from != unknownOrigin
	})
}

// forceCalledTool forces a tool that the turn has called.
func forceCalledTool(d *draft, k int, p *page, _ *rand.Rand) string {
	for _, b := range p.blocks {
		if b.kind != callBlock || b.turn <= openTurn(d.blocks[k]) || !slices.Contains(p.toolNames(), b.name) {
			continue
		}
		kind := map[string]string{evidence.Anthropic: "tool", evidence.OpenAI: "function"}[p.provider]
		p.root.setMember("tool_choice", parseLiteral(`{"type":"`+kind+`","name":"`+b.name+`"}`))
		return "tool_choice"
	}
	return ""
}

func (p *page) functionList() *node {
	tools := p.root.at("tools")
	for i := range tools.countMembers() {
		if group, _ := tools.at(i).firstOf("functionDeclarations", "function_declarations"); group != nil {
			return group
		}
	}
	return tools
}

func addToolInFront(p *page, _ *rand.Rand) string {
	list := p.functionList()
	if list.countMembers() == 0 {
		return ""
	}
	list.insertAt(0, parseLiteral(map[string]string{
		evidence.Anthropic: `{"name":"bench_new","input_schema":{"type":"object"}}`,
		evidence.OpenAI:    `{"type":"function","name":"bench_new","parameters":null}`,
		evidence.Gemini:    `{"name":"bench_new"}`,
	}[p.provider]))
	return "tools"
}

func swapTools(p *page) string {
	list := p.functionList()
	if list.countMembers() < 2 {
		return ""
	}
	list.swapElements(0, list.countMembers()-1)
	return "tools"
}

// rotateSchema moves the first member of a schema to its end.
func rotateSchema(p *page) string {
	for _, f := range p.functions() {
		schema, _ := f.firstOf("input_schema", "parameters")
		if schema.countMembers() < 2 {
			continue
		}
		m := schema.members
		m[0].key, m[1].key, m[0].keyRaw, m[1].keyRaw, m[0].value, m[1].value = m[1].key, m[0].key, m[1].keyRaw, m[0].keyRaw, m[1].value, m[0].value
		return "tools"
	}
	return ""
}

// setSystem gives a request another system prompt.
func setSystem(p *page, text string) string {
	quoted := string(stringNode(text).raw)
	switch p.provider {
	case evidence.Anthropic:
		p.root.setMember("system", parseLiteral(quoted))
		return "system"
	case evidence.OpenAI:
		p.root.setMember("instructions", parseLiteral(quoted))
		return "instructions"
	}
	if _, key := p.root.firstOf("systemInstruction", "system_instruction"); key != "" {
		p.root.removeKey(key)
	}
	p.root.setMember("systemInstruction", parseLiteral(`{"parts":[{"text":`+quoted+`}]}`))
	return "systemInstruction"
}

func tickingPrompt(d *draft, k int, p *page, _ *rand.Rand) string {
	if !continuesAny(d) {
		return ""
	}
	return setSystem(p, "Be brief. It is 15:09:"+string(rune('0'+k/10%6))+string(rune('0'+k%10))+".")
}

func idInPrompt(d *draft, k int, p *page, _ *rand.Rand) string {
	if !continuesAny(d) {
		return ""
	}
	for _, b := range p.blocks {
		if b.kind == textBlock && b.role == "user" {
			id := bytes.Repeat([]byte{"0123456789abcdef"[k%16]}, 24)
			p.setText(b, b.text+" session "+string(id))
			return pathString(b.path)
		}
	}
	return ""
}

// continuesAny reports whether a request of the draft goes on with a reply.
func continuesAny(d *draft) bool {
	return slices.ContainsFunc(d.modelCalls(), d.continuesReply)
}

// stateful makes a conversation one that the provider keeps.
func stateful(d *draft, r *rand.Rand) bool {
	_, done := previousResponse(d, r)
	return done
}

// historyBesideID puts the earlier conversation back beside the id of the response.
func historyBesideID(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		id := d.requests[k].at("previous_response_id").stringValue()
		for j := range k {
			before := d.requests[j].at("input")
			if id == "" || !strings.Contains(string(d.ev.Exchanges[j].Response.Body), `"`+id+`"`) || before.countMembers() < 1 {
				continue
			}
			p := d.editableRequest(k)
			input := p.root.at("input")
			if !input.isArray() {
				continue
			}
			at := 0
			for i := range before.countMembers() {
				input.insertAt(at, before.at(i).deepCopy())
				at++
			}
			for _, it := range d.replies[j] {
				if it.kind == callBlock && it.id != "" {
					input.insertAt(at, parseLiteral(`{"type":"function_call","call_id":"`+it.id+`","name":"x","arguments":"{}"}`))
					at++
				}
			}
			if at > 1 && d.commitPage(k, p) {
				return d.placeAt(k, []any{"input", 0}), true
			}
		}
	}
	return Place{}, false
}
