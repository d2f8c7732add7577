package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
)

// A document in a document in a document is looked into, but not without an end.
func TestNestedDocumentsEnd(t *testing.T) {
	document := `{"api_key":"ak_R0nd0m9v4lu3t7hat1s5s3cret"}`
	for range jsonscan.DeepestNested {
		document = `{"config":` + quotedJSON(document) + `}`
	}
	deep := simple()
	deep.Request.Body = []byte(document)
	if out := New([]byte("k")).Interaction(deep); strings.Contains(string(out.Request.Body), "R0nd0m9") {
		t.Errorf("leaks: %s", out.Request.Body)
	}
	for range 8 { // its escapes double each time
		document = `{"config":` + quotedJSON(document) + `}`
	}
	deep.Request.Body = []byte(document)
	New([]byte("k")).Interaction(deep)
}

func quotedJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestArgumentsInEachForm holds that the arguments of a tool's call are searched alike whether a wire writes
// them as a string or as an object, in a request and in a reply, and that what is none stays in both.
func TestArgumentsInEachForm(t *testing.T) {
	const secret = "hT4kQz8WmX2vLr6NbY3pJc9D"
	forms := map[string]func(arguments string) string{
		"Anthropic": func(a string) string {
			return `{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"t","input":` + a + `}]}`
		},
		"Gemini": func(a string) string {
			return `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"t","args":` +
				a + `}}]}}]}`
		},
		"Responses": func(a string) string {
			return `{"output":[{"type":"function_call","call_id":"call_1","name":"t","arguments":` +
				quotedJSON(a) + `}]}`
		},
		"Chat": func(a string) string {
			return `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"t","arguments":` + quotedJSON(a) + `}}]}}]}`
		},
	}
	for arguments, isSecret := range map[string]bool{
		`{"command":"mycli","args":["--token","VALUE"]}`:                                   true,
		`{"command":"mycli","args":["--password","VALUE"],"env":{"MODE":"fast"}}`:          true,
		`{"command":"x","env":{"WHATEVER":"VALUE"}}`:                                       true,
		`{"url":"https://h.example.com","headers":{"X-Whatever":"VALUE"}}`:                 true,
		`{"headers":[["X-Api-Key","VALUE"]]}`:                                              true,
		`{"command":["curl","-u","bob:VALUE","https://h.example.com"]}`:                    true,
		`{"a":{"b":[{"headers":[{"name":"X-Api-Key","value":"VALUE"}]}]}}`:                 true,
		`{"command":"mycli","args":["--output","VALUE"]}`:                                  false,
		`{"path":"main.go","content":"VALUE","input":{"args":["--output","VALUE"]}}`:       false,
		`{"headers":[["X-Request-Id","VALUE"]],"env":{"LANG":"C"},"args":["-u","nobody"]}`: false,
	} {
		for form, write := range forms {
			in := simple()
			body := []byte(write(strings.ReplaceAll(arguments, "VALUE", secret)))
			in.Request.Body = body
			in.Response.Body = body
			for side, out := range map[string][]byte{"request": New([]byte("k")).Interaction(in).Request.Body,
				"reply": New([]byte("k")).Interaction(in).Response.Body} {
				if isGone := !strings.Contains(string(out), secret); isGone != isSecret {
					t.Errorf("%s, %s: became %s", form, side, out)
				}
			}
		}
	}
}
