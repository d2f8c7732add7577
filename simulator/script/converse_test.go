package script

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/xeipuuv/gojsonschema"
	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
)

func schema(t *testing.T, text string) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFill holds that the arguments fulfil the schemas that tools have.
func TestFill(t *testing.T) {
	for _, text := range []string{
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		`{"type":"object","properties":{},"additionalProperties":false}`,
		`{"type":"object"}`,
		`{"type":"object","properties":{"unit":{"enum":["c","f"]},"n":{"type":"integer","minimum":3,"maximum":9},"x":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":9},"y":{"type":"number","exclusiveMinimum":1}},"required":["unit","n","x","y"]}`,
		`{"type":"object","properties":{"n":{"type":"integer","multipleOf":5,"minimum":7},"m":{"type":"integer","maximum":-3}},"required":["n","m"]}`,
		`{"type":"object","properties":{"a":{"type":["null","string"],"maxLength":3},"b":{"type":"string","minLength":40}},"required":["a","b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"at":{"type":"string","format":"date-time"},"of":{"type":"string","format":"uri"},"id":{"type":"string","format":"uuid"}},"required":["at","of","id"]}`,
		`{"type":"object","properties":{"list":{"type":"array","minItems":3,"items":{"type":"object","properties":{"k":{"const":7}},"required":["k"]}}},"required":["list"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"anyOf":[{"type":"null"},{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}]}}}`,
		`{"type":"object","properties":{"id":{"type":"string","pattern":"^[A-Z]{2}-\\d{4}(/[a-f]+)?$"},"or":{"type":"string","pattern":"^(red|blue)+\\.$"},"word":{"type":"string","pattern":"^w"}},"required":["id","or","word"]}`,
		`{"type":"array","items":{"type":"string"},"minItems":3,"uniqueItems":true}`,
		`{"type":"array","items":{"type":"integer","multipleOf":5},"minItems":3,"uniqueItems":true}`,
		`{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`,
		`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}],"properties":{"c":{"type":"boolean"}},"required":["c"]}`,
		`{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`,
		`{"type":"object","properties":{"a":{"const":null},"b":{"type":"null"}},"required":["a","b"]}`,
		`{"type":"object","minProperties":2,"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["c"]}`,
		`{"type":"object","properties":{"a":{"default":"x","type":"string"},"b":{"examples":[2],"type":"integer"}},"required":["a","b"]}`,
	} {
		got := JSON(fillSchema(schema(t, text), "word"))
		result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(text), gojsonschema.NewBytesLoader(got))
		if err != nil {
			t.Fatal(err)
		}
		if !result.Valid() {
			t.Errorf("%s\ndoes not fulfil %s: %v", got, text, result.Errors())
		}
	}
}

// TestFillOfGemini holds that types in capitals and counts in strings are read.
func TestFillOfGemini(t *testing.T) {
	got := string(JSON(fillSchema(schema(t,
		`{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"type":"INTEGER"},"minItems":"2"}},"required":["a"]}`), "w")))
	if want := `{"a":[1,1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFillEnds holds that a schema that contains itself is filled, too.
func TestFillEnds(t *testing.T) {
	_ = fillSchema(schema(t, `{"$ref":"#"}`), "w")
	_ = fillSchema(schema(t, `{"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]}`), "w")
	_ = fillSchema(schema(t, `{"anyOf":[{"$ref":"#/anyOf/0"}]}`), "w")
}

// TestFillOfAnything holds that no schema stops the simulator.
func TestFillOfAnything(t *testing.T) {
	keys := []string{"type", "properties", "required", "items", "enum", "anyOf", "minItems", "maxLength", "minimum",
		"multipleOf", "$ref", "default"}
	leaf := rapid.OneOf(rapid.Just[any](nil),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]string{"object", "array", "#", "string", "7"}), func(s string) any { return s }))
	var node func(depth int) *rapid.Generator[any]
	node = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(node(depth-1), 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom(keys), node(depth-1), 0, 4),
				func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.MapOfN(rapid.SampledFrom(keys), node(3), 0, 5).Draw(t, "schema")
		if !json.Valid(JSON(fillSchema(s, "word"))) {
			t.Fatal("no JSON")
		}
	})
}

func emitted(blocks []specs.Block) string {
	var all []string
	for _, b := range blocks {
		all = append(all, string(b.Kind)+" "+b.Role+b.Text+string(b.Args))
	}
	return strings.Join(all, "; ")
}

func TestConverse(t *testing.T) {
	echo := Tool{Name: "echo", Schema: schema(t,
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
	bash, look := Tool{Name: "Bash", Schema: echo.Schema}, Tool{Name: "mcp__x__look"}
	for _, c := range []struct {
		name string
		ask  Intent
		want string // a part of what is emitted
	}{
		{"no tools", Intent{Prompt: "How are you?"}, "text You wrote: How are you? I am"},
		{"a quoted answer", Intent{Prompt: `Say "heron".`}, "text heron"},
		{"a harmless tool", Intent{Prompt: "Go.", Tools: []Tool{bash, echo}}, `call echo{"text":"example"}`},
		{"the quoted argument", Intent{Prompt: `Use echo with "heron"`, Tools: []Tool{look, echo}},
			`call echo{"text":"heron"}`},
		{"two tools named", Intent{Prompt: "First bash, then echo", Tools: []Tool{bash, echo}},
			`call Bash{"text":"example"}; call echo{`},
		{"no part of a word", Intent{Prompt: "echoes", Tools: []Tool{look, echo}}, "call mcp__x__look{}"},
		{"nothing harmless", Intent{Prompt: "Go.", Tools: []Tool{bash}}, "text You wrote: Go."},
		{"forced", Intent{Prompt: "Go.", Tools: []Tool{bash}, Choice: ChoiceAny}, "call Bash"},
		{"forced one", Intent{Prompt: "Go.", Tools: []Tool{echo, bash}, Choice: "Bash"}, "call Bash"},
		{"forbidden", Intent{Prompt: "echo", Tools: []Tool{echo}, Choice: ChoiceNone}, "text You wrote"},
		{"after a call", Intent{Prompt: "echo", Tools: []Tool{echo}, Calls: []Called{{"echo", "heron"}}},
			"text The tool echo answered: heron."},
		{"a value", Intent{Prompt: "x", Schema: map[string]any{"enum": []any{"red", "blue"}}, Bare: true}, "text red"},
		{"a form", Intent{Prompt: "x", Schema: echo.Schema}, `text {"text":"example"}`},
	} {
		if got := emitted(autoBlocks(c.ask)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestAside(t *testing.T) {
	for _, c := range []struct {
		ask  Intent
		want string
	}{
		{Intent{System: "You are a title generator. You output ONLY a thread title.",
			Prompt: "Mend the parser of dates, please"}, "Mend the parser of dates"},
		{Intent{Prompt: "quota", Limit: 1}, "OK"},
		{Intent{Prompt: "quota", Limit: 1, Tools: []Tool{{Name: "echo"}}}, ""},
		{Intent{Prompt: "Generate a title for this", Tools: []Tool{{Name: "echo"}}}, ""},
		{Intent{Prompt: "Write a book"}, ""},
		{Intent{Prompt: "Please write a 5-10 word title for the following conversation:\n\n",
			Schema: map[string]any{"type": "object",
				"properties": map[string]any{"title": map[string]any{"type": "string"}}}},
			`{"title":"Please write a 5-10 word"}`},
	} {
		said, _, ok := SideTraffic(c.ask)
		if ok != (c.want != "") || ok && said[0].Text != c.want {
			t.Errorf("%+v: %+v, %t; want %q", c.ask, said, ok, c.want)
		}
	}
}

// TestImprovised holds that what a reply draws at random depends on its request,
// and thoughts on what the request allows.
func TestImprovised(t *testing.T) {
	say := autoBlocks(Intent{Prompt: "x"})
	one := Generated(Request{Provider: "p", Body: []byte("1"), Thinks: true}, say, "", seal.Key{}, time.Time{})
	two := Generated(Request{Provider: "p", Body: []byte("2")}, say, "", seal.Key{}, time.Time{})
	if one.ID("x", 0, Hex, 8) == two.ID("x", 0, Hex, 8) {
		t.Error("two requests have the same ids")
	}
	if len(one.Blocks) != 2 || one.Blocks[0].Parts != nil || len(two.Blocks) != 1 {
		t.Errorf("thoughts: %+v and %+v", one.Blocks, two.Blocks)
	}
}

// TestLimit holds that an answer that is too long is a beginning of the whole
// one, says so, and keeps to the limit as usage counts it.
func TestLimit(t *testing.T) {
	echo := Tool{Name: "echo", Schema: schema(t,
		`{"type":"object","properties":{"text":{"type":"string","minLength":60}},"required":["text"]}`)}
	for _, a := range []Intent{{Prompt: "Tell me about 🦩🦩🦩🦩 and herons and kestrels."},
		{Prompt: "echo", Tools: []Tool{echo}}} {
		whole, stop := AutoReply(a)
		if stop != "" {
			t.Errorf("without a limit it stops for %s", stop)
		}
		for a.Limit = 2; a.Limit < 200; a.Limit++ {
			got, stop := AutoReply(a)
			all, _ := Generated(Request{Thinks: true, Shown: true}, got, stop, seal.Key{}, time.Time{}).OutputTokens()
			short := len(got) < len(whole) || emitted(got) != emitted(whole)
			if all > max(a.Limit, 17) || short != (stop == specs.StopMaxTokens) {
				t.Fatalf("limit %d: %d tokens, stop %q: %s", a.Limit, all, stop, emitted(got))
			}
			for i, b := range got {
				if !strings.HasPrefix(whole[i].Text, b.Text) || !strings.HasPrefix(string(whole[i].Args),
					string(b.Args)) || b.Partial != (string(b.Args) != string(whole[i].Args)) {
					t.Fatalf("limit %d: block %d is %+v", a.Limit, i, b)
				}
			}
		}
		if got, stop := AutoReply(a); stop != "" || emitted(got) != emitted(whole) {
			t.Errorf("with room enough: %q %s", stop, emitted(got))
		}
	}
}
