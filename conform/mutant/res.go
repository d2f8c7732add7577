package mutant

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// modelMutants ask for what the allowlist refuses.
var modelMutants = []Mutant{
	{"reject-model", "asks a model below the minimum", []string{"MOD-001"}, changeRequest(func(e *editor) bool {
		return e.setModel(map[string]string{evidence.Anthropic: "claude-3-5-haiku-20241022", evidence.OpenAI: "gpt-4o", evidence.Gemini: "gemini-2.0-flash"}[e.x.Provider])
	})},
	{"accept-refused-model", "succeeds with a model that is not allowed", []string{"MOD-003"}, changeProcess(func(_ *evidence.Evidence, _ int, p *evidence.Process) bool {
		p.ExitCode = 0
		return true
	})},
	{"ask-refused-model", "sends a request before refusing the model", []string{"MOD-003"}, changeProcess(func(ev *evidence.Evidence, n int, _ *evidence.Process) bool {
		x := foreignExchange(evidence.Anthropic, len(ev.Exchanges), "dG9rZW4=")
		x.Process = n
		ev.Exchanges = append(ev.Exchanges, x)
		return true
	})},
	{"reroute", "is answered by another model", []string{"MOD-004"}, changeReply(func(x *evidence.Exchange, r *wire.Reply) bool {
		other := map[string]string{evidence.Anthropic: "claude-3-haiku-20240307", evidence.OpenAI: "gpt-4o-mini-2024-07-18", evidence.Gemini: "gemini-1.5-flash"}[x.Provider]
		before := x.Response.Body
		x.Response.Body = bytes.ReplaceAll(before, []byte(`"`+r.Model+`"`), []byte(`"`+other+`"`))
		return r.Model != "" && !bytes.Equal(before, x.Response.Body)
	})},
}

// changeProcess changes the first process that failed without sending anything: one
// that refused what it was told.
func changeProcess(change func(ev *evidence.Evidence, n int, p *evidence.Process) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		for n := range ev.Process {
			spoke := slices.ContainsFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == n })
			if p := &ev.Process[n]; p.ExitCode != 0 && !spoke && change(&ev, n, p) {
				return ev, true
			}
		}
		return ev, false
	}
}

// resumeMutants disturb what a conversation is built on.
var resumeMutants = []Mutant{
	{"drop-prefix", "resumes with the new prompt alone", []string{"RES-001"}, changeResumed(func(e *editor, _ *wire.Request) bool {
		all := e.messageList()
		if len(all.List()) < 2 {
			return false
		}
		all.SetItems(all.Items()[len(all.Items())-1:])
		return true
	})},
	{"edit-history-on-resume", "resumes with another first prompt", []string{"RES-001"}, changeResumed(func(e *editor, _ *wire.Request) bool { return e.editPrompt() })},
	{"lose-reasoning-on-resume", "resumes without reasoning that it sent before", []string{"RES-001"}, changeResumed(func(e *editor, _ *wire.Request) bool {
		return e.x.Provider == evidence.OpenAI && e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Thinking && e.wasEmitted(it) && e.removeItem(it)
		})
	})},
	{"forget-reply", "resumes without the last reply", []string{"RES-004"}, changeResumed(forgetReply)},
	{"drop-result-on-resume", "resumes with a call left open", []string{"RES-005"}, changeResumed(func(e *editor, _ *wire.Request) bool { return dropResult(e) })},
	{"replay-twice", "resumes with the last reply twice", []string{"RES-006"}, changeResumed(replayTwice)},
	{"alter-system", "changes the system prompt between turns", []string{"RES-002"}, changeRequest(func(e *editor) bool { return e.sendsBackReply() && e.editSystem() })},
	{"alter-tools", "changes a tool between turns", []string{"RES-002"}, changeRequest(func(e *editor) bool {
		tool := e.firstTool()
		return e.sendsBackReply() && tool.Is(tree.Object) && setMember(tool, "description", jsonString("Changed by a mutant."))
	})},
	{"reorder-tools", "lists the tools in another order", []string{"RES-002"}, changeRequest(func(e *editor) bool {
		tools := e.toolList()
		at := slices.IndexFunc(tools.List(), isInPrompt)
		if !e.sendsBackReply() || at < 0 {
			return false
		}
		other := slices.IndexFunc(tools.Items(), func(t *tree.Node) bool { return isInPrompt(t) && !tree.Equal(t, tools.Items()[at]) })
		if other < 0 {
			return false
		}
		tools.Items()[at], tools.Items()[other] = tools.Items()[other], tools.Items()[at]
		return true
	})},
	{"edit-history", "rewrites an earlier prompt", []string{"RES-003"}, changeRequest(func(e *editor) bool { return e.sendsBackReply() && e.editPrompt() })},
	{"edit-result", "shortens an earlier tool result", []string{"RES-003"}, changeRequest(editResult)},
	{"reformat-history", "writes the arguments of an earlier call in another form", []string{"RES-007"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			wasSent := slices.ContainsFunc(e.ev.Exchanges[:e.n], func(x evidence.Exchange) bool {
				return bytes.Contains(x.Request.Body, []byte(it.ID)) && bytes.Contains(x.Request.Body, []byte(it.Args))
			})
			args, err := tree.Parse([]byte(it.Args))
			if it.What != wire.Call || !e.wasEmitted(it) || !wasSent || err != nil || len(args.Names()) == 0 {
				return false
			}
			slices.Reverse(args.Names())
			slices.Reverse(args.Items())
			if first := args.Items()[0]; len(args.Names()) == 1 {
				if !first.Is(tree.String) || first.Text() == "" {
					return false
				}
				args.Items()[0] = mustParse(fmt.Sprintf(`"\u%04x`, first.Raw()[1]) + string(first.Raw()[2:]))
			}
			return setArguments(it, args)
		})
	})},
}

// isInPrompt: a deferred tool is not part of the prompt, wherever it stands.
func isInPrompt(tool *tree.Node) bool { return !tool.Get("defer_loading").True() }

// changeResumed changes the first request of a resumed process that was answered;
// before is the request in front of it.
func changeResumed(change func(e *editor, before *wire.Request) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		first := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
			return x.Process > 0 && x.Process < len(ev.Process) && ev.Process[x.Process].Resumed && x.Response.Status < 400
		})
		if first < 1 || ev.Exchanges[first-1].Provider != ev.Exchanges[first].Provider {
			return ev, false
		}
		b := ev.Exchanges[first-1].Request
		before := wire.ReadRequest(ev.Exchanges[first-1].Provider, b.Method, b.URL, b.Body)
		return changeRequest(func(e *editor) bool { return e.n == first && change(e, before) })(ev)
	}
}

// sendsBackReply reports whether the request sends back something an earlier reply
// emitted that only it can have emitted.
func (e *editor) sendsBackReply() bool {
	return e.findItem(func(_ int, it *wire.Item) bool {
		return e.wasEmitted(it) && (it.ID != "" || it.Token != "")
	}) >= 0
}

func (e *editor) editPrompt() bool {
	return e.eachItem(func(_ int, it *wire.Item) bool {
		if it.Model() || it.What != wire.Text || it.Role != "user" {
			return false
		}
		if it.Node.Is(tree.Object) && rewriteMember(it.Node, appendDot, "text") {
			return true
		}
		content := it.Node.Get("content")
		if content.Is(tree.String) {
			return rewriteMember(it.Node, appendDot, "content")
		}
		if len(content.List()) > 0 {
			return rewriteMember(content.Items()[0], appendDot, "text")
		}
		m := e.req.Msgs[it.Msg].Node
		return it.Node.Is(tree.String) && m.Is(tree.Object) && rewriteMember(m, appendDot, "content")
	})
}

func (e *editor) editSystem() bool {
	for _, key := range []string{"system", "instructions"} {
		if rewriteMember(e.doc, appendDot, key) {
			return true
		}
		if list := e.doc.Get(key).List(); len(list) > 0 && rewriteMember(list[0], appendDot, "text") {
			return true
		}
	}
	parts := e.req.System.Get("parts").List()
	return len(parts) > 0 && rewriteMember(parts[0], appendDot, "text")
}

// toolList returns the array of tool definitions.
func (e *editor) toolList() *tree.Node {
	if list := e.req.Tools.List(); len(list) > 0 && e.x.Provider == evidence.Gemini {
		return list[0].Any("functionDeclarations", "function_declarations")
	}
	return e.req.Tools
}

func (e *editor) firstTool() *tree.Node {
	list := e.toolList().List()
	if first := slices.IndexFunc(list, isInPrompt); first >= 0 {
		return list[first]
	}
	return nil
}

// editResult shortens a result that was sent with an earlier request: one after
// which the model has spoken again.
func editResult(e *editor) bool {
	last := -1
	e.eachItem(func(i int, it *wire.Item) bool {
		if e.wasEmitted(it) && (it.ID != "" || it.Token != "") {
			last = i
		}
		return false
	})
	return e.eachItem(func(i int, it *wire.Item) bool {
		if it.What != wire.Result || i > last || it.Node == nil {
			return false
		}
		if e.x.Provider == evidence.Gemini {
			return setMember(ownFields(it), "response", mustParse(`{"output":"(cleared)"}`))
		}
		return setMember(it.Node, map[string]string{evidence.Anthropic: "content", evidence.OpenAI: "output"}[e.x.Provider], jsonString("(cleared)"))
	})
}

func forgetReply(e *editor, before *wire.Request) bool {
	forgot := false
	for i := len(before.Items); i < len(e.req.Items) && e.req.Items[i].Model(); i++ {
		forgot = e.removeItem(&e.req.Items[i]) || forgot
	}
	return forgot
}

// replayTwice puts the messages of the last reply once more before the last
// thing the client says.
func replayTwice(e *editor, before *wire.Request) bool {
	all := e.messageList()
	n := len(before.Msgs)
	if len(all.List()) <= n+1 || e.req.Msgs[n].Role != "assistant" {
		return false
	}
	last := len(all.Items()) - 1
	all.SetItems(append(all.Items(), copyOf(e.req.Msgs[n].Node), copyOf(all.Items()[last])))
	return true
}
