package harness

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Client returns a subject that talks as package client does. The cassettes of a wire that rkat does not speak
// are recordings of it.
func Client(provider string) Subject { return clientSubject{provider} }

type clientSubject struct{ provider string }

// About implements Subject. What a provider refused is not taken out of later requests.
func (s clientSubject) About() About {
	return About{
		Subject: report.Subject{Name: "client", Kind: inProcess}, Providers: []string{s.provider}, PromisesExit: true,
		HoldsAll: true,
		Abilities: []specs.Ability{
			specs.AbilityTools, specs.AbilityResume, specs.AbilityTurns, specs.AbilityModel, specs.AbilitySystem,
			specs.AbilityMaxTurns,
		},
		Unsupported: map[string]string{"refused-*": "the client sends again what was refused",
			"too-long-*": "the client shortens nothing",
			"image-in-*": "the client sends images, and DeepSeek takes none"},
	}
}

// Open implements Subject.
func (s clientSubject) Open(_ context.Context, room Room) (Session, error) {
	w := wires.Find(s.provider)
	server := client.Server{Wire: w, Base: "https://" + cmp.Or(w.Scripts.Host, w.Host)}
	transport := client.NewTransport()
	if server.Transport = transport; room.Ingress == proxy.BaseURL {
		server.Base = room.BaseURL[s.provider]
	} else {
		address, err := url.Parse(room.ProxyURL)
		if err != nil {
			return nil, err
		}
		pem, err := os.ReadFile(room.CAFile)
		if err != nil {
			return nil, err
		}
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(pem)
		transport.Proxy, transport.TLSClientConfig = http.ProxyURL(address), &tls.Config{RootCAs: trusted}
	}
	server.Key = Variable(room.Env, w.Environment.AgentKeys[0])
	if givesUpSilence(room.Case.Scenario) {
		server.Idle = idleTimeout
	}
	talk := client.Conversation{Server: server, Question: wire.Question{Stream: true, Tools: toolserver.Tools()},
		MaxRounds: room.MaxTurns}
	return &clientSession{talk, transport, !room.Case.HasCassette()}, nil
}

type clientSession struct {
	client.Conversation
	transport *http.Transport
	// asksAgain says that a provider that is overloaded is asked again; a recording says how often it is asked.
	asksAgain bool
}

// Close implements Session.
func (s *clientSession) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// RunStep implements Session.
func (s *clientSession) RunStep(ctx context.Context, step Step) (evidence.Process, error) {
	const failed = 69
	if step.NewKey && !strings.HasSuffix(s.Key, otherKey) {
		s.Key += otherKey
	}
	s.Model, s.System, s.Effort, s.MaxRounds = step.Model, step.System, step.Effort, step.MaxTurns
	said := s.Say(ctx, step.Prompt)
	for range 3 {
		last := said[len(said)-1]
		if last.IsOK() || !s.asksAgain || last.Err == nil && last.Response.Status < http.StatusTooManyRequests {
			break
		}
		said = append(said, s.Continue(ctx)...)
	}
	p := evidence.Process{Args: clientArguments(step)}
	last := said[len(said)-1]
	for i := range last.Reply.Items {
		switch it := &last.Reply.Items[i]; it.What {
		case wire.Text:
			p.Stdout = append(p.Stdout, it.Text...)
		case wire.Call:
			p.ExitCode = failed // the limit of rounds was reached
		}
	}
	isRefused := func(it wire.Item) bool { return it.Type == "refusal" }
	if !last.IsOK() || slices.Contains(s.Wire.Stops.Unanswered, last.Reply.Stop) ||
		slices.ContainsFunc(last.Reply.Items, isRefused) {
		p.ExitCode, p.Stderr = failed, []byte("client: the reply did not arrive in full\n")
	}
	return p, nil
}

// clientArguments are what a step would be as a command line.
func clientArguments(step Step) []string { return []string{"client", step.Prompt} }
