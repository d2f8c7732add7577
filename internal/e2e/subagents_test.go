package e2e_test

import (
	"net/http"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/rule"
)

func TestThreeSubAgents(t *testing.T) {
	for _, model := range killed {
		t.Run(model, func(t *testing.T) {
			strict := &listening{RoundTripper: simulator.Transport(simulator.New(simulator.Config{Seed: "tree", Level: rule.Strict}))}
			dir, runs := t.TempDir(), 0
			a := build(t, builderOver(dir, model, http.RoundTripper(strict), &runs).WithSubAgents(meerkat.SubAgents{}).WithEvents(func(e meerkat.Event) {
				t.Logf("%s %s op=%s %s %s%s %s", e.SessionID[30:], e.Type, e.OperationID, e.Name, e.Status, e.Message, e.Error)
			}))
			prompt := `spawn_agent {"name":"a","prompt":"echo {\"text\":\"heron\"}\nthen say heron done"}
spawn_agent {"name":"b","prompt":"echo {\"text\":\"crane\"}\nthen say crane done"}
spawn_agent {"name":"c","prompt":"say \"stork\""}
then await_ops {"ids":["a","b"]}
then say all done`
			r, err := a.Run(t.Context(), prompt)
			t.Logf("%+v %v refused %v", r, err, strict.refused)
			s, err := jsonl.New(dir, nil).Load(t.Context(), r.SessionID)
			for i := range s.Messages {
				b, _ := s.Messages[i].AppendJSON(nil)
				t.Logf("%s", b)
			}
			for _, o := range s.Operations() {
				t.Logf("%+v %+v", o, o.End)
			}
		})
	}
}
