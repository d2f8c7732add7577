package toolserver

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/wires/wire"
)

type tool struct {
	name, about, schema string
	// run returns the result of a call. Its error is the tool's: the model reads it.
	run func(arguments json.RawMessage) (sdk.Content, error)
}

// slow is the tool before whose result the server waits.
const slow = "conform_slow"

func toolList() []tool {
	return []tool{
		{"conform_echo", "Returns the text it is given.", echoSchema, echoText},
		{"conform_fail", "Always fails.", emptySchema, failAlways},
		{"conform_noargs", "Takes no arguments and returns ok.", emptySchema,
			func(json.RawMessage) (sdk.Content, error) { return &sdk.TextContent{Text: "ok"}, nil }},
		{slow, "Waits for some seconds and returns ok.", slowSchema, sayWaited},
		{"conform_large", "Returns a text of so many bytes, 65536 unless told otherwise.", largeSchema, longText},
		{"conform_image", "Returns a small image of a red square.", emptySchema, redSquare},
		{"conform_awkward", "Returns its arguments as they arrived.", awkwardSchema, returnArguments},
	}
}

// Tools returns the definitions of the tools, for a client that offers them without MCP.
func Tools() (list []wire.ToolDefinition) {
	for _, t := range toolList() {
		list = append(list, wire.ToolDefinition{Name: t.name, Description: t.about, Schema: t.schema})
	}
	return list
}

// Run returns the result that the server gives for a call, without the wait of conform_slow. What a tool
// says of its failure is its result.
func Run(name, arguments string) wire.ToolResult {
	r := wire.ToolResult{Name: name}
	i := slices.IndexFunc(toolList(), func(t tool) bool { return t.name == name })
	if i < 0 {
		r.Text, r.IsError = fmt.Sprintf("there is no tool named %q", name), true
		return r
	}
	content, err := toolList()[i].run(json.RawMessage(arguments))
	switch content := content.(type) {
	case *sdk.TextContent:
		r.Text = content.Text
	case *sdk.ImageContent:
		r.Images = []wire.Image{{Type: content.MIMEType, Base64: base64.StdEncoding.EncodeToString(content.Data)}}
	}
	if err != nil {
		r.Text, r.IsError = err.Error(), true
	}
	return r
}

// mcpDefinition is the tool as clients see it.
func (t tool) mcpDefinition() *sdk.Tool {
	no := false
	return &sdk.Tool{
		Name: t.name, Description: t.about, InputSchema: json.RawMessage(t.schema),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no,
			OpenWorldHint: &no},
	}
}

const emptySchema = `{"type":"object","properties":{}}`

const echoSchema = `{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]}`

func echoText(arguments json.RawMessage) (sdk.Content, error) {
	var in struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil || in.Text == nil {
		return nil, errors.New("the argument text must be a string")
	}
	return &sdk.TextContent{Text: *in.Text}, nil
}

func failAlways(json.RawMessage) (sdk.Content, error) {
	return nil, errors.New("this tool always fails")
}

// maxSeconds is the longest wait of conform_slow, maxBytes the longest result of
// conform_large and defaultBytes the one without arguments.
const (
	maxSeconds   = 60
	maxBytes     = 1 << 20
	defaultBytes = 64 << 10
)

var slowSchema = fmt.Sprintf(`{"type":"object","properties":{"seconds":{"type":"integer","minimum":1,"maximum":%d,"description":"How long to wait."}},"required":["seconds"]}`, maxSeconds)

func sayWaited(arguments json.RawMessage) (sdk.Content, error) {
	if secondsOf(arguments) == 0 {
		return nil, fmt.Errorf("the argument seconds must be a number from 1 to %d", maxSeconds)
	}
	return &sdk.TextContent{Text: "ok"}, nil
}

// secondsOf returns how long a call of conform_slow waits, 0 if its arguments are not as its schema asks.
func secondsOf(arguments json.RawMessage) int {
	var in struct {
		Seconds int `json:"seconds"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil || in.Seconds < 1 || in.Seconds > maxSeconds {
		return 0
	}
	return in.Seconds
}

var largeSchema = fmt.Sprintf(`{"type":"object","properties":{"bytes":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How long the text is."}}}`, maxBytes, defaultBytes)

func longText(arguments json.RawMessage) (sdk.Content, error) {
	var in struct {
		Bytes int `json:"bytes"`
	}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &in); err != nil || in.Bytes < 0 || in.Bytes > maxBytes {
			return nil, fmt.Errorf("the argument bytes must be a number from 1 to %d", maxBytes)
		}
	}
	return &sdk.TextContent{Text: numberedLines(cmp.Or(in.Bytes, defaultBytes))}, nil
}

// numberedLines is a text of n bytes. No two of its lines are equal, so that a part
// that is missing shows.
func numberedLines(n int) string {
	text := make([]byte, 0, n+64)
	for line := 1; len(text) < n; line++ {
		text = fmt.Appendf(text, "line %06d of a result that is long\n", line)
	}
	return string(text[:n])
}

func redSquare(json.RawMessage) (sdk.Content, error) {
	square := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 16 * 16 {
		square.Set(i%16, i/16, color.RGBA{R: 0xd0, A: 0xff})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, square); err != nil {
		return nil, err
	}
	return &sdk.ImageContent{Data: out.Bytes(), MIMEType: "image/png"}, nil
}

// awkwardSchema asks for what a careless client changes: nested objects, names and
// values beyond ASCII, null, integers beyond 2^53, a pattern, a choice of types. The
// names of declared properties are ASCII, because providers refuse others; those of
// labels are free.
const awkwardSchema = `{"type":"object","properties":{` +
	`"id":{"type":"integer","description":"Any integer, however large."},` +
	`"kind":{"type":"string","enum":["plain","größer","鳥"]},` +
	`"note":{"type":["string","null"]},` +
	`"code":{"type":"string","pattern":"^[a-z]{2,8}-[0-9]{1,4}$"},` +
	`"labels":{"type":"object","additionalProperties":{"type":"string"}},` +
	`"nested":{"type":"object","properties":{` +
	`"list":{"type":"array","items":{"type":"object","properties":{"value":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["value"]}},` +
	`"deep-er":{"type":"object","properties":{"is_set":{"type":"boolean"}}}},"required":["list"]}` +
	`},"required":["id","kind","nested"]}`

func returnArguments(arguments json.RawMessage) (sdk.Content, error) {
	return &sdk.TextContent{Text: string(arguments)}, nil
}
