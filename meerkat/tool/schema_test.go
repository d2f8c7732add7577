package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestSchemas: what fits runs, what does not is answered with what is wrong and
// what the tool takes.
func TestSchemas(t *testing.T) {
	const city = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":["integer","null"],"minimum":1}},"required":["city"],"additionalProperties":false}`
	for _, c := range []struct{ schema, args, want string }{
		{city, `{"city":"Oslo"}`, ""},
		{city, `{"city":"Oslo","days":null}`, ""},
		{
			city, `{}`,
			`tool t was not executed: its arguments do not fit: city is required. It takes city (string, required), days (["integer","null"])`,
		},
		{
			city, `{"city":7,"day":1}`,
			`Additional property day is not allowed; city: Invalid type. Expected: string, given: integer. It takes`,
		},
		{city, `{"city":"Oslo","days":0}`, "days: Must be greater than or equal to 1"},
		{city, `{"city":"Oslo","days":1e9999999}`, "days: Invalid type"},
		{
			`{"type":"object","properties":{"n":{"type":"number","maximum":5}}}`, `{"n":1e9999999}`,
			"its arguments cannot be checked",
		},
		{city, `{"city":"Oslo"`, "are not valid JSON"},
		{
			`{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740994}`,
			"n: Must be less than or equal to 9.007199254740993e+15",
		},
		// Newer drafts: what they share is checked.
		{
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://x.test/a","type":"object","$defs":{"n":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/n"},"p":{"prefixItems":[{"type":"string"}]}}}`,
			`{"n":"x"}`, "n: Invalid type",
		},
		{`{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!a)"}}}`, `{"n":1}`, "n: Invalid type"},
		{`{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!a)"}}}`, `{"n":"a"}`, ""},
		{`{"type":"object","patternProperties":{"^(?!a)":{}},"additionalProperties":false}`, `{"b":"a"}`, ""},
		{
			`{"type":"object","properties":{"child":{"$ref":"#"},"v":{"type":"integer"}}}`,
			`{"child":{"child":{"v":"x"}}}`, "child.child.v: Invalid type",
		},
		{`{"type":"object","properties":{"n":{"$ref":"#there","type":"string"}}}`, `{"n":1}`, "n: Invalid type"},
		{
			`{"type":"object","properties":{"o":{"$id":"https://x.test/o","$ref":"#/definitions/s"}},"definitions":{"s":{"type":"string"}}}`,
			`{"o":1}`, "",
		},
		{
			`{"type":"object","properties":{"a":{"$ref":"#/allOf/0"}},"allOf":[{"minProperties":1}]}`, `{"a":{}}`,
			"a: Must have at least 1 properties",
		},
	} {
		s, err := tool.Compile(transcript.RawJSON(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		got, refused := s.RejectCall(transcript.ToolCall{ID: "id", Name: "t", Args: []byte(c.args)})
		if refused != (c.want != "") || !strings.Contains(got.Content, c.want) || refused && (!got.IsError ||
			got.ToolUseID != "id") {
			t.Errorf("%s of %s:\n%s\nwant %s", c.args, c.schema, got.Content, c.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	doubling := `{"type":"object","allOf":[{"$ref":"#/definitions/d0"}],"definitions":{`
	for i := range 40 {
		doubling += fmt.Sprintf(
			`"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1,
		)
	}
	doubling += `"d40":{"type":"object"}}}`
	for schema, want := range map[string]string{
		`[]`:                                  "is not a JSON object",
		`{"type":"object"`:                    "is not a JSON object",
		`{"type":"string"}`:                   `describes "string", and arguments are an object`,
		`{"type":["object","null"]}`:          `describes ["object","null"]`,
		`{"type":"object","properties":5}`:    "is not a valid JSON Schema",
		`{"type":"object","required":"city"}`: "is not a valid JSON Schema",
		`{"$ref":"#"}`:                        "in circles",
		`{"type":"object","anyOf":[{"not":{"$ref":"#/definitions/a"}}],"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`: "in circles",
		strings.Repeat(`{"not":`, 70) + `{}` +
			strings.Repeat(`}`, 70): "nests too deep",
	} {
		if _, err := tool.Compile(transcript.RawJSON(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; want %q", schema, err, want)
		}
	}
	s, err := tool.Compile(transcript.RawJSON(doubling)) // legal, and too much work
	if err != nil {
		t.Fatal(err)
	}
	if got, refused := s.RejectCall(transcript.ToolCall{Name: "t", Args: []byte(`{"a":1}`)}); refused {
		t.Error(got.Content)
	}
}

// TestSchemaStaysHome: no schema opens a connection or a file.
func TestSchemaStaysHome(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { t.Error("somebody asked for", r.URL) },
	))
	defer web.Close()
	for _, ref := range []string{web.URL + "/x.json", "file:///etc/hostname", "x.json", "//h/x"} {
		schema, _ := json.Marshal(map[string]any{
			"type": "object", "$ref": ref, "$id": web.URL, "$schema": web.URL,
			"properties": map[string]any{
				"a": map[string]any{"$ref": ref}, "b": map[string]any{"items": []any{map[string]any{"$ref": ref}}},
			},
			"patternProperties": map[string]any{"x": map[string]any{"if": map[string]any{"$ref": ref}}},
		})
		if s, err := tool.Compile(schema); err != nil {
			t.Error(err)
		} else if _, refused := s.RejectCall(transcript.ToolCall{Args: []byte(`{"a":1}`)}); refused {
			t.Error(ref)
		}
	}
}

// TestNewChecksSchemas and never runs a tool on arguments that do not fit.
func TestNewChecksSchemas(t *testing.T) {
	ran := false
	f := func(context.Context, []byte) (transcript.ToolResult, error) { ran = true; return text("") }
	r := registry(t, tool.Tool{
		Func: f,
		Def:  transcript.ToolDef{Name: "a", InputSchema: transcript.RawJSON(`{"type":"object","required":["x"]}`)},
	})
	if got := r.Dispatch(ctx, transcript.ToolCall{
		Name: "a", Args: []byte(`{}`),
	}); ran || !got.IsError || !strings.Contains(got.Content, "x is required") {
		t.Error(ran, got)
	}
	_, err := tool.New(tool.Tool{
		Func: f, Def: transcript.ToolDef{Name: "a", InputSchema: transcript.RawJSON(`{"type":5}`)},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "tool a: the input schema describes 5") {
		t.Error(err)
	}
}

// FuzzSchema: no schema and no arguments end the run.
func FuzzSchema(f *testing.F) {
	f.Add(
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"integer"}}}`,
		`{"a":1}`,
	)
	f.Add(`{"allOf":[{"$ref":"#"}]}`, `{}`)
	f.Add(`{"$ref":"#/properties/a","properties":{"a":{"$ref":"#/properties/a"}}}`, `{}`)
	f.Add(`{"patternProperties":{"(":{}},"pattern":"["}`, `{"a":1e999999999}`)
	f.Add(
		`{"properties":{"a":{"enum":[1],"format":"date"}},"dependencies":{"a":["b"],"b":{"$ref":"#/dependencies/b"}}}`,
		`{"a":1,"b":2}`,
	)
	f.Add(
		`{"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"},"if":{},"then":{"$ref":"#/else"},"else":true}`,
		`{"a":[[[]]]}`,
	)
	f.Fuzz(func(t *testing.T, schema, args string) {
		s, err := tool.Compile(transcript.RawJSON(schema))
		if err != nil {
			return
		}
		if got, refused := s.RejectCall(transcript.ToolCall{
			ID: "i", Name: "t", Args: []byte(args),
		}); refused && (!got.IsError || got.Content == "" || got.ToolUseID != "i") {
			t.Errorf("%+v", got)
		}
	})
}
