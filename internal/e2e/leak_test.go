package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
	"github.com/meerkat-go/conformance/meerkat/observe/telemetry"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/wires/rule"
)

// The canaries of TestNoLeaks, one for each place a secret may come from.
const (
	keyCanary    = "test-canary-key-7f3a"
	promptCanary = "canary-prompt"
	systemCanary = "canary-system"
	toolCanary   = "canary-output"
)

// echoing answers as a gateway does that repeats what it was sent, key and all.
type echoing struct{}

func (echoing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	text := fmt.Sprintf(`{"error":{"type":"authentication_error","message":%q}}`,
		fmt.Sprint(r.Header, r.URL, string(body)))
	return &http.Response{
		StatusCode: http.StatusUnauthorized, Header: r.Header.Clone(), Body: io.NopCloser(strings.NewReader(text)),
		Request: r,
	}, err
}

// TestNoLeaks runs agents of each provider, one that goes well and one whose
// provider echoes the key, and looks for what nobody may see: the key anywhere
// at all, and what somebody wrote in logs, metrics and spans.
func TestNoLeaks(t *testing.T) {
	for _, model := range killed {
		for name, transport := range map[string]http.RoundTripper{
			"well":  simulator.Transport(simulator.New(simulator.Config{Seed: "killed", Level: rule.Strict})),
			"echos": echoing{},
		} {
			t.Run(model+" "+name, func(t *testing.T) { leaks(t, model, transport, name == "well") })
		}
	}
}

func leaks(t *testing.T, model string, transport http.RoundTripper, well bool) {
	t.Helper()
	var logged bytes.Buffer
	var events strings.Builder
	dir, spans := t.TempDir(), tracetest.NewInMemoryExporter()
	metrics, err := telemetry.NewMetrics()
	if err != nil {
		t.Fatal(err)
	}
	listen := observe.All(metrics.Listen,
		observe.Log(slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		telemetry.Trace(sdk.NewTracerProvider(sdk.WithSyncer(spans)).Tracer("test"),
			func(agent.Event) context.Context { return t.Context() }),
		func(e agent.Event) { fmt.Fprintf(&events, "%+v\n", e) })
	a, err := meerkat.NewAgent().WithModel(model).WithTool(repeater(toolCanary)).WithStore(jsonl.New(dir, nil)).
		WithHTTPClient(&http.Client{Transport: transport}).WithSystemPrompt(systemCanary).WithEvents(listen).
		WithAnthropic(keyCanary).WithOpenAI(keyCanary).WithGemini(keyCanary).Build()
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.Run(t.Context(), promptCanary+": echo the word heron.")
	if (err == nil) != well || well && result.ToolCalls == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	watched := map[string]string{"log": logged.String(), "metrics": exposed(t, metrics), "spans": told(spans)}
	for place, text := range watched {
		for _, canary := range []string{promptCanary, systemCanary, toolCanary} {
			if strings.Contains(text, canary) {
				t.Errorf("%s: %s in\n%s", place, canary, text)
			}
		}
		if text == "" {
			t.Errorf("%s: nothing", place)
		}
	}
	watched["events"], watched["result"], watched["agent"] = events.String(),
		fmt.Sprintf("%+v %#v %v", result, result, err), fmt.Sprintf("%v %+v", a, err)
	for unwrapped := err; unwrapped != nil; unwrapped = errors.Unwrap(unwrapped) {
		watched["error"] += fmt.Sprintf("%v %+v %#v\n", unwrapped, unwrapped, unwrapped)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		data, rerr := os.ReadFile(f)
		watched["session"] += string(data)
		err = errors.Join(err, rerr)
	}
	if err != nil || !strings.Contains(watched["session"], promptCanary) {
		t.Errorf("no session was kept: %v", err)
	}
	for place, text := range watched {
		if strings.Contains(text, keyCanary) {
			t.Errorf("%s: the key is in\n%s", place, text)
		}
	}
}

func exposed(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metrics")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// told is all that spans say.
func told(spans *tracetest.InMemoryExporter) string {
	var b strings.Builder
	say := func(name string, all []attribute.KeyValue) {
		fmt.Fprintln(&b, name)
		for _, a := range all {
			fmt.Fprintln(&b, a.Key, a.Value.String())
		}
	}
	for _, s := range spans.GetSpans() {
		say(s.Name+" "+s.Status.Description, s.Attributes)
		for _, e := range s.Events {
			say(e.Name, e.Attributes)
		}
	}
	return b.String()
}
