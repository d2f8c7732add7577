package mutant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// streamMutants disturb replies on their way to the agent or into a recording.
var streamMutants = []Mutant{
	{"wrong-content-type", "sends a stream as plain JSON", []string{"STR-001"}, changeReply(func(x *evidence.Exchange, _ *wire.Reply) bool {
		if x.Response.Header.Get("Content-Type") == "" {
			return false
		}
		x.Response.Header.Set("Content-Type", "text/plain")
		return true
	})},
	{"lose-last-line", "loses the blank line at the end", []string{"STR-001"}, changeReply(func(x *evidence.Exchange, _ *wire.Reply) bool {
		x.Response.Body = bytes.TrimRight(x.Response.Body, "\r\n")
		return true
	})},
	{"drop-terminal", "ends a stream before it is over", []string{"STR-002"}, changeReply(dropTerminal)},
	{"second-message-start", "starts a message inside a message", []string{"STR-003"}, changeReply(changeEvents(func(ev []piece) []piece {
		if len(ev) < 4 || ev[0].kind != "message_start" {
			return nil
		}
		return slices.Insert(slices.Clone(ev), 3, ev[0])
	}), evidence.Anthropic)},
	{"drop-block-stop", "does not close a block", []string{"STR-003"}, changeReply(changeEvents(withoutFirst("content_block_stop")), evidence.Anthropic)},
	{"repeat-event", "sends an event twice", []string{"STR-004"}, changeReply(changeEvents(func(ev []piece) []piece {
		if len(ev) < 3 || !bytes.Contains(ev[1].data, []byte(`"sequence_number"`)) {
			return nil
		}
		return slices.Insert(slices.Clone(ev), 2, ev[1])
	}), evidence.OpenAI)},
	{"drop-item-added", "loses the start of an item", []string{"STR-004"}, changeReply(changeEvents(withoutFirst("response.output_item.added")), evidence.OpenAI)},
	{"change-response-id", "mixes chunks of two replies", []string{"STR-005"}, changeReply(changeEvents(changeResponseID), evidence.Gemini)},
	{"drop-delta", "loses a piece of text or arguments", []string{"STR-006"}, changeReply(changeEvents(dropDelta), evidence.OpenAI)},
}

// piece is one event of a stream with all its bytes.
type piece struct {
	kind string
	data []byte
}

// changeReply makes a mutant that changes the first whole stream for which change
// returns true.
func changeReply(change func(x *evidence.Exchange, r *wire.Reply) bool, providers ...string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return func(ev evidence.Evidence) (evidence.Evidence, bool) {
		ev = cloneEvidence(ev)
		for i := range ev.Exchanges {
			x := &ev.Exchanges[i]
			if len(providers) > 0 && !slices.Contains(providers, x.Provider) {
				continue
			}
			r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
			if x.Response.Status == 200 && r.Form == wire.SSE && r.Usable() && len(r.Events) > 1 && change(x, r) {
				return ev, true
			}
		}
		return ev, false
	}
}

// changeEvents changes the list of events; nil means that there is nothing to change.
func changeEvents(change func([]piece) []piece) func(*evidence.Exchange, *wire.Reply) bool {
	return func(x *evidence.Exchange, r *wire.Reply) bool {
		var events []piece
		for _, e := range r.Events {
			events = append(events, piece{e.Type(), x.Response.Body[e.Off:e.End]})
		}
		events = change(events)
		if events == nil {
			return false
		}
		var body []byte
		for _, e := range events {
			body = append(body, e.data...)
		}
		x.Response.Body = body
		return true
	}
}

// withoutFirst loses the first event of a kind.
func withoutFirst(kind string) func([]piece) []piece {
	return func(ev []piece) []piece {
		k := slices.IndexFunc(ev, func(p piece) bool { return p.kind == kind })
		if k < 0 {
			return nil
		}
		return slices.Delete(slices.Clone(ev), k, k+1)
	}
}

// dropTerminal cuts the body where the events that say it is over begin.
func dropTerminal(x *evidence.Exchange, r *wire.Reply) bool {
	for i, e := range r.Events {
		over := e.Type() == "message_stop" || strings.HasPrefix(e.Type(), "response.completed") || e.Type() == "response.incomplete" ||
			slices.ContainsFunc(e.JSON.Get("candidates").List(), func(c *tree.Node) bool { return !c.Any("finishReason", "finish_reason").Null() }) ||
			e.JSON.Any("promptFeedback", "prompt_feedback") != nil
		if over {
			x.Response.Body, x.Response.End = x.Response.Body[:e.Off], "eof"
			return i > 0
		}
	}
	return false
}

func changeResponseID(ev []piece) []piece {
	for i := 1; i < len(ev); i++ {
		n, err := tree.Parse(ev[i].data[bytes.IndexByte(ev[i].data, '{'):])
		if err != nil || n.Get("responseId").Text() == "" {
			continue
		}
		id := tree.Quote(n.Get("responseId").Text())
		out := slices.Clone(ev)
		out[i].data = bytes.Replace(ev[i].data, id, []byte(`"AnotherResponse"`), 1)
		return out
	}
	return nil
}

// dropDelta loses a delta that said something.
func dropDelta(ev []piece) []piece {
	for i, p := range ev {
		if strings.HasSuffix(p.kind, "_text.delta") || strings.HasSuffix(p.kind, "_arguments.delta") {
			if bytes.Contains(p.data, []byte(`"delta":""`)) {
				continue
			}
			done := strings.TrimSuffix(p.kind, "delta") + "done"
			if slices.ContainsFunc(ev, func(q piece) bool { return q.kind == done }) {
				return slices.Delete(slices.Clone(ev), i, i+1)
			}
		}
	}
	return nil
}
