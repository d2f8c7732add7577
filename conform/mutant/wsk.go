package mutant

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// continuationMutants go on with the wrong response, or with the right one and too much.
var continuationMutants = []Mutant{
	{"other-socket", "goes on with a response on a WebSocket that does not know it", []string{"WSK-001"}, func(ev evidence.Evidence) (evidence.Evidence, bool) {
		return changeContinuation(ev, func(e *editor, _ *evidence.Exchange) bool {
			if e.x.WebSocket == 0 {
				return false
			}
			e.x.WebSocket += 7
			return true
		})
	}},
	{"older-response", "goes on with a response that is not the last one of its WebSocket", []string{"WSK-001"}, func(ev evidence.Evidence) (evidence.Evidence, bool) {
		earlier := map[int]string{} // the response before the last one of each WebSocket
		last := map[int]string{}
		return changeRequest(func(e *editor) bool {
			defer func() {
				if r := wire.ReadReply(e.x.Provider, e.x.Response.Status, e.x.Response.Body); r.ID != "" {
					earlier[e.x.WebSocket], last[e.x.WebSocket] = last[e.x.WebSocket], r.ID
				}
			}()
			isOwn := e.x.WebSocket != 0 && e.doc.Get("previous_response_id").Text() == last[e.x.WebSocket]
			return isOwn && earlier[e.x.WebSocket] != "" && setMember(e.doc, "previous_response_id", mustParse(`"`+earlier[e.x.WebSocket]+`"`))
		}, evidence.OpenAI)(ev)
	}},
	{"history-beside-id", "sends what the provider holds beside the id of the response", []string{"WSK-002"}, func(ev evidence.Evidence) (evidence.Evidence, bool) {
		return changeContinuation(ev, func(e *editor, from *evidence.Exchange) bool {
			held := wire.ReadRequest(from.Provider, from.Request.Method, from.Request.URL, from.Request.Body)
			reply := wire.ReadReply(from.Provider, from.Response.Status, from.Response.Body)
			list := inputItems(held.Doc)
			for i := range reply.Items {
				list = append(list, reply.Items[i].Node)
			}
			return len(list) > 1 && setMember(e.doc, "input", tree.NewArray(append(list, inputItems(e.doc)...)...))
		})
	}},
	{"increment-on-new-socket", "sends an increment where nothing can be added to", []string{"WSK-003"}, changeRequest(func(e *editor) bool {
		k := e.findItem(func(_ int, it *wire.Item) bool { return it.What == wire.Result })
		if e.x.WebSocket == 0 || e.req.Stateful || k < 0 {
			return false
		}
		input := e.doc.Get("input")
		input.SetItems(input.Items()[k:])
		return true
	}, evidence.OpenAI)},
	{"name-lost-again", "names a response again that was not found", []string{"WSK-004"}, nameLostAgain},
}

// inputItems lists the items of an input; a text alone is a message of the user.
func inputItems(doc *tree.Node) []*tree.Node {
	input := doc.Get("input")
	if input.Is(tree.String) {
		return []*tree.Node{mustParse(`{"role":"user","content":` + string(tree.Encode(input)) + `}`)}
	}
	return slices.Clone(input.List())
}

// changeContinuation changes the first request that goes on with a response of the
// evidence that was not stored.
func changeContinuation(ev evidence.Evidence, change func(e *editor, from *evidence.Exchange) bool) (evidence.Evidence, bool) {
	byID := map[string]*evidence.Exchange{}
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		if r := wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body); r.ID != "" {
			byID[r.ID] = x
		}
	}
	return changeRequest(func(e *editor) bool {
		from := byID[e.doc.Get("previous_response_id").Text()]
		return from != nil && change(e, from)
	}, evidence.OpenAI)(ev)
}

// nameLostAgain makes the request behind a response that was not found name it again.
func nameLostAgain(ev evidence.Evidence) (evidence.Evidence, bool) {
	ev = cloneEvidence(ev)
	for i := range len(ev.Exchanges) - 1 {
		lost, next := &ev.Exchanges[i], &ev.Exchanges[i+1]
		if bytes.Contains(lost.Response.Body, []byte("previous_response_not_found")) {
			e := openEditor(&ev, i, nil)
			id := e.doc.Get("previous_response_id").Text()
			next.Request.Body = []byte(strings.Replace(string(next.Request.Body), `"input"`, `"previous_response_id":"`+id+`","input"`, 1))
			next.Response = lost.Response
			return ev, true
		}
	}
	return ev, false
}
