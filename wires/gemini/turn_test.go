package gemini

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// talk is a request with these contents, one string each: a role and its parts.
func talk(contents ...string) string {
	for i, c := range contents {
		role, p, _ := strings.Cut(c, ": ")
		contents[i] = fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, p)
	}
	return `{"contents":[` + strings.Join(contents, ",") + `]}`
}

const (
	user   = `user: {"text":"go"}`
	said   = `model: {"text":"well"}`
	answer = `user: {"functionResponse":{"name":"f","response":{"output":1}}}`
	twice  = `user: {"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"g","response":{}}}`
)

// signedBy is a call of f with {"a":1} signed as s says, with defaults.
func signedBy(s claims) string {
	return fmt.Sprintf(`model: {"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":%q}`,
		s.with().signToken(testKey, 40))
}

// with fills in what a signature of f says when it is right.
func (s claims) with() claims {
	args, _ := parseBody([]byte(`{"a":1}`))
	if s.kind == "" {
		s.kind = "call"
	}
	if s.family == "" {
		s.family = "gemini-3"
	}
	if s.total == 0 {
		s.total = 1
	}
	if s.payload == "" {
		s.payload = payloadOf("f", args)
	}
	return s
}

var called = signedBy(claims{})

func pair() string { return signedBy(claims{total: 2}) + `,{"functionCall":{"name":"g"}}` }

func TestTurnRules(t *testing.T) {
	on := func(model string) string { return strings.Replace(dev, "3.5-flash", model, 1) }
	identified := strings.NewReplacer(`"name":"f"`, `"id":"x","name":"f"`, `"name":"g"`,
		`"id":"y","name":"g"`).Replace(pair())
	checks(t, []ask{
		{name: "role", at: "contents[0].role", body: talk(`assistant: {"text":"a"}`), rule: "G-5",
			message: "Please use a valid role: user, model."},
		{name: "roles", body: talk(user, said, strings.Replace(user, "user", "", 1))},
		{name: "function", body: talk(user, called, strings.Replace(answer, "user", "function", 1))},
		{name: "ends with the model", at: "contents[1]", path: on("3.6-flash"), body: talk(user, said), rule: "G-16",
			message: "Requests ending with a model turn are not supported unless the last part is a function response."},
		{name: "ends with a small model", at: "contents[1]", path: on("3.5-flash-lite"), body: talk(user, said),
			rule:    "G-16",
			message: "Requests ending with a model turn are not supported unless the last part is a function response."},
		{name: "ends with a model that goes on", at: " ", body: talk(user, said)},
		{name: "ends with a model before 3", path: older, body: talk(user, said)},
		{name: "ends with a response", at: " ", path: on("3.6-flash"),
			body: talk(user,
				`model: {"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"},{"functionResponse":{"name":"f","response":{}}}`)},
		{name: "the model alone", at: "contents[1]", path: older, body: talk(said, said), rule: "GEM-T1",
			message: "Please ensure that single turn requests end with a user role or the role field is empty."},
		{name: "the model alone, newer", at: "contents[0]", path: on("3.6-flash"), body: talk(said), rule: "GEM-T1",
			message: "Please ensure that single turn requests end with a user role or the role field is empty."},
		{name: "begins with a call", at: "contents[0].parts[0]", body: talk(called, answer), rule: "G-13",
			message: "Please ensure that function call turn comes immediately after a user turn or after a function response turn."},
		{name: "begins with text", body: talk(said, user)},
		{name: "call after a text", body: talk(user, said, called, answer)},
		{name: "neighbours", body: talk(user, user, called, answer, user)},
		{name: "response to nothing", at: "contents[2].parts[0]", body: talk(user, said, answer), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "response first", at: "contents[0].parts[0]", body: talk(answer), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "responses twice", body: talk(user, called, answer, answer), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "one of two", at: "contents[1].parts[1] contents[2].parts[0]", body: talk(user, pair(), answer),
			rule: "G-15", message: miscounted},
		{name: "two of two, apart", at: "contents[2].parts[0]",
			body: talk(user, pair(), answer, strings.Replace(answer, `"f"`, `"g"`, 1)), rule: "G-15",
			message: miscounted},
		{name: "one of two, then astray", body: talk(user, pair(), answer, user, answer), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "two of two, apart, before 3", path: older, body: talk(user, pair(), answer, answer)},
		{name: "run by the provider", body: talk(user,
			`model: {"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"},{"functionResponse":{"name":"f","response":{}}},{"text":"done"}`, user)},
		{name: "a response of the model without its call",
			body: talk(user, `model: {"text":"a"},{"functionResponse":{"name":"f","response":{}}}`, user), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "one of two, before 3", path: older, body: talk(user, pair(), answer)},
		{name: "two of one", at: "contents[2].parts[0]", body: talk(user, called, twice), rule: "G-15",
			message: miscounted},
		{name: "text for a response", at: "contents[1].parts[0]", body: talk(user, called, user), rule: "G-15",
			message: miscounted},
		{name: "text for a response before 3", at: "contents[1].parts[0]", path: older, body: talk(user, called, user)},
		{name: "a text between", at: "contents[3].parts[0]", body: talk(user, called, user, answer), rule: "G-14",
			message: "Please ensure that function response turn comes immediately after a function call turn."},
		{name: "an id on two calls, before 3", path: older, at: "contents[1].parts[1]",
			body: talk(user, strings.Replace(pair(), `"name"`, `"id":"x","name"`, 2),
				strings.Replace(twice, `"name"`, `"id":"x","name"`, 2))},
		{name: "two of two", body: talk(user, pair(), twice)},
		{name: "calls of two contents", body: talk(user, called,
			`model: {"functionCall":{"name":"g"},"thoughtSignature":"skip_thought_signature_validator"}`, twice)},
		{name: "another name", at: "contents[2].parts[0]",
			body: talk(user, called, strings.Replace(answer, `"f"`, `"call_1"`, 1)), rule: "GEM-C4",
			message: miscounted},
		{name: "another name on Vertex", path: vertex,
			body: talk(user, signedBy(claims{account: "projects/p/locations/global/"}),
				strings.Replace(answer, `"f"`, `"call_1"`, 1)), rule: "GEM-C4",
			message: "Request contains an invalid argument."},
		{name: "another name before 3", path: older,
			body: talk(user, called, strings.Replace(answer, `"f"`, `"call_1"`, 1))},
		{name: "another order", body: talk(user, pair(),
			`user: {"functionResponse":{"name":"g","response":{}}},{"functionResponse":{"name":"f","response":{}}}`)},
		{name: "ids exchanged", at: "contents[2].parts[0] contents[2].parts[1]",
			body: talk(user, identified,
				`user: {"functionResponse":{"id":"y","name":"f","response":{}}},{"functionResponse":{"id":"x","name":"g","response":{}}}`)},
		{name: "ids in another order",
			body: talk(user, identified,
				`user: {"functionResponse":{"id":"y","name":"g","response":{}}},{"functionResponse":{"id":"x","name":"f","response":{}}}`)},
		{name: "id on one side", body: talk(user, called, strings.Replace(answer, `"name"`, `"id":"x","name"`, 1))},
		{name: "another id", body: talk(user, strings.Replace(called, `"name"`, `"id":"y","name"`, 1),
			strings.Replace(answer, `"name"`, `"id":"x","name"`, 1)), rule: "G-32",
			message: "Function response id does not match any function call id."},
		{name: "another id, live", level: rule.Live,
			body: talk(user, strings.Replace(called, `"name"`, `"id":"y","name"`, 1),
				strings.Replace(answer, `"name"`, `"id":"x","name"`, 1))},
		{name: "an id twice", body: talk(user, strings.Replace(pair(), `"name"`, `"id":"x","name"`, 1),
			strings.Replace(twice, `"name"`, `"id":"x","name"`, 2)), rule: "G-32",
			message: "Function response id does not match any function call id."},
		{name: "one id", body: talk(user, strings.Replace(called, `"name"`, `"id":"mine","name"`, 1),
			strings.Replace(answer, `"name"`, `"id":"mine","name"`, 1))},
	})
}

func TestSignatureRules(t *testing.T) {
	const missing = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:f` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
	bare := `model: {"functionCall":{"name":"f","args":{"a":1}}}`
	signature := strings.Split(called, `"`)[13]
	altered := func(edit func(string) string) string {
		return talk(user, strings.Replace(called, signature, edit(signature), 1), answer)
	}
	on := func(p string) string { return fmt.Sprintf(`{%s,"thoughtSignature":%q}`, p, signature) }
	invalid := "Invalid thought signature."
	checks(t, []ask{
		{name: "signed", body: talk(user, called, answer)},
		{name: "unsigned", at: "contents[1].parts[0]", body: talk(user, bare, answer), rule: "G-17", message: missing},
		{name: "unsigned at the least level", path: strings.Replace(dev, "3.5-flash", "3-flash-preview", 1),
			body: strings.Replace(talk(user, bare, answer), `{"contents"`,
				`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"MINIMAL"}},"contents"`, 1), rule: "G-17",
			message: missing},
		{name: "unsigned on Vertex", path: vertex, body: talk(user, bare, answer), rule: "G-17",
			message: "Unable to submit request because function call `default_api:f` in the 2. content block is missing a `thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"},
		{name: "unsigned before 3", path: older, body: talk(user, bare, answer)},
		{name: "unsigned in a closed turn", at: " ", body: talk(user, bare, answer, said, user)},
		{name: "unsigned second step", body: talk(user, called, answer, bare, answer), rule: "G-17",
			message: strings.Replace(missing, "position 2", "position 4", 1)},
		{name: "unsigned second call", body: talk(user, pair(), twice)},
		{name: "first of two unsigned",
			body: talk(user, `model: {"functionCall":{"name":"f"}},`+strings.TrimPrefix(called, "model: "),
				strings.Replace(twice, `"g"`, `"f"`, 1)), rule: "G-17", message: missing},
		{name: "on the response", body: talk(user, bare, "user: "+on(`"functionResponse":{"name":"f","response":{}}`)),
			rule: "G-21", message: missing},
		{name: "on both", body: talk(user, called, "user: "+on(`"functionResponse":{"name":"f","response":{}}`))},
		{name: "stand-in", body: talk(user,
			strings.Replace(called, signature, "skip_thought_signature_validator", 1), answer)},
		{name: "stand-in in base64", body: talk(user,
			strings.Replace(called, signature, "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", 1), answer)},
		{name: "the other stand-in", body: talk(user,
			strings.Replace(called, signature, "context_engineering_is_the_way_to_go", 1), answer)},
		{name: "the other stand-in on Vertex", path: vertex,
			body: talk(user, strings.Replace(called, signature, "context_engineering_is_the_way_to_go", 1), answer),
			rule: "G-18", message: "Unable to submit request because Thought signature is not valid."},
		{name: "stand-in on a text", body: talk(user,
			`model: {"text":"a","thoughtSignature":"skip_thought_signature_validator"}`, user), rule: "G-18",
			message: invalid},
		{name: "altered", body: altered(func(s string) string { return s[:50] + "A" + s[51:] + "" }), rule: "G-18",
			message: invalid},
		{name: "cut", body: altered(func(s string) string { return s[:len(s)-8] }), rule: "G-18", message: invalid},
		{name: "foreign", body: altered(func(string) string { return strings.Repeat("RXJ1", 80) }), rule: "G-18",
			message: invalid},
		{name: "the other alphabet, no padding", body: altered(func(s string) string {
			return strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(s), "=")
		})},
		{name: "another model's words", path: strings.Replace(dev, "3.5-flash", "3-flash-preview", 1),
			body: talk(user, signedBy(claims{account: "x"}), answer), rule: "G-18",
			message: "Corrupted thought signature."},
		{name: "another account", header: "x-goog-api-key: k@other", body: talk(user, called, answer), rule: "G-18",
			message: invalid},
		{name: "this account", header: "x-goog-api-key: k@other",
			body: talk(user, signedBy(claims{account: "other"}), answer)},
		{name: "another family", path: strings.Replace(dev, "3.5-flash", "4-argon", 1),
			body: talk(user, called, answer), rule: "G-18", message: invalid},
		{name: "another model of the family", path: strings.Replace(dev, "3.5-flash", "3.1-pro-preview", 1),
			body: talk(user, called, answer)},
		{name: "of a text", body: talk(user, signedBy(claims{kind: "text"}), answer), rule: "G-18", message: invalid},
		{name: "on a text", body: talk(user, "model: "+on(`"text":"a"`), user), rule: "G-18", message: invalid},
		{name: "altered in a closed turn", body: talk(user, signedBy(claims{account: "x"}), answer, said, user),
			rule: "G-18", message: invalid},
		{name: "altered in a closed turn, live", level: rule.Live,
			body: talk(user, signedBy(claims{account: "x"}), answer, said, user)},
		{name: "another argument", body: strings.Replace(talk(user, called, answer), `{"a":1}`, `{"a":2}`, 1),
			rule: "GEM-S4", message: invalid},
		{name: "another argument, live", level: rule.Live,
			body: strings.Replace(talk(user, called, answer), `{"a":1}`, `{"a":2}`, 1)},
		{name: "other spelling", body: strings.Replace(talk(user, called, answer), `{"a":1}`,
			"{ \"\\u0061\" :\t1.0}", 1)},
		{name: "used twice", body: talk(user, called, answer, called, answer), rule: "GEM-S4", message: invalid},
		{name: "a call left out", body: talk(user, signedBy(claims{total: 2}), answer), rule: "GEM-S4",
			message: invalid},
		{name: "calls swapped", body: talk(user,
			`model: {"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"},`+
				strings.TrimPrefix(signedBy(claims{total: 2}), "model: "), strings.Replace(twice, `"g"`, `"f"`, 1)),
			rule: "GEM-S4", message: invalid},
		{name: "server tool", body: talk(user, `model: {"toolCall":{"id":"1"}}`, user), rule: "GEM-S9",
			message: "Request contains an invalid argument."},
		{name: "server tool before 3", path: older, body: talk(user, `model: {"toolCall":{"id":"1"}}`, user)},
	})
}

// TestNotes holds that a bad signature is named for people.
func TestNotes(t *testing.T) {
	for body, want := range map[string]string{
		talk(user, signedBy(claims{account: "x"}),
			answer): "contents[1].parts[0]: the signature was issued to another account",
		talk(user, signedBy(claims{family: "gemini-4"}),
			answer): "contents[1].parts[0]: the signature was issued by another generation of models, gemini-4",
		talk(user, signedBy(claims{total: 3}),
			answer): "contents[1].parts[0]: the reply had 3 calls, the content has 1",
		strings.Replace(talk(user, called, answer), `"name":"f","args"`, `"name":"g","args"`, 1): "",
	} {
		got := Parse(ask{}.request(), []byte(body)).Check(rule.Env{Key: testKey})
		if got == nil || want != "" && got.Note != want {
			t.Errorf("%s: %+v, want the note %q", body, got, want)
		}
	}
}

// TestCount holds that a count is checked as far as it is read.
func TestCount(t *testing.T) {
	path := strings.Replace(dev, unary, count, 1)
	checks(t, []ask{
		{name: "contents", path: path, body: hello},
		{name: "a request", path: path, body: `{"generateContentRequest":{"model":"models/gemini-3.5-flash",` +
			hello[1:] + `}`},
		{name: "no turn order", path: path, body: talk(user, said)},
		{name: "neither", path: path, body: `{"generateContentRequest":{}}`, rule: "G-4",
			message: "* GenerateContentRequest.contents: contents is not specified\n"},
		{name: "a tool", path: path, body: `{"tools":[],` + hello[1:], rule: "G-3",
			message: `Invalid JSON payload received. Unknown name "tools": Cannot find field.`},
	})
}

// TestLoop holds that what the simulator says is accepted when it comes back,
// whatever the form, and that a change of it is not.
func TestLoop(t *testing.T) {
	for _, model := range []string{"gemini-3-pro-preview", "gemini-3.5-flash", "gemini-4-argon"} {
		path := "/v1beta/models/" + model + ":generateContent"
		reply := script.Reply{
			Request: script.Request{Model: model, Form: script.FormUnary, Shown: true, Body: []byte(hello)},
			Blocks: []script.Block{
				{Kind: specs.KindThinking, Parts: []string{"Both at once."}}, {Kind: specs.KindText, Text: "I call."},
				{Kind: specs.KindCall, Name: "f", Args: []byte(`{"n": 1.0, "t": "é<"}`)},
				{Kind: specs.KindCall, Name: "g"},
			},
			Seed: "loop", Key: testKey, At: time.Unix(0, 0),
		}
		doc, fault := parseBody(Provider{}.Frames(reply)[0])
		if fault != "" {
			t.Fatal(fault)
		}
		p := elementsOf(doc.Given("candidates"))[0].Given("content")
		back := fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":"go"}]},%s,{"role":"user","parts":[{"functionResponse":{"name":"f"%[2]s,"response":{}}},{"functionResponse":{"name":"g"%[3]s,"response":{}}}]}]}`,
			p.Raw(), idOf(p, 0), idOf(p, 1))
		a := ask{path: path, body: back}
		if got := Parse(a.request(), []byte(back)).Check(rule.Env{Key: testKey}); got != nil {
			t.Fatalf("%s: %v: %s\n%s", model, got, got.Note, back)
		}
		edited := strings.Replace(back, "é", "e", 1)
		if got := Parse(a.request(), []byte(edited)).Check(rule.Env{Key: testKey}); got == nil || got.Rule != "GEM-S4" {
			t.Errorf("%s: an edited argument: %v", model, got)
		}
		if got := Parse(a.request(), []byte(back)).Check(rule.Env{}); got == nil || got.Rule != "G-18" {
			t.Errorf("%s: another key: %v", model, got)
		}
		if got := Parse(a.request(), []byte(back)).Check(rule.Env{ForeignTokens: true}); got != nil {
			t.Errorf("%s: another key, foreign seals accepted: %v", model, got)
		}
	}
}

func idOf(c *tree.Node, call int) string {
	list := elementsOf(c.Given("parts"))
	var ids []string
	for i := range list {
		if f := list[i].Given("functionCall"); f != nil {
			ids = append(ids, f.Given("id").Text())
		}
	}
	if ids[call] == "" {
		return ""
	}
	return fmt.Sprintf(`,"id":%q`, ids[call])
}

func TestModels(t *testing.T) {
	seen := map[string]bool{}
	for token := ""; ; {
		doc, fault := parseBody(Models(5, token))
		if fault != "" {
			t.Fatal(fault)
		}
		list := elementsOf(doc.Given("models"))
		if len(list) > 5 {
			t.Fatalf("%d models on a page of 5", len(list))
		}
		for _, m := range list {
			seen[m.Given("name").Text()] = true
		}
		if token = doc.Given("nextPageToken").Text(); token == "" {
			break
		}
	}
	if len(seen) != len(Served()) {
		t.Errorf("%d models on the pages, %d are served", len(seen), len(Served()))
	}
	for _, name := range []string{"gemini-3.5-flash", "models/gemini-3.5-flash"} {
		if body, ok := Model(name); !ok || !strings.Contains(string(body), `"thinking": true`) ||
			!strings.Contains(string(body), `"inputTokenLimit": 1048576`) {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, ok := Model("gemini-9"); ok {
		t.Error("gemini-9 is served")
	}
	if got := string(Parse(ask{path: strings.Replace(dev, unary, count, 1)}.request(), []byte(hello)).CountTokens()); !strings.Contains(got, `"totalTokens": 2`) {
		t.Errorf("count %s", got)
	}
}

func BenchmarkCheck(b *testing.B) {
	body := []byte(talk(user, called, answer))
	r := ask{}.request()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if got := Parse(r, body).Check(rule.Env{Key: testKey}); got != nil {
			b.Fatal(got)
		}
	}
}

// TestArgumentsAreAStruct holds that a client may spell arguments as a protobuf
// Struct keeps them, and not otherwise.
func TestArgumentsAreAStruct(t *testing.T) {
	digest := func(args string) string {
		n, err := parseBody([]byte(args))
		if err != "" {
			t.Fatal(err)
		}
		return payloadOf("f", n)
	}
	issued := digest(`{"text":"1","z":1.0,"a":12345678901234567890,"n":1e3,"i":9007199254740993,"text":"2"}`)
	for args, same := range map[string]bool{
		`{"a":12345678901234567000,"i":9007199254740992,"n":1000,"text":"2","z":1}`: true,
		`{"a":12345678901234567000,"i":9007199254740992,"n":1000,"text":"1","z":1}`: false,
		`{"a":12345678901234567000,"i":9007199254740994,"n":1000,"text":"2","z":1}`: false,
	} {
		if got := digest(args) == issued; got != same {
			t.Errorf("%s: same %v, want %v", args, got, same)
		}
	}
}
