package wire

import (
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Client writes the requests of a wire as a client does that loses nothing: what the provider said
// goes back as it came. Its methods are pure and safe for
// concurrent use.
//
// The history of a conversation is a list of JSON texts, the elements of the member that holds the
// conversation. The caller owns it: it appends what Prompt, Replay and Results return and hands the
// whole to Body.
type Client interface {
	// Body returns the body of a request.
	Body(q *Question, history []string) []byte
	// Prompt returns the element in which the user says something, with images.
	Prompt(text string, images ...Image) string
	// Replay returns the elements that send a whole reply back.
	Replay(r *Reply) []string
	// Results returns the elements that answer the calls of the reply before, in their order.
	Results(results []ToolResult) []string
}

var clients wires.Table[Client]

// RegisterClient adds the client of a wire.
func RegisterClient(wire string, c Client) error { return clients.Add(wire, "a client", c) }

// ClientOf returns the client of a wire, nil if the wire is not known or has none.
func ClientOf(provider string) Client { return clients.All()[provider] }

// Question is what a request asks for beside its history.
type Question struct {
	Model, System string
	Stream        bool
	Tools         []ToolDefinition
	// Choice is "" where the model decides, "none", "any", or the name of the tool that must be called.
	Choice string
	// MaxTokens bounds the reply, 0 for the default of the client.
	MaxTokens int
	// Stops are texts at which the reply ends.
	Stops []string
	// Effort is how hard the model thinks: "" leaves it to the provider, else "low", "medium", "high".
	Effort string
	// Adaptive says that the model sets its thinking itself, where the wire knows both forms.
	Adaptive bool
	// Budget is the most tokens that the model thinks, where the wire counts them; 0 for none.
	Budget int
	// Extra are more members of the body, as JSON.
	Extra []Extra
}

// Extra is a member of a request's body.
type Extra struct{ Name, JSON string }

// ToolDefinition is a tool that the client runs. Schema is the JSON Schema of its arguments.
type ToolDefinition struct{ Name, Description, Schema string }

// Image is an image with its media type, such as "image/png", and its bytes in base64.
type Image struct{ Type, Base64 string }

// ToolResult answers the call with an id. Name is that of the tool.
type ToolResult struct {
	ID, Name, Text string
	IsError        bool
	Images         []Image
}

// Object writes JSON objects member by member. The zero value is an empty one.
type Object struct{ text []byte }

// Set adds a member whose value is JSON.
func (o *Object) Set(name, value string) *Object {
	if len(o.text) > 0 {
		o.text = append(o.text, ',')
	}
	o.text = append(append(append(o.text, tree.Quote(name)...), ':'), value...)
	return o
}

// SetText adds a member that is a text; an empty text adds nothing.
func (o *Object) SetText(name, text string) *Object {
	if text == "" {
		return o
	}
	return o.Set(name, string(tree.Quote(text)))
}

// SetAll adds members.
func (o *Object) SetAll(members []Extra) *Object {
	for _, m := range members {
		o.Set(m.Name, m.JSON)
	}
	return o
}

// SetIf adds a member whose value is JSON where a condition holds.
func (o *Object) SetIf(condition bool, name, value string) *Object {
	if condition {
		return o.Set(name, value)
	}
	return o
}

// IsEmpty reports whether the object has no member.
func (o *Object) IsEmpty() bool { return len(o.text) == 0 }

// String returns the object.
func (o *Object) String() string { return "{" + string(o.text) + "}" }

// List writes a JSON array of elements that are JSON.
func List(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

// Quote writes a JSON string.
func Quote(s string) string { return string(tree.Quote(s)) }

// Texts writes a JSON array of strings.
func Texts(list []string) string {
	var elements []string
	for _, text := range list {
		elements = append(elements, Quote(text))
	}
	return List(elements...)
}
