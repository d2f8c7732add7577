package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// someone is a model and the account that asks it.
type someone struct{ model, account, effort string }

// everyone has a model of each way of thinking, two accounts of one provider,
// and models that read each other's tokens or do not.
var everyone = []someone{
	{"claude-opus-4-5", "", ""}, {"claude-opus-4-5", "", "none"}, {"claude-opus-4-6", "", ""},
	{"claude-opus-4-6", "other", ""},
	{"claude-opus-5", "", ""}, {"claude-fable-5-1", "", ""}, {"claude-opus-5-5", "", ""},
	{"gpt-5.2", "", ""}, {"gpt-5.5", "", ""}, {"gpt-5.5", "other", ""}, {"gpt-5.2", "", "none"},
	{"gemini-3-flash-preview", "", ""}, {"gemini-3.5-flash", "", ""}, {"gemini-3.5-flash", "other", ""},
}

// fataler is a test or one of its rounds.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world serves all three providers, strictly. What it says next is set before
// each request; its tokens are good in every world of the same seed.
type world struct {
	server  *httptest.Server
	handler http.Handler
	clients map[someone]provider.Completer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clients: map[someone]provider.Completer{}}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter,
		r *http.Request) {
		w.handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.server.Close)
	return w
}

// says makes every reply of one model that. Equal names give equal ids.
func (w *world) says(name string, who someone, emit []specs.Block, stop specs.Stop) {
	turns := make([]specs.Turn, 60)
	for i := range turns {
		turns[i] = specs.Turn{Emit: emit, Stop: stop}
		if stop == specs.StopPause && i%2 == 1 { // what a pause goes on with
			turns[i] = specs.Turn{Emit: []specs.Block{{Kind: specs.KindText, Text: "On."}}}
		}
	}
	w.handler = simulator.New(simulator.Config{Seed: "handoff", Level: rule.Strict, Scenario: &specs.Scenario{
		Name: name, Targets: []specs.Target{{Provider: catalog.ProviderOf(who.model), Model: who.model}}, Turns: turns,
	}})
}

func (w *world) client(t fataler, who someone) provider.Completer {
	if c := w.clients[who]; c != nil {
		return c
	}
	name := catalog.ProviderOf(who.model)
	key := "test-key"
	if who.account != "" {
		key += "@" + who.account
	}
	config := provider.Config{BaseURL: w.server.URL + "/" + name, APIKey: key, HTTPClient: w.server.Client()}
	codec := map[string]provider.Codec{
		catalog.Anthropic: anthropic.Codec{}, catalog.OpenAI: openai.Codec{}, catalog.Gemini: gemini.Codec{},
	}[name]
	c, err := provider.New(codec, config)
	if err != nil {
		t.Fatal(err)
	}
	w.clients[who] = c
	return c
}

func (who someone) target(t fataler) handoff.Target {
	m, err := catalog.Lookup(who.model)
	if err != nil {
		t.Fatal(err)
	}
	return handoff.Target{Provider: m.Provider, API: m.Traits.API, Account: "account" + who.account, Model: m,
		Effort: who.effort}
}

// request is what an agent would send.
func (who someone) request(messages []transcript.Message, unary bool) *provider.Request {
	echo := transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	return &provider.Request{
		Model: who.model, System: "Be brief.", Messages: messages, Effort: who.effort, Unary: unary,
		Account: "account" + who.account,
		Tools:   []transcript.ToolDef{{Name: "conform_echo", InputSchema: echo}, {Name: "conform_noargs"}},
	}
}

// dialogue is one conversation, whose turns may be answered by different models.
type dialogue struct {
	fataler
	t *rapid.T // draws what happens, nil where that is given
	w *world
	s session.Session

	who   someone // that was asked last
	asked int
	sent  map[someone]sent
}

func newDialogue(t fataler, w *world) *dialogue {
	s, err := session.Load(session.Header{Version: 1, ID: "0199a2b4-0000-7000-8000-000000000001"},
		session.MessageRecord{Message: transcript.User("Begin.")})
	if err != nil {
		t.Fatal(err)
	}
	draws, _ := t.(*rapid.T)
	return &dialogue{fataler: t, t: draws, w: w, s: s, sent: map[someone]sent{}}
}

func (p *dialogue) add(records ...session.Record) {
	var err error
	if p.s, err = p.s.With(records...); err != nil {
		p.Fatal(err)
	}
}

// try is add for what may contradict the ledger: calls with the same id.
func (p *dialogue) try(r session.Record) {
	if s, err := p.s.With(r); err == nil {
		p.s = s
	}
}

// build is what goes out to who, after a word of the user if nothing would.
func (p *dialogue) build(who someone) handoff.Transcript {
	out, err := handoff.Build(p.s.History(), who.target(p))
	if errors.Is(err, handoff.ErrNothing) {
		p.add(session.MessageRecord{Message: transcript.User("Anybody?")})
		out, err = handoff.Build(p.s.History(), who.target(p))
	}
	if err != nil {
		p.Fatalf("%v: %v", who, err)
	}
	return out
}

// ask sends the conversation to who and returns what the simulator says. It is
// the test: nothing may be refused.
func (p *dialogue) ask(who someone, emit []specs.Block, stop specs.Stop) stream.Reply {
	p.asked++
	p.w.says(fmt.Sprint("play ", p.asked), who, emit, stop)
	out := p.build(who)
	client := p.w.client(p, who)
	p.holds(who, out)
	req := who.request(out.Messages, p.asked%2 == 0)
	body, err := client.Render(req)
	if err != nil {
		p.Fatalf("%v: not rendered: %v\n%s", who, err, p.dump(out))
	}
	reply, err := client.Complete(context.Background(), req, nil)
	if err != nil {
		p.Fatalf("%v: refused: %v\nrequest %s\n%s", who, err, body, p.dump(out))
	}
	return reply
}

func (p *dialogue) dump(out handoff.Transcript) string {
	var s strings.Builder
	for i := range p.s.Messages {
		line, _ := p.s.Messages[i].AppendJSON(nil)
		fmt.Fprintf(&s, "%d %s\n", i, line)
	}
	for _, e := range p.s.Ledger.Entries() {
		fmt.Fprintf(&s, "ledger %d %q %s\n", e.Message, e.CallID, e.Status)
	}
	for _, c := range p.s.Compactions {
		fmt.Fprintf(&s, "compaction %+v\n", c)
	}
	for _, d := range out.Degraded {
		fmt.Fprintf(&s, "degraded %+v\n", d)
	}
	return s.String()
}

// somebody is whoever was asked last, or anybody else.
func (p *dialogue) somebody() someone {
	if p.asked == 0 || rapid.IntRange(0, 2).Draw(p.t, "switch?") == 0 {
		p.who = rapid.SampledFrom(everyone).Draw(p.t, "who")
	}
	return p.who
}

// turn is one reply and what follows it.
func (p *dialogue) turn() {
	switch rapid.IntRange(0, 9).Draw(p.t, "turn") {
	case 0:
		p.compact()
		return
	case 1, 2:
		p.add(session.MessageRecord{Message: fabricated().Draw(p.t, "fabricated")})
	default:
		who := p.somebody()
		emit, stop := anyEmit().Draw(p.t, "emit"), anyStop(catalog.ProviderOf(who.model)).Draw(p.t, "stop")
		m := p.ask(who, emit, stop).Message
		switch rapid.IntRange(0, 7).Draw(p.t, "accident") {
		case 0:
			m = broken(p.t, m)
		case 1:
			m = damaged(p.t, m)
		case 2: // written twice
			p.add(session.MessageRecord{Message: m})
			p.settle()
		}
		p.add(session.MessageRecord{Message: m})
	}
	p.settle()
	p.speak()
}

// TestHandoff: whatever happened, with whomever, what handoff makes of it for
// anybody is accepted by the strict simulator over the wire: tokens that it
// issued to that target among those of all others.
func TestHandoff(t *testing.T) {
	w := newWorld(t)
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := newDialogue(t, w)
				for range rapid.IntRange(1, 8).Draw(t, "turns") {
					p.turn()
				}
				p.ask(p.somebody(), []specs.Block{{Kind: specs.KindText, Text: "Done."}}, "")
			})
		})
	}
}
