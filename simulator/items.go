package simulator

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
)

// member is a member of a JSON object, in its place.
type member struct {
	name  string
	value json.RawMessage
}

// members reads the members of an object in order; nil when it is none.
func members(object []byte) []member {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		all = append(all, member{name.(string), value})
	}
	return all
}

// with is the object with other values for some of its members: names and raw
// values alternate. What it lacks is added.
func with(object []byte, changes ...string) []byte {
	all := members(object)
	for change := range slices.Chunk(changes, 2) {
		name, value, found := change[0], json.RawMessage(change[len(change)-1]), false
		for n := range all {
			if all[n].name == name {
				all[n].value, found = value, true
			}
		}
		if !found {
			all = append(all, member{name, value})
		}
	}
	out := script.Object{}
	for _, m := range all {
		out = append(out, m.name, m.value)
	}
	return script.JSON(out)
}

// unfinished is a response that has nothing to show yet.
func unfinished(response []byte, status string) []byte {
	return with(response, "status", `"`+status+`"`, "background", "true", "output", "[]", "completed_at", "null", "usage", "null")
}

// inputItems reads an input: items, or a text that is one message.
func inputItems(input json.RawMessage) []json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(input, &items) == nil {
		return items
	}
	part := script.Object{"type", "input_text", "text", input}
	return []json.RawMessage{script.JSON(script.Object{"type", "message", "role", "user", "content", script.Array{part}})}
}

// withInput is a request with other input.
func withInput(request []byte, items []json.RawMessage) []byte {
	input := script.Array{}
	for _, i := range items {
		input = append(input, i)
	}
	return with(request, "input", string(script.JSON(input)))
}

// conversation is the input of a stored response and its output. Its thoughts
// are sealed, whether the client asked for that or not: they are its own.
func conversation(c *call, r script.Reply) []json.RawMessage {
	var asked settings
	var response struct {
		Output []json.RawMessage `json:"output"`
	}
	_ = json.Unmarshal(r.Request.Body, &asked) // it was answered
	r.Request.Form, r.Request.Sealed = script.FormUnary, true
	_ = json.Unmarshal(c.provider.Frames(r)[0], &response) // we wrote it
	return append(inputItems(asked.Input), response.Output...)
}

// maxBlocks is more than a reply has blocks: what is numbered from here on has
// ids of its own.
const maxBlocks = 1 << 20

// identified gives items their types and ids, as the API does when it stores
// them, and says the rest as it does: what came is complete, and a text is a part.
func identified(items []json.RawMessage, r script.Reply) []json.RawMessage {
	for i, item := range items {
		var it struct {
			ID      string          `json:"id"`
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Status  string          `json:"status"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(item, &it) != nil {
			continue
		}
		var changes []string
		if it.ID == "" {
			changes = append(changes, "id", `"`+r.ID(prefixOf(it.Type), maxBlocks+i, script.Hex, 50)+`"`)
		}
		if it.Type == "" {
			changes = append(changes, "type", `"message"`)
		}
		if it.Status == "" && prefixOf(it.Type) != unknownPrefix && it.Type != "reasoning" {
			changes = append(changes, "status", `"completed"`)
		}
		if len(it.Content) > 0 && it.Content[0] == '"' {
			changes = append(changes, "content", string(script.JSON(script.Array{textPart(it.Role, it.Content)})))
		}
		items[i] = with(item, changes...)
	}
	return items
}

func textPart(role string, text json.RawMessage) script.Object {
	if role == "assistant" {
		return script.Object{"type", "output_text", "annotations", script.Array{}, "logprobs", script.Array{}, "text", text}
	}
	return script.Object{"type", "input_text", "text", text}
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

func idOf(item json.RawMessage) string {
	var it struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(item, &it) // without an id: none
	return it.ID
}

// mentionsPrevious spares the requests that continue nothing stored a second
// reading.
func mentionsPrevious(body []byte) bool { return bytes.Contains(body, []byte("previous_response_id")) }
