package openai

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// ResponseID returns the id of the response to r.
func ResponseID(r script.Reply) string { return newSignedReply(r).responseID() }

// isKept reports whether the response to r can be asked for again, and whether it is made in the
// background: such a response is kept in any case, otherwise nobody could fetch it.
func isKept(r script.Reply) (keeps, inBackground bool) {
	v := newSignedReply(r)
	inBackground = v.q.body.True("background")
	return v.q.store || inBackground, inBackground
}

const memberPrevious = "previous_response_id"

// previousLost refuses a request whose previous response is not, or no longer, there (rule O-25).
func previousLost(id string) *rule.Refusal {
	return &rule.Refusal{Rule: "O-25", Status: http.StatusBadRequest, Type: "invalid_request_error",
		Code: "previous_response_not_found", Param: memberPrevious,
		Message: fmt.Sprintf("Previous response with id '%s' not found.", id)}
}

// continueFrom puts the conversation up to a response before the input of a request. The thoughts of that
// response are sealed, whether the client asked for that or not: they are the provider's own.
func continueFrom(request *tree.Node, before script.Reply) (whole, alone []byte) {
	before.Request.Form, before.Request.IssuesTokens = script.FormUnary, true
	response := script.ParseOwn(Provider{}.Frames(before)[0])
	input := script.Array{}
	for _, of := range []*tree.Node{before.Request.Document.Get("input"), response.Get("output"),
		request.Get("input")} {
		for _, item := range inputItems(of) {
			input = append(input, item)
		}
	}
	whole = script.WithMembers(request, "input", string(script.JSON(input)))
	return whole, script.WithMembers(script.ParseOwn(whole), memberPrevious, "null")
}

// answerStored answers a request about a stored response. A response that is made in the background is in
// progress the first time that a client looks and done the second time.
func answerStored(op script.Operation, id string, r *http.Request, kept *script.Kept) (script.Form, [][]byte,
	*rule.Refusal) {
	if kept == nil {
		return 0, nil, &rule.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error",
			Message: fmt.Sprintf("Response with id '%s' not found.", id)}
	}
	reply, asked := kept.Reply, r.URL.Query()
	document := func(o script.Object) (script.Form, [][]byte, *rule.Refusal) {
		return script.FormUnary, [][]byte{script.JSON(o)}, nil
	}
	switch {
	case op == script.Inputs:
		return document(listItems(reply, asked.Get("order"), asked.Get("after"), asked.Get("limit")))
	case op == script.Stored && r.Method == http.MethodDelete:
		return document(script.Object{"id", id, "object", "response", "deleted", true})
	case op == script.Stored:
		kept.Asked++
	case !kept.InBackground:
		return 0, nil, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
			Message: "Cannot cancel a synchronous response."}
	case kept.Asked < 2:
		kept.Cancelled = true
	}
	if op == script.Stored && asked.Get("stream") == "true" {
		return resumeStream(reply, asked.Get("starting_after"))
	}
	return script.FormUnary, [][]byte{currentBody(kept)}, nil
}

// currentBody is the response object as it is now.
func currentBody(kept *script.Kept) []byte {
	whole := kept.Reply
	whole.Request.Form = script.FormUnary
	body := Provider{}.Frames(whole)[0]
	switch {
	case !kept.InBackground:
		return body
	case kept.Cancelled:
		return unfinishedResponse(body, "cancelled")
	case kept.Asked < 2:
		return unfinishedResponse(body, "in_progress")
	}
	return script.WithMembers(script.ParseOwn(body), "background", "true")
}

// resumeStream streams a response again, from behind an event.
func resumeStream(reply script.Reply, startingAfter string) (script.Form, [][]byte, *rule.Refusal) {
	after := -1
	if startingAfter != "" {
		n, err := strconv.Atoi(startingAfter)
		if err != nil {
			return 0, nil, &rule.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
				Code:    "invalid_type",
				Param:   "starting_after",
				Message: "Invalid type for 'starting_after': expected an integer, but got a string instead."}
		}
		after = n
	}
	reply.Request.Form = script.FormSSE
	frames := Provider{}.Frames(reply)
	return script.FormSSE, frames[min(max(after+1, 0), len(frames)):], nil
}

// listItems lists the input of a stored response, the newest first unless asked otherwise.
func listItems(reply script.Reply, order, after, most string) script.Object {
	list := withIDs(inputItems(reply.Request.Document.Get("input")), reply)
	if order != "asc" {
		slices.Reverse(list)
	}
	if after != "" {
		at := slices.IndexFunc(list, func(i *tree.Node) bool { return idOf(i) == after })
		list = list[at+1:]
	}
	limit, err := strconv.Atoi(most)
	if err != nil || limit < 1 || limit > 100 {
		limit = 20
	}
	data, first, last := script.Array{}, any(nil), any(nil)
	for i, item := range list[:min(limit, len(list))] {
		data = append(data, item)
		if last = idOf(item); i == 0 {
			first = last
		}
	}
	return script.Object{"object", "list", "data", data, "first_id", first, "has_more", len(list) > limit,
		"last_id", last}
}

// unfinishedResponse is a response that has nothing to show yet.
func unfinishedResponse(response []byte, status string) []byte {
	return script.WithMembers(script.ParseOwn(response), "status", `"`+status+`"`, "background", "true", "output", "[]",
		"completed_at", "null", "usage", "null")
}

// inputItems are the items of an input. A text is one message.
func inputItems(input *tree.Node) []*tree.Node {
	if input.Is(tree.String) {
		part := script.Object{"type", "input_text", "text", input}
		return []*tree.Node{script.ParseOwn(script.JSON(script.Object{"type", "message", "role", "user", "content",
			script.Array{part}}))}
	}
	return slices.Clone(input.List())
}

// maxBlocks is more than a reply has blocks: what is numbered from here on has
// ids of its own.
const maxBlocks = 1 << 20

// withIDs gives items their types and ids, as the API does when it stores
// them, and says the rest as it does: what came is complete, and a text is a part.
func withIDs(items []*tree.Node, r script.Reply) []*tree.Node {
	for i, item := range items {
		if !item.Is(tree.Object) {
			continue
		}
		var changes []string
		kind, content := item.Text("type"), item.Get("content")
		if idOf(item) == "" {
			changes = append(changes, "id", `"`+r.ID(prefixOf(kind), maxBlocks+i, script.Hex, 50)+`"`)
		}
		if kind == "" {
			changes = append(changes, "type", `"message"`)
		}
		if item.Text("status") == "" && prefixOf(kind) != unknownPrefix && kind != "reasoning" {
			changes = append(changes, "status", `"completed"`)
		}
		if content.Is(tree.String) {
			changes = append(changes, "content",
				string(script.JSON(script.Array{inputPart(item.Text("role"), content)})))
		}
		items[i] = script.ParseOwn(script.WithMembers(item, changes...))
	}
	return items
}

func inputPart(role string, content *tree.Node) script.Object {
	if role == "assistant" {
		return script.Object{"type", "output_text", "annotations", script.Array{}, "logprobs", script.Array{},
			"text", content}
	}
	return script.Object{"type", "input_text", "text", content}
}

// unknownPrefix begins the ids of items of which nothing is known.
const unknownPrefix = "item_"

// prefixOf is what the ids of a type of items begin with; no type is a message.
func prefixOf(kind string) string {
	switch kind {
	case "", "message":
		return "msg_"
	case "function_call", "function_call_output":
		return "fc_"
	case "reasoning":
		return "rs_"
	}
	return unknownPrefix
}

func idOf(item *tree.Node) string { return item.Text("id") }
