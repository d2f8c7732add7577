package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	coder "github.com/coder/websocket"
)

// openSocket connects a stock client to the simulator.
func openSocket(t *testing.T, url, key string) (*coder.Conn, *http.Response, error) {
	t.Helper()
	conn, resp, err := coder.Dial(t.Context(), url+"/openai/v1/responses",
		&coder.DialOptions{HTTPHeader: http.Header{"Authorization": {key}}})
	if err == nil {
		conn.SetReadLimit(-1)
		t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, resp, err
}

// socketReply is what a test looks at of a reply's last event.
type socketReply struct {
	Type     string
	Status   int
	Headers  map[string]string
	Response struct {
		ID     string
		Output []json.RawMessage
	}
	Error struct{ Code, Message, Param string }
}

// converse sends a message and returns the last event of the reply.
func converseBySocket(t *testing.T, conn *coder.Conn, message string) (last socketReply) {
	t.Helper()
	if err := conn.Write(t.Context(), coder.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	for {
		_, event, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = socketReply{}
		if err := json.Unmarshal(event, &last); err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		switch last.Type {
		case "response.completed", "response.failed", "response.incomplete", "error":
			return last
		}
	}
}

const socketPrompt = `{"type":"response.create","model":"gpt-5.2","store":false,"input":"Call the tool echo with \"heron\".",` + socketTools + `}`

const socketTools = `"tools":[{"type":"function","name":"echo","parameters":{"type":"object","properties":{"text":{"type":"string"}}}}]`

func continued(id string) string {
	return fmt.Sprintf(`{"type":"response.create","model":"gpt-5.2","store":false,"previous_response_id":%q,"input":[{"role":"user","content":"And now?"}]}`, id)
}

func TestSocketContinuesItsLastResponse(t *testing.T) {
	s := httptest.NewServer(New(Config{}))
	defer s.Close()
	conn, resp, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get(Mark) == "" {
		t.Error("the handshake does not say who answers")
	}
	first := converseBySocket(t, conn, socketPrompt)
	if first.Type != "response.completed" || len(first.Response.Output) == 0 {
		t.Fatalf("%+v", first)
	}
	var call struct {
		CallID string `json:"call_id"`
	}
	_ = json.Unmarshal(first.Response.Output[len(first.Response.Output)-1], &call)
	second := converseBySocket(t, conn,
		fmt.Sprintf(`{"type":"response.create","model":"gpt-5.2","store":false,"previous_response_id":%q,%s,
		"input":[{"type":"function_call_output","call_id":%q,"output":"heron"}]}`, first.Response.ID, socketTools, call.CallID))
	if second.Type != "response.completed" || !strings.Contains(string(second.Response.Output[0]), "heron") {
		t.Fatalf("%+v", second)
	}

	// Only the last response is known, and no other connection knows it.
	if got := converseBySocket(t, conn, continued(first.Response.ID)); got.Status != 400 ||
		got.Error.Code != "previous_response_not_found" {
		t.Errorf("an older response: %+v", got)
	}
	other, _, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	if got := converseBySocket(t, other, continued(second.Response.ID)); got.Status != 400 ||
		got.Error.Code != "previous_response_not_found" || got.Error.Param != "previous_response_id" {
		t.Errorf("on another connection: %+v", got)
	}
	if got := converseBySocket(t, other, socketPrompt); got.Type != "response.completed" {
		t.Errorf("the connection does not go on after a refusal: %+v", got)
	}

	// A call without its result is refused, whoever keeps the history; then the
	// response is gone.
	third := converseBySocket(t, conn, socketPrompt)
	if got := converseBySocket(t, conn, continued(third.Response.ID)); got.Status != 400 ||
		!strings.Contains(got.Error.Message, "No tool output found") {
		t.Errorf("an unanswered call: %+v", got)
	}
	if got := converseBySocket(t, conn, continued(third.Response.ID)); got.Error.Code != "previous_response_not_found" {
		t.Errorf("after the refusal: %+v", got)
	}
}

func TestSocketContinuesStoredResponses(t *testing.T) {
	s := httptest.NewServer(New(Config{}))
	defer s.Close()
	conn, _, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	first := converseBySocket(t, conn, `{"type":"response.create","model":"gpt-5.2","input":"hi"}`)
	other, _, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	if got := converseBySocket(t, other, continued(first.Response.ID)); got.Type != "response.completed" {
		t.Errorf("%+v", got)
	}
}

func TestSocketWarmUp(t *testing.T) {
	s := httptest.NewServer(New(Config{}))
	defer s.Close()
	conn, _, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	warm := converseBySocket(t, conn, strings.Replace(socketPrompt, `"store"`, `"generate":false,"store"`, 1))
	if warm.Type != "response.completed" || warm.Response.ID == "" || len(warm.Response.Output) != 0 {
		t.Fatalf("%+v", warm)
	}
	got := converseBySocket(t, conn,
		fmt.Sprintf(`{"type":"response.create","model":"gpt-5.2","store":false,"input":[],"previous_response_id":%q,%s}`, warm.Response.ID, socketTools))
	if got.Type != "response.completed" ||
		!strings.Contains(string(got.Response.Output[len(got.Response.Output)-1]), "heron") {
		t.Errorf("%+v", got)
	}
}

func TestSocketRefusals(t *testing.T) {
	s := httptest.NewServer(New(Config{}))
	defer s.Close()
	for _, key := range []string{"", "Bearer sk-" + longKey} {
		if _, resp, err := openSocket(t, s.URL, key); err == nil || resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("key %q: %v, %v", key, resp, err)
		}
	}
	conn, _, err := openSocket(t, s.URL, "Bearer made-up")
	if err != nil {
		t.Fatal(err)
	}
	for message, want := range map[string]string{
		`{`:             "parse the JSON",
		`{"model":"m"}`: "'response.create'",
		`[]`:            "",
		`{"type":"response.create","model":"gpt-5.2","input":"x","background":true}`: "background",
		`{"type":"response.create","model":"gpt-5.2","input":"x","mystery":1}`:       "mystery",
		`{"type":"response.create","model":"gpt-5.2","input":"x","temperature":9}`:   "temperature",
	} {
		if got := converseBySocket(t, conn, message); got.Status != 400 || !strings.Contains(got.Error.Message, want) ||
			got.Headers["x-simulator"] == "" {
			t.Errorf("%s: %+v", message, got)
		}
	}
}
