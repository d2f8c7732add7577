package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// longLines are the lines of a session of n messages: prompts, signed thoughts,
// calls, results and answers.
func longLines(tb testing.TB, n int) []byte {
	tb.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	origin := &transcript.Origin{
		Provider: "anthropic", API: "api.anthropic.com", Model: "claude-opus-4-6", Account: "key-0123456789abcdef",
		ResponseID: "msg_01ABCDEFGHIJKLMNOPQRSTUV",
	}
	var chain Chain
	data, err := chain.AppendRecord(nil, Header{
		Version: Version, ID: "0199a2b4-0000-7000-8000-000000000001", Created: at,
	})
	for i := 0; i < n && err == nil; i += 4 {
		id := fmt.Sprintf("toolu_%024d", i)
		thought := transcript.Reasoning(
			"The user wants the word back, so the tool is called with it.",
			&transcript.Meta{Provider: transcript.MetaAnthropic, Signature: strings.Repeat("EqQBCkgIBRAB", 50)},
		)
		call := transcript.ToolUse(id, "echo", []byte(`{"text":"heron"}`))
		answer := transcript.Text("The tool said \"heron\".\nIt is a bird.")
		thought.Origin, call.Origin, answer.Origin = origin, origin, origin
		for _, m := range []transcript.Message{
			transcript.User("Echo the word heron, please."),
			transcript.Assistant(transcript.StopToolUse, thought, call),
			transcript.ToolResults(transcript.ToolResult{
				ToolUseID: id, Content: strings.Repeat("line of output\n", 20),
			}),
			transcript.Assistant(transcript.StopEndTurn, thought, answer),
		} {
			if err == nil {
				data, err = chain.AppendRecord(data, MessageRecord{At: at, Message: m})
			}
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// BenchmarkParse reads a session of 10,000 messages beside encoding/json, which
// reads the same lines into plain values: the figure is the ratio.
func BenchmarkParse(b *testing.B) {
	data := longLines(b, 10_000)
	type line struct {
		Record  string `json:"record"`
		Time    string `json:"at"`
		Message struct {
			Role    string           `json:"role"`
			Content any              `json:"content"`
			Blocks  []map[string]any `json:"blocks"`
			Results []map[string]any `json:"results"`
		} `json:"message"`
	}
	var ours, plain time.Duration
	for b.Loop() {
		began := time.Now()
		if p, err := Parse("b", data); err != nil || len(p.Session.Messages) != 10_000 {
			b.Fatal(err)
		}
		ours += time.Since(began)
		began = time.Now()
		var all []line
		for text := range bytes.Lines(data) {
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				b.Fatal(err)
			}
			all = append(all, l)
		}
		plain += time.Since(began)
	}
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "of-encoding/json")
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/ours.Seconds(), "MB/s")
}
