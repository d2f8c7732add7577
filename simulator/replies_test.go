package simulator

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// scripted are the duties that a scenario makes the simulator neglect. Errors that a script puts in
// place of a whole reply have no request id.
var scripted = map[string]string{"duplicate-start": "SV-A1", "malformed-call": "SV-A13 SV-O8",
	"rate-limit-silent": "SV-E4",
	"error-mid-stream":  "SV-H14", "error-after-200": "SV-H14"}

// holdsRules holds that a reply of the simulator neglects no duty of servers.
func holdsRules(t *testing.T, provider string, r *http.Request, h heard) {
	t.Helper()
	var asked []byte
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			asked, _ = io.ReadAll(body)
		}
	}
	x := rule.Exchange{Wire: provider, Method: r.Method, URL: r.URL.String(), RequestHeader: r.Header, Request: asked,
		Status: h.status, Header: h.header, Body: h.body, SawAll: true, StandsIn: true, Cut: h.err != nil}
	for _, p := range rule.JudgeReply(&x) {
		for _, b := range p.Breaches {
			isScripted := false
			for name, ids := range scripted {
				isScripted = isScripted || strings.Contains(t.Name(), name) && strings.Contains(ids, p.ID)
			}
			if !isScripted {
				t.Errorf("%s: %s at event %d: %s", p.ID, p.Demand, b.At.Event, b.Message())
			}
		}
	}
}

// TestEveryScenarioHoldsRules plays each scenario with each of its targets, streamed and not.
func TestEveryScenarioHoldsRules(t *testing.T) {
	var all []*specs.Scenario
	for _, load := range []func() ([]*specs.Scenario, error){specs.Scenarios, specs.Simulated} {
		list, err := load()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	for _, s := range all {
		if strings.Contains(s.Name, "stall") {
			continue // it never ends; its drill reads what comes before
		}
		for _, target := range s.Targets {
			if asks[target.Provider] == nil {
				continue // package client plays the scenarios of the wire
			}
			for _, stream := range []bool{true, false} {
				t.Run(s.Name+"/"+target.Provider, func(t *testing.T) {
					t.Parallel()
					server, http := serve(t, New(Config{Scenario: s, Seed: "rules"}))
					http.Timeout = time.Second / 2 // some replies never end
					c := &client{t: t, http: http, url: server.URL, target: target, stream: stream}
					c.prompt("go")
					for range 8 {
						h := c.ask()
						if h.err != nil || h.status != 200 || len(h.calls) == 0 {
							return
						}
						c.keep(h)
						c.run(h)
					}
				})
			}
		}
	}
}
