package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// canary stands wherever somebody wrote something.
const canary = "canary-text"

// course is the course of a run with a retry, tools and a failure, then one
// that goes well. Events are a second apart.
func course() []agent.Event {
	yes, ms, delay := true, int64(1500), int64(20)
	cached := uint64(5)
	events := []agent.Event{
		{Type: agent.RunStarted, Prompt: canary},
		{
			Type: agent.Degraded, Rule: "foreign-thinking",
			Degradation: &handoff.Degradation{Rule: "foreign-thinking", Reason: canary},
		},
		{Type: agent.TurnStarted, Turn: 1, Provider: "gemini", Model: "gemini-x"},
		{Type: agent.TextDelta, Turn: 1, Delta: canary},
		{Type: agent.StreamReset, Turn: 1},
		{Type: agent.Retrying, Turn: 1, ErrorKind: "overloaded", Error: canary, DelayMS: &delay},
		{Type: agent.TextDelta, Turn: 1, Delta: canary},
		{Type: agent.TextComplete, Turn: 1, Content: canary},
		{
			Type: agent.TurnCompleted, Turn: 1, StopReason: transcript.StopToolUse, ResponseID: "resp",
			RateLimits: []stream.RateLimit{{Name: "requests", Limit: 50, Remaining: 49}},
			Usage:      &transcript.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: &cached},
		},
		{
			Type: agent.ToolExecutionStarted, Turn: 1, ID: "c1", Name: "read",
			Args: transcript.RawJSON(`"` + canary + `"`),
		},
		{Type: agent.ToolExecutionStarted, Turn: 1, ID: "c2", Name: "read"},
		{Type: agent.ToolProgress, Turn: 1, ID: "c1", Message: canary},
		{
			Type: agent.ToolExecutionCompleted, Turn: 1, ID: "c1", Name: "read", Status: "error", IsError: &yes,
			DurationMS: &ms, Result: canary,
		},
		{Type: agent.ToolExecutionTimedOut, Turn: 1, ID: "c2", Name: "read", Status: "interrupted", DurationMS: &ms},
		{Type: agent.BudgetWarning, Turn: 1, BudgetType: session.BudgetTokens, Used: 8, Limit: 10},
		{Type: agent.TurnStarted, Turn: 2, Provider: "gemini", Model: "gemini-x"},
		{
			Type: agent.RunFailed, Turn: 2, Error: canary, ErrorKind: "authentication",
			Usage: &transcript.Usage{InputTokens: 10, OutputTokens: 4},
		},
	}
	for i := range events {
		events[i].SessionID, events[i].RunID, events[i].Seq = "sess", "run", i
		events[i].TS = time.Unix(int64(i), 0)
	}
	return events
}

func newMetrics(t *testing.T) *telemetry.Metrics {
	t.Helper()
	m, err := telemetry.NewMetrics()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetrics(t *testing.T) {
	m := newMetrics(t)
	listen := observe.All(m.Listen, nil)
	for _, e := range course() {
		listen(e)
	}
	path := filepath.Join(t.TempDir(), "rkat.prom")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer(`gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="gemini-x"`, "CHAT",
		`gen_ai_agent_name="rkat",gen_ai_tool_name="read",gen_ai_tool_type="function"`, "READ",
		`model="gemini-x",provider="gemini"`, "TURN")
	var got []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_sum{") {
			got = append(got, short.Replace(strings.TrimSpace(line)))
		}
	}
	want := []string{
		`gen_ai_client_operation_duration_seconds_count{CHAT} 1`,
		`gen_ai_client_operation_duration_seconds_count{error_type="authentication",CHAT} 1`,
		`gen_ai_client_operation_time_to_first_chunk_seconds_count{CHAT} 1`,
		`gen_ai_client_token_usage_count{CHAT,gen_ai_token_type="input"} 1`,
		`gen_ai_client_token_usage_count{CHAT,gen_ai_token_type="output"} 1`,
		`gen_ai_execute_tool_duration_seconds_count{error_type="timeout",READ} 1`,
		`gen_ai_execute_tool_duration_seconds_count{error_type="tool_error",READ} 1`,
		`gen_ai_invoke_agent_duration_seconds_count{error_type="authentication",gen_ai_agent_name="rkat",rkat_agent_kind="main"} 1`,
		`rkat_budget_warnings_total{budget="tokens"} 1`,
		`rkat_degradations_total{rule="foreign-thinking"} 1`,
		`rkat_rate_limit_remaining{TURN,window="requests"} 49`,
		`rkat_retries_total{error_kind="overloaded",TURN} 1`,
		`rkat_run_tokens_count{agent="main"} 1`,
		`rkat_runs_active 0`,
		`rkat_runs_total{error_kind="authentication",outcome="failed"} 1`,
		`rkat_tokens_total{kind="cache_read",TURN} 5`,
		`rkat_tokens_total{kind="input",TURN} 10`,
		`rkat_tokens_total{kind="output",TURN} 4`,
		`rkat_turns_total{TURN,stop_reason="tool_use"} 1`,
	}
	for _, sum := range []string{"operation_duration_seconds_sum{gen_ai_operation", "rkat_run_tokens_sum{"} {
		if !strings.Contains(string(data), sum) {
			t.Errorf("there is no %s", sum)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(data), canary) {
		t.Error("the metrics hold what somebody wrote")
	}
	if err := m.WriteFile(filepath.Join(path, "x")); err == nil {
		t.Error("a file that cannot be written was")
	}
}

// TestNamesThatAreNone: a model may call any name, in any number. None of them
// may stop a run, nor make a label of its own without end.
func TestNamesThatAreNone(t *testing.T) {
	m, spans := newMetrics(t), tracetest.NewInMemoryExporter()
	var out bytes.Buffer
	listen := observe.All(m.Listen,
		telemetry.Trace(sdk.NewTracerProvider(sdk.WithSyncer(spans)).Tracer("test"), nil),
		observe.Log(slog.New(slog.NewTextHandler(&out, nil))))
	ms := int64(1)
	name := func(i int) string {
		switch i {
		case 0:
			return "\xff"
		case 1:
			return "rm -rf " + canary
		default:
			return "tool" + strconv.Itoa(i)
		}
	}
	listen(agent.Event{Type: agent.RunStarted, RunID: "r"})
	listen(agent.Event{Type: agent.TurnStarted, RunID: "r", Model: "\xff" + strings.Repeat("m", 999)})
	listen(agent.Event{Type: agent.TurnCompleted, RunID: "r", ResponseID: "\xff"})
	for i := range 1000 {
		listen(agent.Event{Type: agent.ToolExecutionStarted, RunID: "r", ID: "\xff", Name: name(i)})
		listen(agent.Event{Type: agent.ToolExecutionCompleted, RunID: "r", ID: "\xff", Name: name(i), DurationMS: &ms})
	}
	listen(agent.Event{Type: agent.RunCompleted, RunID: "r"})
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetMetric()) > 300 {
			t.Errorf("%s has %d series", f.GetName(), len(f.GetMetric()))
		}
	}
	if text := out.String(); strings.Contains(text, canary) || len(text) > 1<<20 {
		t.Errorf("the log holds what somebody wrote: %d bytes", len(text))
	}
	for _, s := range spans.GetSpans() {
		texts := []string{s.Name}
		for _, a := range s.Attributes {
			texts = append(texts, a.Value.String())
		}
		if all := strings.Join(texts, " "); !utf8.ValidString(all) || strings.Contains(all, canary) || len(all) > 999 {
			t.Fatalf("%.200q", all)
		}
	}
}

func TestTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	listen := telemetry.Trace(provider.Tracer("test"), func(agent.Event) context.Context { return t.Context() })
	for _, e := range course() {
		listen(e)
	}
	names := map[string]string{} // by span id
	for _, s := range spans.GetSpans() {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var got []string
	for _, s := range spans.GetSpans() {
		line := s.Name + " < " + names[s.Parent.SpanID().String()] + " " + s.EndTime.Sub(s.StartTime).String() + " " +
			s.Status.Code.String() + " " + s.Status.Description
		for _, e := range s.Events {
			line += " +" + e.Name
		}
		got = append(got, strings.TrimSpace(line))
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), canary) {
				t.Errorf("%s holds what somebody wrote", a.Key)
			}
		}
	}
	want := []string{
		"chat gemini-x < invoke_agent rkat 6s Unset  +retry",
		"execute_tool read < invoke_agent rkat 3s Error tool_error",
		"execute_tool read < invoke_agent rkat 3s Error timeout",
		"chat gemini-x < invoke_agent rkat 1s Error authentication",
		"invoke_agent rkat <  16s Error authentication +degraded +budget_warning",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	chat := map[string]string{}
	for _, a := range spans.GetSpans()[0].Attributes {
		chat[string(a.Key)] = a.Value.String()
	}
	if diff := cmp.Diff(map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gemini-x",
		"gen_ai.conversation.id":         "sess",
		"gen_ai.response.finish_reasons": `["tool_use"]`, "gen_ai.response.id": "resp",
		"gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "4",
		"gen_ai.usage.cache_read.input_tokens": "5", "gen_ai.response.time_to_first_chunk": "1",
	}, chat); diff != "" {
		t.Error(diff)
	}
}

// TestSubAgents: the runs of any number of operations and sessions are a fixed number of
// series, apart from those of the main agent, and spans say which operation they are of,
// in the trace of their parent.
func TestSubAgents(t *testing.T) {
	m, spans := newMetrics(t), tracetest.NewInMemoryExporter()
	listen := observe.All(m.Listen, telemetry.Trace(sdk.NewTracerProvider(sdk.WithSyncer(spans)).Tracer("test"), nil))
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	listen(agent.Event{
		Type: agent.RunStarted, TS: began, RunID: "r", SessionID: "top",
		TraceParent: "00-" + trace + "-00f067aa0ba902b7-01",
	})
	for i := range 500 {
		e := agent.Event{
			TS: began, RunID: "r" + strconv.Itoa(i), SessionID: session.ID("s" + strconv.Itoa(i)), ParentID: "top",
		}
		for _, e.Type = range []agent.EventType{agent.RunStarted, agent.TurnStarted} {
			listen(e)
		}
		e.Type, e.Usage = agent.TurnCompleted, &transcript.Usage{InputTokens: 2, OutputTokens: 1}
		listen(e)
		e.Type, e.TS = agent.RunCompleted, began.Add(2*time.Second)
		listen(e)
	}
	listen(agent.Event{Type: agent.RunCompleted, TS: began.Add(time.Minute), RunID: "r", SessionID: "top"})
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "rkat_run_") || strings.Contains(f.GetName(), "invoke_agent") {
			for _, series := range f.GetMetric() {
				labels := series.GetLabel()
				got = append(got, fmt.Sprintf(
					"%s %s %d %g", f.GetName(), labels[len(labels)-1].GetValue(),
					series.GetHistogram().GetSampleCount(), series.GetHistogram().GetSampleSum(),
				))
			}
		}
	}
	want := []string{
		"gen_ai_invoke_agent_duration_seconds main 1 60", "gen_ai_invoke_agent_duration_seconds sub_agent 500 1000",
		"rkat_run_tokens main 1 0", "rkat_run_tokens sub_agent 500 1500",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	operations := map[string]bool{}
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID().String() != trace {
			t.Fatalf("%s is in the trace %s", s.Name, s.SpanContext.TraceID())
		}
		for _, a := range s.Attributes {
			if a.Key == "rkat.operation.id" {
				operations[a.Value.AsString()] = true
			}
		}
	}
	if len(operations) != 500 {
		t.Errorf("spans name %d operations", len(operations))
	}
}
