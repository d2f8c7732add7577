package mutant

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// redactorMutants let a redactor or a sanitiser write into what was issued.
var redactorMutants = []Mutant{
	{"mask-token", "overwrites a part of a token as a filter for secrets does", []string{"RED-001"}, changeRequest(rewriteToken(func(token string) string {
		return token[:len(token)/3] + "[REDACTED]" + token[2*len(token)/3:]
	}))},
	{"ellipsis-in-token", "shortens a token in its middle", []string{"RED-001"}, changeRequest(rewriteToken(func(token string) string {
		return token[:6] + "…" + token[len(token)-4:]
	}))},
	{"clean-signed-text", "escapes or trims text under a signature", []string{"RED-001"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.HasToken && strings.TrimSpace(it.Text) != "" && e.wasEmitted(it) && rewriteMember(it.Node, func(s string) string { return s + "\n" }, "thinking", "text")
		})
	}, evidence.Anthropic, evidence.Gemini)},
	{"mask-arguments", "masks what the model wrote into a call", []string{"RED-002"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Call && e.wasEmitted(it) && e.isKnownCall(it) && maskArguments(it)
		})
	})},
	{"clean-words", "masks a part of what the model said", []string{"RED-002"}, changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Text && !it.HasToken && e.wasEmitted(it) && len(it.Text) > 6 && !strings.Contains(it.Text, "***") && rewriteText(it.Node, func(s string) string { return s[:len(s)/2] + "***" })
		})
	})},
	{"mask-old-result", "masks a result that was sent before", []string{"RED-003"}, maskOldResult},
}

// rewriteToken makes a change of the first token that was issued.
func rewriteToken(f func(string) string) func(e *editor) bool {
	return func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			return len(it.Token) > 20 && it.Type != "server_tool_use" && e.wasEmitted(it) &&
				rewriteMember(it.Node, f, "signature", "data", "encrypted_content", "thoughtSignature", "thought_signature")
		})
	}
}

// isKnownCall reports whether a call has the arguments that a reply gave it, and no id
// that a recorder replaced: a masked string is recognised beside the one it was.
func (e *editor) isKnownCall(it *wire.Item) bool {
	return e.emitted[argumentsKey(it)] && !strings.Contains(it.ID, "REDACTED")
}

// maskArguments writes asterisks in place of the first string of a call's arguments.
func maskArguments(it *wire.Item) bool {
	args, err := tree.Parse([]byte(it.Args))
	if err != nil {
		return false
	}
	i := slices.IndexFunc(args.Items(), func(v *tree.Node) bool { return v.Is(tree.String) && v.Text() != "" })
	if i < 0 {
		return false
	}
	args.Items()[i] = jsonString("***")
	return setArguments(it, args)
}

// setArguments gives a call other arguments.
func setArguments(it *wire.Item, args *tree.Node) bool {
	if fields := ownFields(it); fields.Get("arguments").Is(tree.String) {
		return setMember(fields, "arguments", jsonString(string(tree.Encode(args))))
	} else if fields.Any("input", "args").Is(tree.Object) {
		return setMember(fields, map[bool]string{true: "input", false: "args"}[fields.Get("input") != nil], args)
	}
	return false
}

// rewriteText changes the text of an item, wherever its provider keeps it.
func rewriteText(n *tree.Node, f func(string) string) bool {
	if rewriteMember(n, f, "text", "content") {
		return true
	}
	return slices.ContainsFunc(n.Get("content").List(), func(part *tree.Node) bool { return rewriteMember(part, f, "text") })
}

// maskOldResult masks a result in the second request that holds it.
func maskOldResult(ev evidence.Evidence) (evidence.Evidence, bool) {
	sent := map[string]bool{}
	return changeRequest(func(e *editor) bool {
		masked := e.x.Response.Status < 400 && e.eachItem(func(_ int, it *wire.Item) bool {
			return it.What == wire.Result && sent[it.Node.Raw()] && rewriteResult(it, func(s string) string { return s[:len(s)/2] + "[REDACTED]" })
		})
		for i := range e.req.Items {
			if it := &e.req.Items[i]; it.What == wire.Result && e.x.Response.Status < 400 {
				sent[it.Node.Raw()] = true
			}
		}
		return masked
	})(ev)
}

// rewriteResult changes the text of a result.
func rewriteResult(it *wire.Item, f func(string) string) bool {
	fields := ownFields(it)
	if rewriteMember(fields, f, "content", "output") {
		return true
	}
	for _, list := range []*tree.Node{fields.Get("content"), fields.Get("output")} {
		if slices.ContainsFunc(list.List(), func(part *tree.Node) bool { return rewriteMember(part, f, "text") }) {
			return true
		}
	}
	response := fields.Get("response")
	return response.Is(tree.Object) && slices.ContainsFunc(response.Names(), func(name string) bool {
		return name != "name" && (rewriteMember(response, f, name) || slices.ContainsFunc(response.Get(name).List(), func(part *tree.Node) bool { return rewriteMember(part, f, "text") }))
	})
}
