package telemetry_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// receiver is a collector that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*trace.Span
	metrics []*metric.Metric
	service map[string]string
	headers http.Header
	raw     []byte
	problem error
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{service: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	r.raw, r.headers = append(r.raw, body...), q.Header
	var answer proto.Message
	switch {
	case err != nil || q.Header.Get("Content-Type") != "application/x-protobuf":
		http.Error(w, "not protobuf", http.StatusUnsupportedMediaType)
		return
	case q.URL.Path == "/base/v1/traces":
		var in traces.ExportTraceServiceRequest
		err, answer = proto.Unmarshal(body, &in), &traces.ExportTraceServiceResponse{}
		for _, s := range in.GetResourceSpans() {
			maps.Copy(r.service, attributes(s.GetResource().GetAttributes()))
			for _, scope := range s.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	case q.URL.Path == "/base/v1/metrics":
		var in metrics.ExportMetricsServiceRequest
		err, answer = proto.Unmarshal(body, &in), &metrics.ExportMetricsServiceResponse{}
		for _, m := range in.GetResourceMetrics() {
			for _, scope := range m.GetScopeMetrics() {
				r.metrics = append(r.metrics, scope.GetMetrics()...)
			}
		}
	default:
		http.NotFound(w, q)
		return
	}
	if err != nil {
		r.problem = err
	}
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		v := a.GetValue()
		switch {
		case v.GetArrayValue() != nil:
			for _, item := range v.GetArrayValue().GetValues() {
				out[a.GetKey()] += item.GetStringValue() + ";"
			}
		case v.GetStringValue() != "":
			out[a.GetKey()] = v.GetStringValue()
		default:
			out[a.GetKey()] = v.String()
		}
	}
	return out
}

const secret = "made-up-key-of-a-test"

// play sends the course of a run to an exporter: a retry, two turns and a tool.
func play(e *telemetry.Exporter) {
	no, ms, cached := false, int64(1500), uint64(5)
	for i, event := range []agent.Event{
		{Type: agent.RunStarted, Prompt: "my key is " + secret},
		{Type: agent.TurnStarted, Turn: 1, Provider: "anthropic", Model: "claude-x"},
		{Type: agent.Retrying, Turn: 1, ErrorKind: "overloaded", Error: "words"},
		{Type: agent.TextDelta, Turn: 1, Delta: "I"},
		{Type: agent.TextComplete, Turn: 1, Content: "I look."},
		{
			Type: agent.ToolCallRequested, Turn: 1, ID: "c1", Name: "read",
			Args: transcript.RawJSON(`{"key":"` + secret + `"}`),
		},
		{
			Type: agent.TurnCompleted, Turn: 1, StopReason: transcript.StopToolUse, ResponseID: "resp",
			Usage: &transcript.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: &cached},
		},
		{Type: agent.ToolExecutionStarted, Turn: 1, ID: "c1", Name: "read"},
		{
			Type: agent.ToolExecutionCompleted, Turn: 1, ID: "c1", Name: "read", Status: "complete", IsError: &no,
			DurationMS: &ms, Result: "the text " + secret,
		},
		{Type: agent.TurnStarted, Turn: 2, Provider: "anthropic", Model: "claude-x"},
		{Type: agent.TextComplete, Turn: 2, Content: "Done."},
		{
			Type: agent.TurnCompleted, Turn: 2, StopReason: transcript.StopEndTurn,
			Usage: &transcript.Usage{InputTokens: 20, OutputTokens: 2},
		},
		{
			Type: agent.RunCompleted, Result: "Done.", StopReason: transcript.StopEndTurn,
			Usage: &transcript.Usage{InputTokens: 30, OutputTokens: 6},
		},
	} {
		event.SessionID, event.RunID, event.Seq, event.TS = "sess", "run", i, time.Unix(int64(1000+i), 0)
		e.Listen(event)
	}
}

// TestSpansAndMetrics decodes what a collector gets with the official protobufs.
func TestSpansAndMetrics(t *testing.T) {
	r := newReceiver(t)
	e, err := telemetry.NewExporter(telemetry.CollectorOptions{
		Endpoint: r.URL + "/base/", Headers: map[string]string{"X-Tenant": "t"}, Version: "v1", Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	play(e)
	if err := e.Shutdown(t.Context()); err != nil || r.problem != nil {
		t.Fatal(err, r.problem)
	}
	if r.headers.Get("X-Tenant") != "t" || !maps.Equal(r.service, map[string]string{
		"service.name": "rkat", "service.version": "v1",
	}) {
		t.Errorf("headers %v, resource %v", r.headers, r.service)
	}
	byName := map[string]*trace.Span{}
	for _, s := range r.spans {
		byName[s.GetName()] = s
	}
	if len(r.spans) != 4 || byName["invoke_agent rkat"] == nil || byName["execute_tool read"] == nil {
		t.Fatalf("%v", slices.Collect(maps.Keys(byName)))
	}
	chat := attributes(r.spans[0].GetAttributes())
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-x",
		"gen_ai.conversation.id":         "sess",
		"gen_ai.response.finish_reasons": "tool_use;", "gen_ai.response.id": "resp",
		"gen_ai.usage.input_tokens": "int_value:15", "gen_ai.usage.output_tokens": "int_value:4",
		"gen_ai.usage.cache_read.input_tokens": "int_value:5", "gen_ai.response.time_to_first_chunk": "double_value:2",
	} {
		if chat[key] != want {
			t.Errorf("%s is %q; want %q", key, chat[key], want)
		}
	}
	if parent := byName["execute_tool read"].GetParentSpanId(); string(parent) != string(
		byName["invoke_agent rkat"].GetSpanId(),
	) {
		t.Error("the tool is not below the run")
	}
	var names []string
	for _, m := range r.metrics {
		names = append(names, m.GetName())
	}
	slices.Sort(names)
	want := "gen_ai.client.operation.duration gen_ai.client.operation.time_to_first_chunk gen_ai.client.token.usage gen_ai.execute_tool.duration gen_ai.invoke_agent.duration rkat.retries rkat.run.tokens rkat.runs rkat.runs.active rkat.tokens rkat.turns"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("metrics\n%s; want\n%s", got, want)
	}
	for _, text := range []string{secret, "look", "Done", "the text", "words"} {
		if strings.Contains(string(r.raw), text) {
			t.Errorf("%q was sent, and nobody asked for content", text)
		}
	}
}

// TestContent: with content, spans show what was said, but no key.
func TestContent(t *testing.T) {
	r := newReceiver(t)
	e, err := telemetry.NewExporter(telemetry.CollectorOptions{
		Endpoint: r.URL + "/base", Content: true, Secrets: []string{"", secret}, Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	play(e)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range r.spans {
		for key, value := range attributes(s.GetAttributes()) {
			got[s.GetName()+" "+key] += value
		}
	}
	for key, want := range map[string]string{
		"invoke_agent rkat gen_ai.input.messages":      `[{"parts":[{"type":"text","content":"my key is (key)"}],"role":"user"}]`,
		"invoke_agent rkat gen_ai.output.messages":     `[{"finish_reason":"end_turn","parts":[{"type":"text","content":"Done."}],"role":"assistant"}]`,
		"execute_tool read gen_ai.tool.call.arguments": `{"key":"(key)"}`,
		"execute_tool read gen_ai.tool.call.result":    "the text (key)",
	} {
		if got[key] != want {
			t.Errorf("%s is %q; want %q", key, got[key], want)
		}
	}
	if all := got["chat claude-x gen_ai.output.messages"]; !strings.Contains(
		all, `"type":"tool_call","id":"c1","name":"read","arguments":{"key":"(key)"}`,
	) {
		t.Error(all)
	}
	if strings.Contains(string(r.raw), secret) {
		t.Error("a key was sent")
	}
}

// TestBadCollectors: none of them delays a run, and Shutdown returns in time and says
// what happened.
func TestBadCollectors(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	var followed bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer elsewhere.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	handlers := map[string]http.HandlerFunc{
		"hangs":   func(http.ResponseWriter, *http.Request) { <-hang },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"is overloaded": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"redirects": func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"is no collector": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = io.WriteString(w, "\xff\xff\xff")
		},
		"drops": func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = c.Close()
			}
		},
	}
	urls := map[string]string{"is down": closed.URL}
	for name, handle := range handlers {
		server := httptest.NewServer(handle)
		defer server.CloseClientConnections()
		urls[name] = server.URL
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			e, err := telemetry.NewExporter(telemetry.CollectorOptions{
				Endpoint: url, Timeout: 300 * time.Millisecond, Headers: map[string]string{"X-Key": secret},
			})
			if err != nil {
				t.Fatal(err)
			}
			play(e)
			began := time.Now()
			err = e.Shutdown(t.Context())
			if err == nil || !strings.Contains(err.Error(), "lost") {
				t.Errorf("it reports %v", err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("Shutdown took %s", took)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Error("the error holds a key")
			}
		})
	}
	if followed {
		t.Error("a redirect was followed")
	}
}
