package mutate

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// caseChanges change evidence as a whole: a process, a limit, several exchanges. They get a
// copy. An edit of one request cannot say them.
func caseChanges() map[string]func(ev *evidence.Evidence) bool {
	return map[string]func(ev *evidence.Evidence) bool{
		"leak-token": leakToken,
		"accept-refused-model": func(ev *evidence.Evidence) bool {
			return changeSilentProcess(ev, func(n int) { ev.Process[n].ExitCode = 0 })
		},
		"ask-refused-model": func(ev *evidence.Evidence) bool {
			return changeSilentProcess(ev, func(n int) {
				x := foreignExchange(evidence.Anthropic, len(ev.Exchanges), "dG9rZW4=")
				x.Process = n
				ev.Exchanges = append(ev.Exchanges, x)
			})
		},
		"replay-partial":    replayPartial,
		"miss-request":      missRequest,
		"end-on-pause":      endOnPause,
		"repeat-hopeless":   repeatHopeless,
		"mix-conversations": mixConversations,
		"restart-agent":     restartAgent,
		"repeat-task":       repeatTask,
		"run-twice": func(ev *evidence.Evidence) bool {
			ev.ToolRuns = slices.Clone(ev.ToolRuns)
			if len(ev.ToolRuns) > 0 {
				ev.ToolRuns[0].Ended = ev.ToolRuns[0].Asked + 1
			}
			return len(ev.ToolRuns) > 0
		},
		"exceed-turns": func(ev *evidence.Evidence) bool {
			ev.Limits.Turns--
			return ev.Limits.Turns > 0
		},
	}
}

// leakToken appends a request to another provider that carries a token.
func leakToken(ev *evidence.Evidence) bool {
	for i := range ev.Exchanges {
		for _, it := range ev.Exchanges[i].ReadReply().Items {
			if it.Token != "" {
				last := ev.Exchanges[len(ev.Exchanges)-1].Index
				ev.Exchanges = append(ev.Exchanges, foreignExchange(ev.Exchanges[i].Provider, last+1, it.Token))
				return true
			}
		}
	}
	return false
}

func foreignExchange(provider string, index int, token string) evidence.Exchange {
	x := evidence.Exchange{Index: index, Provider: evidence.OpenAI, Process: -1}
	x.Request = evidence.Request{Method: "POST", URL: "https://api.openai.com/v1/responses",
		Body: []byte(`{"model":"gpt-5.2","store":false,"input":[{"type":"reasoning","summary":[],"encrypted_content":` +
			string(tree.Quote(token)) + `},{"role":"assistant","content":"ok"},{"role":"user","content":"Go on."}]}`)}
	if provider == evidence.OpenAI {
		x.Provider = evidence.Anthropic
		x.Request.URL = "https://api.anthropic.com/v1/messages"
		x.Request.Body = []byte(`{"model":"claude-opus-4-6","max_tokens":1024,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":` +
			string(tree.Quote(token)) + `},{"type":"text","text":"ok"}]},{"role":"user","content":"Go on."}]}`)
	}
	return x
}

// changeSilentProcess changes the first process that failed without sending anything: one
// that refused what it was told.
func changeSilentProcess(ev *evidence.Evidence, change func(n int)) bool {
	for n := range ev.Process {
		spoke := slices.ContainsFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == n })
		if ev.Process[n].ExitCode != 0 && !spoke {
			change(n)
			return true
		}
	}
	return false
}

// replayPartial adds the text of a broken reply to the next request, after what the broken
// one was asked.
func replayPartial(ev *evidence.Evidence) bool {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		r := x.ReadReply()
		text := slices.IndexFunc(r.Items, func(it wire.Item) bool { return it.What == wire.Text && it.Text != "" })
		if !isBroken(r) || text < 0 {
			continue
		}
		asked := len(readDocument(x).Get(formOf(x.Provider).turns).List())
		for n := i + 1; n < len(ev.Exchanges); n++ {
			c := &cursor{page: openPage(ev, n, nil), at: -1}
			if c.provider == x.Provider && c.isGeneration() && len(c.findSpot(":turns").findNode().List()) >= asked {
				c.insertTurn(asked, "assistant", r.Items[text].Text)
				c.commitPage()
				return true
			}
		}
		return false
	}
	return false
}

// missRequest gives the last exchange the answer of a replaying proxy that found nothing.
func missRequest(ev *evidence.Evidence) bool {
	if len(ev.Exchanges) == 0 || ev.Source != evidence.SourceCassette {
		return false
	}
	x := &ev.Exchanges[len(ev.Exchanges)-1]
	x.Missed = true
	x.Response = jsonResponse(http.StatusBadRequest,
		`{"type":"error","error":{"type":"invalid_request_error","message":"no answer was recorded"}}`)
	return true
}

// endOnPause leaves out everything after a pause.
func endOnPause(ev *evidence.Evidence) bool {
	i := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
		return x.Provider == evidence.Anthropic && bytes.Contains(x.Response.Body, []byte(`"pause_turn"`))
	})
	ev.Exchanges = ev.Exchanges[:i+1]
	return i >= 0 && len(ev.Process) > 0
}

// repeatHopeless sends the first request again that was refused for an empty account.
func repeatHopeless(ev *evidence.Evidence) bool {
	n := slices.IndexFunc(ev.Exchanges, func(x evidence.Exchange) bool {
		return x.Response.Status >= 400 && bytes.Contains(x.Response.Body, []byte("credit balance"))
	})
	if n >= 0 {
		ev.Exchanges = slices.Insert(ev.Exchanges, n+1, ev.Exchanges[n])
		for i := n + 1; i < len(ev.Exchanges); i++ {
			ev.Exchanges[i].Index++
		}
	}
	return n >= 0
}

// mixConversations inserts the call and the result behind the opening of one conversation
// behind that of another one.
func mixConversations(ev *evidence.Evidence) bool {
	conversation := map[int]int{}
	for _, p := range check.Decode(ev).Placements() {
		conversation[p.Exchange] = p.Conversation
	}
	heard, emitted := map[int]*tree.Node{}, map[string]map[string]bool{}
	for n := range ev.Exchanges {
		c := &cursor{page: openPage(ev, n, emittedBefore(emitted, &ev.Exchanges[n])), at: -1}
		list, own := c.findSpot(":turns").findNode(), conversation[c.theExchange().Index]
		isRound := slices.ContainsFunc(c.items,
			func(it *item) bool { return it.turn == 1 && it.kind == "call" && c.wasEmitted(it) })
		if c.isGeneration() && own >= 0 && isRound && len(list.List()) > 2 {
			for _, other := range slices.Sorted(maps.Keys(heard)) {
				if turns := heard[other].Items(); other != own {
					list.SetItems(slices.Insert(slices.Clone(list.Items()), 1, turns[1], turns[2]))
					c.commitPage()
					return true
				}
			}
			heard[own] = list
		}
		rememberReply(c.theExchange(), c.emitted)
	}
	return false
}

// restartAgent adds the first request of an agent, and its reply, to the last process.
func restartAgent(ev *evidence.Evidence) bool {
	last := len(ev.Process) - 1
	if last < 1 || !ev.Process[last].Resumed {
		return false
	}
	for _, x := range ev.Exchanges {
		if x.Process < last && opensWithTask(ev.Exchanges, &x) {
			x.Index, x.Process = ev.Exchanges[len(ev.Exchanges)-1].Index+1, last
			ev.Exchanges = append(ev.Exchanges, x)
			return true
		}
	}
	return false
}

// repeatTask gives the second agent the task of the first.
func repeatTask(ev *evidence.Evidence) bool {
	var first *tree.Node
	for n := range ev.Exchanges {
		c := &cursor{page: openPage(ev, n, nil), at: -1}
		if !c.isGeneration() || !opensWithTask(ev.Exchanges, c.theExchange()) {
			continue
		}
		if task := c.findSpot(":turns[0]"); first == nil {
			first = task.findNode()
		} else {
			task.putNode(first)
			c.commitPage()
			return true
		}
	}
	return false
}

// opensWithTask reports whether a request is one message that stands in the arguments of a
// call before it.
func opensWithTask(all []evidence.Exchange, x *evidence.Exchange) bool {
	items := readItems(x.ReadRequest())
	if len(items) == 0 || items[len(items)-1].turn != 0 || items[len(items)-1].text == "" {
		return false
	}
	task := items[len(items)-1].text
	return slices.ContainsFunc(all, func(o evidence.Exchange) bool {
		return o.Index < x.Index && slices.ContainsFunc(o.ReadReply().Items, func(it wire.Item) bool {
			return it.What == wire.Call && strings.Contains(it.Args, task)
		})
	})
}
