package mutant

import (
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// endingMutants make too much of a reply that did not end well.
var endingMutants = []Mutant{
	{"replay-partial", "sends the half turn of a broken stream back", []string{"STR-007"}, replayPartial},
	{"claim-success", "exits 0 after a broken stream", []string{"STR-008"}, claimSuccess},
	{"claim-answer", "exits 0 after a reply that was cut off, refused or paused", []string{"STR-010"}, claimAnswer},
	{"fail-on-new", "exits 1 after a whole reply with an event or a block of a new type", []string{"STR-011"}, failOnNew},
	{"run-malformed", "runs a call with malformed arguments", []string{"STR-009"}, runMalformed},
}

func brokenReply(x *evidence.Exchange) (*wire.Reply, bool) {
	r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
	return r, r.End == wire.Cut || r.End == wire.Failed
}

// replayPartial adds the text of a broken reply to the next request, after what
// the broken one was asked.
func replayPartial(ev evidence.Evidence) (evidence.Evidence, bool) {
	for i := range ev.Exchanges {
		r, bad := brokenReply(&ev.Exchanges[i])
		text := slices.IndexFunc(r.Items, func(it wire.Item) bool { return it.What == wire.Text && it.Text != "" })
		if !bad || text < 0 {
			continue
		}
		b := ev.Exchanges[i].Request
		before := wire.ReadRequest(ev.Exchanges[i].Provider, b.Method, b.URL, b.Body)
		return changeRequest(func(e *editor) bool {
			if e.n <= i || e.x.Provider != ev.Exchanges[i].Provider || len(e.messageList().List()) < len(before.Msgs) {
				return false
			}
			all := e.messageList()
			all.SetItems(slices.Insert(all.Items(), len(before.Msgs), modelMessage(e.x.Provider, r.Items[text].Text)))
			return true
		})(ev)
	}
	return ev, false
}

// modelMessage makes a message of the model.
func modelMessage(provider, text string) *tree.Node {
	quoted := string(tree.Quote(text))
	switch provider {
	case evidence.Gemini:
		return mustParse(`{"role":"model","parts":[{"text":` + quoted + `}]}`)
	case evidence.OpenAI:
		return mustParse(`{"role":"assistant","content":[{"type":"output_text","text":` + quoted + `}]}`)
	}
	return mustParse(`{"role":"assistant","content":[{"type":"text","text":` + quoted + `}]}`)
}

func claimSuccess(ev evidence.Evidence) (evidence.Evidence, bool) {
	return claimAfter(ev, func(x *evidence.Exchange) bool {
		_, bad := brokenReply(x)
		return bad
	})
}

// stopsShort are words of replies that are whole and no answer.
var stopsShort = regexp.MustCompile(`"(stop_reason|finishReason|status)":\s*"(max_tokens|model_context_window_exceeded|refusal|pause_turn|MAX_TOKENS|SAFETY|PROHIBITED_CONTENT|incomplete)"|"type":\s*"refusal"`)

func claimAnswer(ev evidence.Evidence) (evidence.Evidence, bool) {
	return claimAfter(ev, func(x *evidence.Exchange) bool { return stopsShort.Match(x.Response.Body) })
}

// claimAfter makes the first process succeed whose last reply is of a kind.
func claimAfter(ev evidence.Evidence, isOfKind func(*evidence.Exchange) bool) (evidence.Evidence, bool) {
	return endAfter(ev, 0, isOfKind)
}

// endAfter makes the first process whose last reply is of a kind end with another exit code.
func endAfter(ev evidence.Evidence, exit int, isOfKind func(*evidence.Exchange) bool) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	for n := range ev.Process {
		last := -1
		for i := range ev.Exchanges {
			if ev.Exchanges[i].Process == n {
				last = i
			}
		}
		if last < 0 || ev.Process[n].ExitCode == exit {
			continue
		}
		if isOfKind(&ev.Exchanges[last]) {
			ev.Process[n].ExitCode = exit
			return ev, true
		}
	}
	return ev, false
}

// newTypes are types that no client knows yet, in samples and from the simulator.
var newTypes = regexp.MustCompile(`"(future_event|response\.future_event|futureUpdate|future_block|future_item|futurePart)"`)

func failOnNew(ev evidence.Evidence) (evidence.Evidence, bool) {
	return endAfter(ev, 1, func(x *evidence.Exchange) bool { return newTypes.Match(x.Response.Body) })
}

// runMalformed answers a call whose arguments came malformed with a result in the
// place of an error.
func runMalformed(ev evidence.Evidence) (evidence.Evidence, bool) {
	malformed := map[string]bool{}
	for _, x := range ev.Exchanges {
		for _, it := range wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body).Items {
			args, err := tree.Parse([]byte(it.Args))
			if it.What == wire.Call && it.ID != "" && it.ArgsKnown && it.Type != "custom_tool_call" && (err != nil || !args.Is(tree.Object)) {
				malformed[it.ID] = true
			}
		}
	}
	return changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			if it.What != wire.Result || !malformed[it.ID] {
				return false
			}
			dropMember(it.Node, "is_error")
			return setMember(it.Node, "content", jsonString("done")) || setMember(it.Node, "output", jsonString("done"))
		})
	}, evidence.Anthropic)(ev)
}
