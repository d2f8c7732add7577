package openai

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// refereeRules report what the schema refuses in items, and what nothing refuses.
var refereeRules = []rule.Rule[*request]{
	judged("PAR-012/exclusive", sureRule("O-3", "the request has an input or names one that is stored", reported),
		inputGiven),
	atPublicAPI(judged("PAR-006/required", sureRule("O-3", "the request names a model", reported), modelGiven)),
	judged("PAR-008/names", sureRule("O-18", "names of tools and forms are letters, digits, _ and -", reported),
		toolsNamed),
	everywhere(judged("ORD-015/id-form",
		sureRule("O-8", "ids have their length, their characters and the prefix of their type", reported), idsFormed)),
	everywhere(judged("ORD-015/roles", sureRule("O-5", "roles are known", reported), rolesKnown)),
	everywhere(judged("ORD-015/arguments", sureRule("O-5", "a call's arguments are a string", reported),
		argumentsQuoted)),
	everywhere(judged("ORD-015/parts", sureRule("O-16", "content parts fit the role", reported), partsFitRole)),
	judged("ORD-015/parts", sureRule("O-17", "reasoning comes back encrypted, not as text", reported),
		reasoningEncrypted),
	everywhere(judged("SIG-010/summary", sureRule("O-3", "reasoning has a list of summaries", reported),
		summariesListed)),
	judged("CMP-005/ciphertext", sureRule("O-15", "a compaction holds ciphertext of the provider's", reported),
		compactionsSealed),
	everywhere(judged("NSP-002/answered",
		sureRule("O-10", "a search for tools that the client runs has its output behind it", reported),
		searchesAnswered)),
	everywhere(judged("NSP-002/no-orphan",
		sureRule("O-11", "an output answers a search that the provider can see", reported), searchOutputsAsked)),
	everywhere(judged("ORD-005/unique-calls", liveRule("OAI-P6", "no two calls have one id", reported, rule.Low, nil),
		callsUnique)),
}

func idsFormed(q *request, p *rule.Pass) {
	for i := range q.items {
		it := &q.items[i]
		if it.isCall() || it.isResult() {
			if p.Observe(); len(it.callID) < 1 || len(it.callID) > 64 {
				p.Report(it.path(), "call_id has %d characters, 1 to 64 are allowed", len(it.callID)).Rule = "O-7"
			}
		}
		prefix := idPrefix(it.typ)
		if prefix == "" || it.Text("id") == "" && it.Raw("id") != `""` {
			continue
		}
		p.Observe()
		switch {
		case len(it.id) > 64:
			p.Report(it.path(), "id of a %s item has %d characters, 64 are allowed", it.typ, len(it.id)).Rule = "O-7"
		case it.id == "" || strings.ContainsFunc(it.id, members.IsStrangeInID):
			p.Report(it.path(), "id %q of a %s item holds other characters than letters, digits, _ and -",
				rule.Shorten(it.id), it.typ)
		case !strings.HasPrefix(it.id, prefix):
			p.Report(it.path(), "id of a %s item begins with %.8q, not with %q", it.typ, it.id, prefix)
		}
	}
}

// idPrefix is what the ids of items of a type begin with, "" for anything.
func idPrefix(typ string) string {
	if o := Members().Find("item", typ); o != nil && o.Member("id") != nil {
		return o.Member("id").Begin
	}
	return ""
}

func rolesKnown(q *request, p *rule.Pass) {
	roles := Members().Find("item", "message").Member("role").Values
	for i := range q.items {
		it := &q.items[i]
		role := it.Get("role")
		if p.Observe(); role.Raw() == `""` || role.Text() != "" && !slices.Contains(roles, role.Text()) {
			p.Report(it.path()+".role", "role %q is none of the provider's", role.Text())
		}
	}
}

func argumentsQuoted(q *request, p *rule.Pass) {
	for i := range q.items {
		if it := &q.items[i]; it.typ == "function_call" {
			if p.Observe(); !it.Get("arguments").Is(tree.String) {
				p.Report(it.path(), "arguments of %s is not a string", strings.TrimPrefix(it.label(), "tool call "))
			}
		}
	}
}

func partsFitRole(q *request, p *rule.Pass) {
	for i := range q.items {
		role := q.items[i].Text("role")
		if role == "" {
			continue
		}
		for j, part := range q.items[i].List("content") {
			at, kind := fmt.Sprintf("%s.content[%d]", q.items[i].path(), j), part.Text("type")
			p.Observe()
			switch {
			case role == "assistant" && strings.HasPrefix(kind, "input_"):
				p.Report(at, "the assistant says %q, which only the client can", kind)
			case role != "assistant" && (kind == "output_text" || kind == "refusal"):
				p.Report(at, "%s says %q, which only the assistant can", role, kind)
			}
		}
	}
}

// reasoningEncrypted: models of others have nothing but the text.
func reasoningEncrypted(q *request, p *rule.Pass) {
	if model := q.body.Text("model"); model != "" &&
		!slices.Contains([]string{"gpt", "o"}, specs.ParseModel(model).Family) {
		return
	}
	for i := range q.items {
		it := &q.items[i]
		if it.typ != "reasoning" {
			continue
		}
		p.Observe()
		if n := len(it.List("content")); n > 0 {
			p.Report(it.path()+".content", "reasoning item %s carries %d texts of its content", it.id, n)
		}
	}
}

func summariesListed(q *request, p *rule.Pass) {
	for i := range q.items {
		if it := &q.items[i]; it.typ == "reasoning" {
			if p.Observe(); !it.Get("summary").Is(tree.Array) {
				p.Report(it.path(),
					"reasoning item without a summary list, which may be empty but not absent").Consequence = string(specs.Refused)
			}
		}
	}
}

func callsUnique(q *request, p *rule.Pass) {
	first := map[string]*item{}
	for i := range q.items {
		it := &q.items[i]
		if !it.isCall() || it.callID == "" {
			continue
		}
		p.Observe()
		if was := first[it.callID]; was != nil {
			p.Report(it.path(), "call id %s is already used at %s", it.callID, was.path())
		} else {
			first[it.callID] = it
		}
	}
}

// isClients reports whether the client runs the search for tools.
func (i *item) isClients() bool { return i.Text("execution") == "client" }

// searchesAnswered lets the output of a function answer a search as well.
func searchesAnswered(q *request, p *rule.Pass) {
	last := map[string]int{}
	for i := range q.items {
		if it := &q.items[i]; it.isResult() || it.typ == "tool_search_output" && it.isClients() {
			last[it.callID] = i + 1
		}
	}
	for i := range q.items {
		if it := &q.items[i]; it.typ == "tool_search_call" && it.isClients() {
			if p.Observe(); last[it.callID] <= i {
				p.Report(it.path(), "the search for tools %.64s has no output after it", it.callID)
			}
		}
	}
}

func searchOutputsAsked(q *request, p *rule.Pass) {
	asked := map[string]bool{}
	for i := range q.items {
		it := &q.items[i]
		asked[it.callID] = asked[it.callID] || it.typ == "tool_search_call" && it.isClients()
		if it.typ != "tool_search_output" || !it.isClients() || q.isKept {
			continue
		}
		if p.Observe(); !asked[it.callID] {
			p.Report(it.path(), "the output %.64s answers no search for tools before it", it.callID)
		}
	}
}

// compactionsSealed: a summary of the client's own is a message.
func compactionsSealed(q *request, p *rule.Pass) {
	for i := range q.items {
		it := &q.items[i]
		if it.typ != "compaction" && it.typ != "compaction_summary" {
			continue
		}
		text := it.Text("encrypted_content")
		if p.Observe(); !strings.HasPrefix(text, "gAAAA") && !strings.Contains(text, "REDACTED") {
			p.Report(it.path(), "the %s holds no ciphertext of the provider's", it.typ)
		}
	}
}
