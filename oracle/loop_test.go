package oracle

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// play is the scenario of the loops: a turn with calls side by side, a second
// round, an answer; and after a second prompt one more round. WITH is what a test
// adds to its first turn.
const play = `Rounds of tools, with calls side by side.
requirements: ORD-001
-- scenario.yaml --
title: rounds of tools
providers:
  anthropic: {model: claude-opus-4-5}
  openai: {model: gpt-5.5}
  gemini: {model: gemini-3.5-flash}
  chat: {model: deepseek-v4-pro}
player:
  - prompt: go
turns:
  - emit:
      - thinking: Three calls that do not need each other.
      - text: Calling three.
      - call: {role: echo, args: '{"text": "alpha"}'}
      - call: {role: noargs}
      - call: {role: echo, args: '{"text": "beta"}'}
WITH
  - emit:
      - thinking: [They are back., One is missing.]
      - call: {role: echo, args: '{"text": "gamma"}'}
  - emit:
      - thinking: Now I can answer.
      - text: They answered alpha, ok, beta and gamma.
  - emit:
      - thinking: Once more.
      - call: {role: echo, args: '{"text": "delta \"ü\" 🦊"}'}
  - emit:
      - text: And delta.
`

// played is what a client has seen when the scenario is over.
var played = []string{
	"thought", "Calling three.", `echo {"text":"alpha"}`, `noargs {}`, `echo {"text":"beta"}`,
	"thought", `echo {"text":"gamma"}`,
	"thought", "They answered alpha, ok, beta and gamma.",
	"thought", `echo {"text":"delta \"ü\" 🦊"}`,
	"And delta.",
}

// call is a tool call as an SDK gave it.
type call struct{ id, name, args string }

// said is one turn of the model as an SDK gave it, in order.
type said struct {
	items []string // as in played
	calls []call
}

func (s *said) thought()         { s.items = append(s.items, "thought") }
func (s *said) text(text string) { s.items = append(s.items, text) }

func (s *said) call(id, name string, args []byte) {
	c := call{id, strings.TrimPrefix(name, "conform_"), canonical(args)}
	s.items, s.calls = append(s.items, c.name+" "+c.args), append(s.calls, c)
}

// talker holds a conversation by the means of an SDK, and its history as the SDK
// keeps it.
type talker interface {
	prompt(text string)
	// ask sends the conversation and adds the reply to it.
	ask() (said, error)
	// answer adds the result of a call.
	answer(c call, result string)
	// alter changes a continuity token in the history.
	alter()
}

// converse plays the scenario to its end and returns what was seen.
func converse(t *testing.T, talk talker) []string {
	t.Helper()
	var seen []string
	for _, prompt := range []string{"Call the tools.", "And again."} {
		talk.prompt(prompt)
		for rounds, more := 0, true; more && rounds < 5; rounds++ {
			reply, err := talk.ask()
			if err != nil {
				t.Fatalf("after %q: %v", seen, err)
			}
			seen, more = append(seen, reply.items...), len(reply.calls) > 0
			runTools(talk, reply.calls)
		}
	}
	return seen
}

func runTools(talk talker, calls []call) {
	for _, c := range calls {
		talk.answer(c, "The tool "+c.name+" answers.")
	}
}

// loops plays the scenario by each way of talking and each way of reaching the
// simulator.
func loops(t *testing.T, ways map[string]func(*link) talker) {
	t.Helper()
	for way, open := range ways {
		for _, listen := range []simulator.ListenConfig{{Plain: true}, {HTTP2: true}} {
			proto := map[bool]string{true: "HTTP/1.1", false: "HTTP/2.0"}[listen.Plain]
			t.Run(way+"/"+proto, func(t *testing.T) {
				w := simulate(t, listen, "")
				if diff := cmp.Diff(played, converse(t, open(w))); diff != "" {
					t.Errorf("another conversation (-want +got):\n%s", diff)
				}
				if w.protos[proto] == 0 || len(w.protos) != 1 {
					t.Errorf("spoken: %v; want %s", w.protos, proto)
				}
			})
		}
	}
}

// link leads an SDK to a simulator and sees what passes. It is a
// http.RoundTripper.
type link struct {
	url  string
	base http.RoundTripper
	mu   sync.Mutex
	// protos and statuses are those of the responses.
	protos   map[string]int
	statuses []int
}

// RoundTrip implements http.RoundTripper.
func (w *link) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(r)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.protos[resp.Proto]++
		w.statuses = append(w.statuses, resp.StatusCode)
	}
	return resp, err
}

func (w *link) client() *http.Client { return &http.Client{Transport: w} }

// ownAddresses are where SDKs send what no simulator's address is set for.
var ownAddresses = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com",
	"gemini": "https://generativelanguage.googleapis.com",
	"chat":   "https://api.deepseek.com",
}

// address is where a provider answers.
func (w *link) address(provider string) string {
	if w.url == "" {
		return ownAddresses[provider]
	}
	return w.url + "/" + provider
}

// scenarioWith is the scenario with what a test adds to its first turn.
func scenarioWith(addition string) string { return strings.Replace(play, "WITH\n", addition, 1) }

// simulate starts a simulator that plays the scenario with what is added to its
// first turn. without leaves providers out that do not have that.
func simulate(t *testing.T, listen simulator.ListenConfig, with string, without ...string) *link {
	t.Helper()
	text := scenarioWith(with)
	for _, provider := range without {
		before, line, _ := strings.Cut(text, "  "+provider+": ")
		_, after, _ := strings.Cut(line, "\n")
		text = before + after
	}
	scenario, err := specs.ParseScenario("play.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, listen, simulator.Config{Scenario: scenario, Seed: t.Name()})
}

func serve(t *testing.T, listen simulator.ListenConfig, config simulator.Config) *link {
	t.Helper()
	server, err := simulator.Open(listen, simulator.New(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	transport := &http.Transport{ForceAttemptHTTP2: listen.HTTP2}
	if server.CA != nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(server.CA)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &link{url: server.URL, base: transport, protos: map[string]int{}}
}

// altered holds that the request after a token was altered is refused, and
// returns the SDK's error.
func altered(t *testing.T, talk talker) error {
	t.Helper()
	talk.prompt("Call the tools.")
	reply, err := talk.ask()
	if err != nil || len(reply.calls) != 3 {
		t.Fatal(reply, err)
	}
	runTools(talk, reply.calls)
	talk.alter()
	reply, err = talk.ask()
	if err == nil {
		t.Fatalf("an altered token is taken: %q", reply.items)
	}
	return err
}

// alteredToken is a token with one character in its middle changed.
func alteredToken(token string) string {
	at, other := len(token)/2, "A"
	if token[at] == 'A' {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}

// loggedBySDKs is what the SDKs print: warnings are complaints.
var loggedBySDKs bytes.Buffer

func TestMain(m *testing.M) {
	log.SetOutput(&loggedBySDKs)
	code := m.Run()
	if loggedBySDKs.Len() > 0 {
		fmt.Fprintf(os.Stderr, "an SDK complains:\n%s", loggedBySDKs.String())
		code = 1
	}
	os.Exit(code)
}

// retried holds that a request that is turned down at first is sent again, and no
// sooner than it was told.
func retried(t *testing.T, w *link, talk talker, status int, wait time.Duration) {
	t.Helper()
	talk.prompt("Call the tools.")
	start := time.Now()
	reply, err := talk.ask()
	if err != nil || len(reply.calls) != 3 || !slices.Equal(w.statuses, []int{status, http.StatusOK}) {
		t.Errorf("%q, %v; statuses %v", reply.items, err, w.statuses)
	}
	if took := time.Since(start); took < wait {
		t.Errorf("it came again after %v; told %v", took, wait)
	}
}

// greased holds that the conversation is the same with unknown things in it, and
// that the SDK did see them.
func greased(t *testing.T, talk talker, saw *outline) {
	t.Helper()
	if diff := cmp.Diff(played, converse(t, talk)); diff != "" {
		t.Errorf("another conversation (-want +got):\n%s", diff)
	}
	for _, want := range []string{"x_future_field: unknown", "of an unknown type"} {
		if !slices.ContainsFunc(saw.complaints, func(c string) bool { return strings.HasSuffix(c, want) }) {
			t.Errorf("no %s in %q", want, saw.complaints)
		}
	}
}
