package simulator

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// answerStored answers for a stored response.
func (h *handler) answerStored(c *call) script.Plan {
	if c.op == opResponse && c.Method == http.MethodDelete {
		if !h.stored.deleteResponse(c.id, c.accountOf()) {
			return rejectionPlan(c.provider, notStored(c.id))
		}
		return h.documentPlan(c, script.Object{"id", c.id, "object", "response", "deleted", true})
	}
	var e entry
	if !h.stored.get(c.id, c.accountOf(), func(stored *entry) { e = c.lookAt(stored) }) {
		return rejectionPlan(c.provider, notStored(c.id))
	}
	switch {
	case c.op == opItems:
		return h.listItems(c, e)
	case c.op == opCancel && !e.background:
		return rejectionPlan(c.provider, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
			Message: "Cannot cancel a synchronous response."})
	case c.op == opResponse && query(c.Request).Get("stream") == "true":
		return h.resumeStream(c, e)
	}
	return h.bodyPlan(c, e.currentBody(c))
}

// lookAt is what happens to a response that is asked for: one in the background
// is in progress the first time and done the second.
func (c *call) lookAt(e *entry) entry {
	if c.op == opCancel && e.background && e.asked < 2 {
		e.cancelled = true
	}
	if c.op == opResponse {
		e.asked++
	}
	return *e
}

// currentBody is the response object as it is now.
func (e entry) currentBody(c *call) []byte {
	whole := e.reply
	whole.Request.Form = script.FormUnary
	body := c.provider.Frames(whole)[0]
	switch {
	case !e.background:
		return body
	case e.cancelled:
		return unfinishedResponse(body, "cancelled")
	case e.asked < 2:
		return unfinishedResponse(body, "in_progress")
	}
	return withMembers(parseOwn(body), "background", "true")
}

// resumeStream streams a response again, from behind an event.
func (h *handler) resumeStream(c *call, e entry) script.Plan {
	after := -1
	if text := query(c.Request).Get("starting_after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return rejectionPlan(c.provider, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_type",
				Param: "starting_after", Message: "Invalid type for 'starting_after': expected an integer, but got a string instead."})
		}
		after = n
	}
	again := e.reply
	again.Request.Form = script.FormSSE
	frames := c.provider.Frames(again)
	return script.Plan{Status: http.StatusOK, Header: h.replyHeader(c, script.FormSSE), Writes: frames[min(max(after+1, 0), len(frames)):]}
}

// listItems lists the input of a stored response, the newest first unless asked
// otherwise.
func (h *handler) listItems(c *call, e entry) script.Plan {
	input := e.reply.Request.Document.Get("input")
	list, asked := withIDs(inputItems(input), e.reply), query(c.Request)
	if asked.Get("order") != "asc" {
		slices.Reverse(list)
	}
	if after := asked.Get("after"); after != "" {
		at := slices.IndexFunc(list, func(i *tree.Node) bool { return idOf(i) == after })
		list = list[at+1:]
	}
	limit, err := strconv.Atoi(asked.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 20
	}
	return h.documentPlan(c, itemsPage(list, limit))
}

// itemsPage is the first of a list, as the API's lists are.
func itemsPage(list []*tree.Node, limit int) script.Object {
	data, first, last := script.Array{}, any(nil), any(nil)
	for i, item := range list[:min(limit, len(list))] {
		data = append(data, item)
		if last = idOf(item); i == 0 {
			first = last
		}
	}
	return script.Object{"object", "list", "data", data, "first_id", first, "has_more", len(list) > limit, "last_id", last}
}
