package rkat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
)

// demoSeed is the same for all demonstrations, so that the tokens of one are valid in
// the next and its session can be resumed.
const demoSeed = "rkat demo"

// demoKey is the API key of the demonstration. No real provider accepts it.
const demoKey = "rkat-demo"

// startDemo serves the built-in provider on loopback. The caller
// closes the server.
func (a *app) startDemo() (*simulator.Server, error) {
	server, err := simulator.Open(
		simulator.ListenConfig{Plain: true}, simulator.New(simulator.Config{Seed: demoSeed, Now: time.Now}),
	)
	if err != nil {
		return nil, fmt.Errorf("demonstration: its provider does not start: %w", err)
	}
	a.noteLine("demonstration: a scripted provider on this machine answers; no model, no key, no network")
	return server, nil
}

// openDemoStore keeps the sessions of demonstrations apart from all others.
func (a *app) openDemoStore(cfg *config.Loaded) (session.Store, error) {
	if isSetByFlag(cfg, "storage.directory") || isSetByFlag(cfg, "storage.backend") {
		return a.openStore(cfg)
	}
	data, err := cfg.DataFolder()
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return jsonl.New(filepath.Join(data, "demo"), nil), nil
}

// demoTools give the scripted provider something to call.
func demoTools() []tool.Tool {
	return []tool.Tool{{
		Def: transcript.ToolDef{
			Name: "demo_count", Description: "Counts the words and the letters of a text.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string","description":"The text to count in."}},"required":["text"],"additionalProperties":false}`),
		},
		Func: countText, Idempotent: true, ReadOnly: true,
	}}
}

func countText(_ context.Context, args []byte) (transcript.ToolResult, error) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return transcript.ToolResult{}, errors.New("demo_count: the argument text must be a string")
	}
	words := strings.Fields(in.Text)
	return transcript.ToolResult{
		Content: fmt.Sprintf(
			"%s, %s", countOf(len(words), "word"), countOf(len([]rune(strings.Join(words, ""))), "letter"),
		),
	}, nil
}
