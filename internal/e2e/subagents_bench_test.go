package e2e_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/simulator"
)

// benchAgent is an agent over the simulator in this process, with sessions in memory.
func benchAgent(b *testing.B, agents int) *meerkat.Agent {
	b.Helper()
	runs := 0
	builder := builderOver(b.TempDir(), "gpt-5.2",
		simulator.Transport(simulator.New(simulator.Config{Seed: "bench"})), &runs)
	a, err := builder.WithStore(session.NewMemoryStore()).WithUnary().WithSubAgents(meerkat.SubAgents{Limits: ops.ConcurrencyLimits{
		MaxConcurrentOps: agents, MaxConcurrentAgents: agents, MaxChildrenPerAgent: agents,
	}}).Build()
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkTurn is a run of one turn, for comparison.
func BenchmarkTurn(b *testing.B) {
	a := benchAgent(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(b.Context(), `Say "done".`); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSubAgents starts a thousand sub-agents of one turn each from one turn of their
// parent, and waits for all.
func BenchmarkSubAgents(b *testing.B) {
	const agents = 1000
	a := benchAgent(b, agents)
	var plan strings.Builder
	for i := range agents {
		fmt.Fprintf(&plan, "spawn_agent {\"prompt\":\"Say \\\"done %d\\\".\"}\n", i)
	}
	plan.WriteString("then await_ops {}\nthen say done")
	b.ReportAllocs()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		r, err := a.Run(b.Context(), plan.String())
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		s, err := a.Store().Load(b.Context(), r.SessionID)
		if err != nil || len(s.Operations()) != agents {
			b.Fatal(err, len(s.Operations()))
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/agents, "heap-B/agent")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/agents, "alloc-B/agent")
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/agents, "us/agent")
}
