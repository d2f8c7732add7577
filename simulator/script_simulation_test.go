package simulator_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// TestRegister holds that a simulation without one of its parts is refused in words that name the wire and the part.
func TestRegister(t *testing.T) {
	for want, spoil := range map[string]func(*script.Simulation){
		"Provider":                     func(s *script.Simulation) { s.Provider = nil },
		"an endpoint that generates":   func(s *script.Simulation) { s.Endpoints = s.Endpoints[1:] },
		"lacks Parse":                  func(s *script.Simulation) { s.Parse = nil },
		"lacks Intent":                 func(s *script.Simulation) { s.Intent = nil },
		"ListModels or ShowModel":      func(s *script.Simulation) { s.ShowModel = nil },
		"lacks Holds":                  func(s *script.Simulation) { s.Holds = nil },
		"UnknownEvent":                 func(s *script.Simulation) { s.UnknownEvent = "" },
		"a part of Storage":            func(s *script.Simulation) { s.Storage = &script.Storage{} },
		`Refusals["quota"]`:            func(s *script.Simulation) { delete(s.Refusals, "quota") },
		`Refusals["tool"]`:             func(s *script.Simulation) { s.Refusals["tool"] = rule.Refusal{Status: 400} },
		`the operation "sing"`:         func(s *script.Simulation) { s.Endpoints[1].Operation = "sing" },
		"OpenMessage needs a Storage":  func(s *script.Simulation) { s.Storage = nil },
		"an endpoint about stored":     func(s *script.Simulation) { s.Storage, s.OpenMessage = nil, nil },
		"an endpoint without a path":   func(s *script.Simulation) { s.Endpoints[1].Path = nil },
		"more than one group":          func(s *script.Simulation) { s.Endpoints[1].Path = regexp.MustCompile(`(a)(b)`) },
		"an endpoint that compacts":    func(s *script.Simulation) { s.Compacted = nil },
		`wire "spoiled": has a simula`: nil,
	} {
		s := *script.Simulations()["openai"]
		s.Refusals, s.Endpoints = maps.Clone(s.Refusals), append([]script.Endpoint(nil), s.Endpoints...)
		if spoil != nil {
			spoil(&s)
		} else if err := script.Register("spoiled", &s); err != nil {
			t.Fatal(err)
		}
		if err := script.Register("spoiled", &s); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `wire "spoiled"`) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := script.Register("spoiled", nil); err == nil || !strings.Contains(err.Error(), "lacks its simulation") {
		t.Error(err)
	}
}
