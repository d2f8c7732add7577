package config_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// TestSDK: a Go program gets all layers: defaults, the user's and the project's file,
// the environment and its own values, each stronger than the one before.
func TestSDK(t *testing.T) {
	p := newPlace(
		t, "[agent]\nmodel = 'claude-opus-4-5'\nsystem_prompt = 'of-user'\nmax_turns = 1\n",
		"[agent]\nsystem_prompt = 'of-project'\nstop_sequences = ['END']\n",
	)
	provider := httptest.NewServer(http.NotFoundHandler())
	defer provider.Close()
	env := []string{
		"HOME=" + p.env["HOME"], "ANTHROPIC_API_KEY=made-up", "ANTHROPIC_BASE_URL=" + provider.URL,
		"RKAT_MODEL=claude-opus-4-6", "RKAT_RETRY_MAX_RETRIES=0",
	}
	load := func(values map[string]any) *config.Loaded {
		t.Helper()
		l, err := config.Load(config.Options{Env: config.ParseEnvironment(env), Dir: p.project, Values: values})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := load(map[string]any{
		"agent.max_prompt_bytes": 10, "session.metadata": map[string]string{"ticket": "42"},
		"budget.max_duration": time.Minute, "agent.temperature": 0.5, "agent.effort": "none",
	})
	if from := l.From("agent.max_prompt_bytes"); from.Layer != config.Option ||
		l.From("agent.model").Layer != config.Environment || l.From("agent.system_prompt").Layer != config.Project {
		t.Errorf("%+v", from)
	}
	store, err := l.OpenStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	builder, err := l.NewAgent(store)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	request, err := agent.Preview("hi")
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Model         string
		System        string
		StopSequences []string `json:"stop_sequences"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil || body.Model != "claude-opus-4-6" ||
		body.System != "of-project" || len(body.StopSequences) != 1 {
		t.Errorf("%v %s", err, request.Body)
	}
	if _, err := agent.Run(
		t.Context(), "more than ten bytes",
	); err == nil || !strings.Contains(err.Error(), "agent.max_prompt_bytes") {
		t.Errorf("%v", err)
	}
	if _, err := agent.Run(t.Context(), "hi"); err == nil { // 404
		t.Error("an answer came from nowhere")
	}
	infos, err := store.List(t.Context(), session.Filter{})
	if err != nil || len(infos) > 1 {
		t.Fatalf("%v, %v", infos, err)
	}
	folder := filepath.Join(p.env["HOME"], ".local", "share", "rkat", "sessions")
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(infos) {
		t.Errorf("the sessions are not in %s: %v", folder, err)
	}
}

// TestBadValues: at each source, the error names the source, the setting and what is
// allowed, and shows no secret.
func TestBadValues(t *testing.T) {
	for key, c := range map[string]struct{ bad, want string }{
		"agent.effort":             {"loud", "none, minimal, low, medium, high, xhigh, max"},
		"agent.temperature":        {"3", "0 to 2"},
		"agent.stop_sequences":     {"[", "JSON list"},
		"agent.max_prompt_bytes":   {"0", "1 to 33554432"},
		"agent.event_buffer":       {"-1", "0 to 1048576"},
		"agent.max_turns":          {"1.5", "whole number from 0"},
		"tools.max_progress":       {"0", "1 to 1048576"},
		"tools.default_timeout":    {"soon", "30s, 5m or 1h30m"},
		"storage.backend":          {"tape", "jsonl, sqlite, memory"},
		"storage.fsync":            {"x", "always, interval, never"},
		"session.metadata":         {"novalue", "NAME=VALUE"},
		"budget.max_tokens":        {"-5", "whole number of tokens"},
		"retry.multiplier":         {"0.5", "1 to 100"},
		"telemetry.otlp_endpoint":  {"localhost:4318", "http://HOST:PORT or https://HOST"},
		"telemetry.otlp_headers":   {"secret-without-a-name", "NAME=VALUE"},
		"server.database":          {"mysql://u:secret@h/d", "postgres://USER@HOST:PORT/DATABASE"},
		"telemetry.otlp_timeout":   {"-1s", "30s, 5m or 1h30m"},
		"telemetry.content":        {"perhaps", "true or false"},
		"telemetry.metrics_listen": {"here", "PORT or HOST:PORT"},
	} {
		path := filepath.Join(t.TempDir(), "c.toml")
		text, err := json.Marshal(c.bad)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, key+" = "+string(text))
		variable := "RKAT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		for source, o := range map[string]config.Options{
			path:     {File: path},
			variable: {Env: map[string]string{variable: c.bad}},
			"--flag": {Flags: map[string]any{key: c.bad}, Names: map[string]string{key: "--flag"}},
			"option": {Values: map[string]any{key: c.bad}},
		} {
			_, err := config.Load(o)
			if err == nil || !strings.HasPrefix(err.Error(), source+": "+key+": ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s at %s: %v; want %s", key, source, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s at %s shows a secret: %v", key, source, err)
			}
		}
	}
	if _, err := config.Load(config.Options{
		Values: map[string]any{"agent.modl": 1},
	}); err == nil || !strings.Contains(err.Error(), "option: agent.modl: unknown key") {
		t.Errorf("%v", err)
	}
}
