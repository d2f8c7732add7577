package check_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// replaceInRequest returns a change of one request of the evidence.
func replaceInRequest(n int, pairs ...string) func(*evidence.Evidence) {
	return func(ev *evidence.Evidence) {
		x := &ev.Exchanges[n]
		x.Request.Body = []byte(strings.NewReplacer(pairs...).Replace(string(x.Request.Body)))
	}
}

// replaceInReply returns a change of one reply of the evidence.
func replaceInReply(n int, pairs ...string) func(*evidence.Evidence) {
	return func(ev *evidence.Evidence) {
		x := &ev.Exchanges[n]
		x.Response.Body = []byte(strings.NewReplacer(pairs...).Replace(string(x.Response.Body)))
	}
}

// copyExchange returns a change that sends exchange n again, as the last one of a process.
func copyExchange(n, process int) func(*evidence.Evidence) {
	return func(ev *evidence.Evidence) {
		x := ev.Exchanges[n]
		x.Index, x.Process = ev.Exchanges[len(ev.Exchanges)-1].Index+1, process
		ev.Exchanges = append(ev.Exchanges, x)
	}
}

const (
	heronAnswer = "A grey heron lives for about fifteen years."
	storkAnswer = "A white stork lives for about twenty-five years."
	heronTask   = `"text":"Find out how long a grey heron lives."`
	storkTask   = `"text":"Find out how long a white stork lives."`
	heronRound  = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_06C","name":"read","input":{"path":"heron.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_06C","content":"15 years"}]},`
	storkCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_06D"`
)

// operations are breaches, and beside each the nearest legal variation, about which
// the check has nothing to say.
var operations = []struct {
	name, check, sample string
	change              func(*evidence.Evidence)
	want                string // "" for a legal variation
}{
	{"the call of another agent", "OPS-001/own-replies", "anthropic-agents",
		replaceInRequest(4, storkCall, heronRound+storkCall),
		"the reply of exchange 1, which was given to another conversation"},
	{"a fork goes on with both replies", "OPS-001/own-replies", "anthropic-agents", copyExchange(3, 0), ""},
	{"a result that quotes another agent", "OPS-001/own-replies", "anthropic-agents",
		replaceInRequest(4, `"25 years"`, `"`+heronAnswer+` 25 years"`), ""},

	{"answers are exchanged", "OPS-002/own-answer", "anthropic-agents",
		replaceInRequest(5, heronAnswer, storkAnswer, storkAnswer, heronAnswer),
		"call toolu_06A that started one agent is answered with what another one said, whose call is toolu_06B"},
	{"both answers in one result", "OPS-002/own-answer", "anthropic-agents",
		replaceInRequest(5, heronAnswer, heronAnswer+" "+storkAnswer), ""},
	{"answers are summarised", "OPS-002/own-answer", "anthropic-agents",
		replaceInRequest(5, heronAnswer, "About 15.", storkAnswer, "About 25."), ""},

	{"a finished agent starts again", "OPS-003/once", "anthropic-agents", copyExchange(1, 1),
		"had finished in the process before (exchange 1)"},
	{"an agent starts again in its own process", "OPS-003/once", "anthropic-agents", copyExchange(1, 0), ""},
	{"another call asks for it", "OPS-003/once", "anthropic-agents", func(ev *evidence.Evidence) {
		replaceInReply(6, `{"type":"text","text":"You are welcome."}`,
			`{"type":"tool_use","id":"toolu_06E","name":"spawn_agent","input":{"task":"Find out how long a grey heron lives."}}`)(ev)
		copyExchange(1, 1)(ev)
	}, ""},
	{"an agent without an answer starts again", "OPS-003/once", "anthropic-agents", func(ev *evidence.Evidence) {
		replaceInReply(3, heronAnswer, "Hm.")(ev)
		copyExchange(1, 1)(ev)
	}, ""},

	{"two agents get one task", "OPS-004/own-task", "anthropic-agents", func(ev *evidence.Evidence) {
		replaceInRequest(2, storkTask, heronTask)(ev)
		replaceInRequest(4, storkTask, heronTask)(ev)
	}, "two agents got the task of call toolu_06A, and none that of call toolu_06B"},
	{"the second agent never starts and its call says so", "OPS-004/own-task", "anthropic-agents",
		func(ev *evidence.Evidence) {
			replaceInRequest(2, storkTask, heronTask)(ev)
			replaceInRequest(4, storkTask, heronTask)(ev)
			replaceInRequest(5, `"content":"`+storkAnswer+`"`,
				`"is_error":true,"content":"not executed: cancelled"`)(ev)
			replaceInRequest(6, `"content":"`+storkAnswer+`"`,
				`"is_error":true,"content":"not executed: cancelled"`)(ev)
		}, ""},

	{"one reply more than allowed", "BUD-001/turns", "openai-budget",
		func(ev *evidence.Evidence) { ev.Limits.Turns = 2 },
		"may call the model 2 times, and asks again after 2 replies"},
	{"an attempt without a reply does not count", "BUD-001/turns", "openai-budget", func(ev *evidence.Evidence) {
		ev.Limits.Turns = 2
		ev.Exchanges[0].Response = evidence.Response{Status: 500,
			Body: []byte(`{"error":{"message":"The server had an error.","type":"server_error"}}`), End: "eof"}
	}, ""},
	{"agents beside it do not count", "BUD-001/turns", "anthropic-agents",
		func(ev *evidence.Evidence) { ev.Limits.Turns = 2 }, ""},
	{"each process has its own limit", "BUD-001/turns", "anthropic-agents",
		func(ev *evidence.Evidence) { ev.Limits.Turns = 1 }, "after 1 replies"},

	{"a tool ran again", "REC-004/runs-once", "anthropic-recovery",
		func(ev *evidence.Evidence) { ev.ToolRuns[0].Ended = 3 },
		"ran it 3 times with the same arguments to its end, and the model asked for that once"},
	{"a tool did not end", "REC-004/runs-once", "anthropic-recovery",
		func(ev *evidence.Evidence) { ev.ToolRuns[0].Ended = 0 }, ""},

	{"the same limit again", "BUD-002/same-bytes", "openai-budget", func(ev *evidence.Evidence) {
		ev.Exchanges[1].Request.Body = bytes.Clone(ev.Exchanges[0].Request.Body)
	}, "the one of exchange 0, whose reply ended at its limit of tokens"},
	{"a content filter ended it", "BUD-002/same-bytes", "openai-budget", func(ev *evidence.Evidence) {
		replaceInReply(0, `max_output_tokens`, `content_filter`)(ev)
		ev.Exchanges[1].Request.Body = bytes.Clone(ev.Exchanges[0].Request.Body)
	}, ""},
}

func TestOperationsAndBudgets(t *testing.T) {
	for _, c := range operations {
		t.Run(c.name, func(t *testing.T) {
			ev := samples(t)[c.sample]
			before, changed := len(ev.Exchanges), ev.Exchanges
			c.change(&ev)
			was := samples(t)[c.sample]
			if before == len(ev.Exchanges) && ev.Limits.Turns == was.Limits.Turns &&
				slices.Equal(ev.ToolRuns, was.ToolRuns) && equalBodies(changed, was.Exchanges) {
				t.Fatal("the change changes nothing")
			}
			res := find(t, c.check).Run(check.Decode(&ev))
			switch {
			case c.want == "" && len(res.Findings) > 0:
				t.Errorf("a false alarm: %s", res.Findings[0].Message)
			case c.want != "" && (len(res.Findings) == 0 || !strings.Contains(res.Findings[0].Message, c.want) ||
				res.Findings[0].Fix == ""):
				t.Errorf("%+v, want %s", res.Findings, c.want)
			}
		})
	}
}

func equalBodies(a, b []evidence.Exchange) bool {
	for i := range a {
		if !bytes.Equal(a[i].Request.Body, b[i].Request.Body) || !bytes.Equal(a[i].Response.Body, b[i].Response.Body) {
			return false
		}
	}
	return true
}
