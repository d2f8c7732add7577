package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// toy is a dialect of one-word events: "+N kind" opens block N, "N text" adds
// text to it, "-N" completes it, "end" ends the reply, "stop" in N's place
// names a failure.
type toy struct {
	asm   *Assembler
	ended bool
}

var toyKinds = map[string]transcript.Block{
	"text": {Type: transcript.BlockText}, "think": {Type: transcript.BlockReasoning},
	"call": {Type: transcript.BlockToolUse, ID: "c1", Name: "f"}, "odd": {Type: transcript.BlockOpaque, Kind: "odd"},
}

var toyDeltas = map[string]EventKind{"text": EventTextDelta, "think": EventReasoningDelta, "call": EventToolCallDelta}

func (d *toy) Event(_, data []byte) error {
	if d.ended {
		return d.asm.Anomaly(RuleEventAfterEnd, "%s", data)
	}
	var key int
	var kind, text string
	switch s := string(data); {
	case s == "end":
		d.ended = true
		d.asm.SetStop(transcript.StopEndTurn)
		return nil
	case s == "fail":
		d.asm.Fail(ProviderError{Type: "overloaded_error", Message: "busy"})
		return nil
	case s[0] == '+':
		_, _ = fmt.Sscanf(s, "+%d %s", &key, &kind)
		return d.asm.Open(key, toyKinds[kind])
	case s[0] == '-':
		_, _ = fmt.Sscanf(s, "-%d", &key)
		return d.asm.Complete(key, nil)
	default:
		_, _ = fmt.Sscanf(s, "%d %s %s", &key, &kind, &text)
		return d.asm.Append(key, toyDeltas[kind], []byte(text))
	}
}

func (d *toy) End() (string, error) {
	if !d.ended {
		return "no end", nil
	}
	return "", nil
}

// runToy runs toy events and returns the reply, its blocks as one line, and the
// verdict.
func runToy(opts Options, events ...string) (Reply, string, error) {
	asm := NewAssembler(opts)
	p := NewParser(opts, asm, &toy{asm: asm})
	for _, e := range events {
		if _, err := p.Write([]byte("data: " + e + "\n\n")); err != nil {
			break
		}
	}
	r, err := p.Close()
	return r, show(r), err
}

func show(r Reply) string {
	var out []string
	for _, b := range r.Message.Blocks {
		out = append(out, fmt.Sprintf("%s:%s%s%s", b.Type, b.Text, b.Args, b.Kind))
	}
	return strings.Join(out, " ")
}

func TestBlocksStandInStartOrder(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"completed out of order": {
			[]string{"+5 think", "+2 call", "+9 text", "-9", "5 think hm", "2 call {}", "-2", "-5", "end"},
			"reasoning:hm tool_use:{} text:",
		},
		"interleaved deltas": {
			[]string{"+0 text", "+1 text", "0 text a", "1 text x", "0 text b", "1 text y", "-1", "-0", "end"},
			"text:ab text:xy",
		},
		"never merged":    {[]string{"+0 text", "0 text a", "-0", "+1 text", "1 text b", "-1", "end"}, "text:a text:b"},
		"no arguments":    {[]string{"+0 call", "-0", "end"}, "tool_use:{}"},
		"empty arguments": {[]string{"+0 call", "0 call", "-0", "end"}, "tool_use:{}"},
		"opaque":          {[]string{"+0 odd", "0 call {}", "-0", "end"}, "opaque:{}odd"},
		"index used again after its end, lenient only": {
			[]string{"+0 text", "0 text a", "-0", "+0 text", "0 text b", "-0", "end"}, "text:a text:b",
		},
	} {
		_, got, err := runToy(Options{Lenient: strings.Contains(name, "lenient")}, c.events...)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAnomalies(t *testing.T) {
	for _, c := range []struct {
		rule    string
		events  []string
		lenient string // the blocks that lenient mode makes of it
	}{
		{RuleOrphanedDelta, []string{"3 text a", "3 text b", "-3", "end"}, "text:ab"},
		{RuleOrphanedDelta, []string{"+0 text", "0 text a", "-0", "0 text late", "end"}, "text:a"},
		{RuleOrphanedDelta, []string{"+0 text", "0 think a", "0 text b", "-0", "end"}, "text:b"},
		{RuleDuplicateStart, []string{"+0 text", "0 text a", "+0 call", "0 text b", "-0", "end"}, "text:ab"},
		{RuleUnknownComplete, []string{"-7", "end"}, ""},
		{RuleUnknownComplete, []string{"+0 text", "-0", "-0", "end"}, "text:"},
		{RuleEventAfterEnd, []string{"end", "end"}, ""},
	} {
		_, _, err := runToy(Options{}, c.events...)
		var anomaly *AnomalyError
		if !errors.As(err, &anomaly) || anomaly.Anomaly.Rule != c.rule {
			t.Errorf("%q strict: %v, want %s", c.events, err, c.rule)
		}
		var told []Anomaly
		opts := Options{Lenient: true, OnEvent: func(e Event) {
			if e.Kind == EventAnomaly {
				told = append(told, e.Anomaly)
			}
		}}
		r, got, err := runToy(opts, c.events...)
		if err != nil || got != c.lenient || len(r.Anomalies) == 0 || r.Anomalies[0].Rule != c.rule ||
			len(told) != len(r.Anomalies) {
			t.Errorf("%q lenient: %q, %v, %v, told %v; want %q", c.events, got, err, r.Anomalies, told, c.lenient)
		}
	}
}

func TestAnomalyNamesItsPlace(t *testing.T) {
	_, _, err := runToy(Options{}, "+0 text", "+1 text", "7 text x")
	var anomaly *AnomalyError
	if !errors.As(err, &anomaly) || anomaly.Anomaly.Event != 2 || anomaly.Anomaly.Offset != 30 {
		t.Errorf("%v, want event 2 at byte 30", err)
	}
}

func TestInvalidArgumentsAreKept(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		r, got, err := runToy(Options{Lenient: lenient}, "+0 call", `0 call {\"a`, "-0", "end")
		if err != nil || got != `tool_use:{"a` {
			t.Errorf("lenient %v: %q, %v, want the bytes as they came and no error", lenient, got, err)
		}
		if len(r.Anomalies) != 1 || r.Anomalies[0].Rule != RuleInvalidArgs || !r.Anomalies[0].Harmless {
			t.Errorf("lenient %v: %v, want one harmless %s", lenient, r.Anomalies, RuleInvalidArgs)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for name, c := range map[string]struct {
		events  []string
		pending int
		blocks  string
	}{
		"no end":             {[]string{"+0 text", "0 text a", "-0"}, 0, "text:a"},
		"open block":         {[]string{"+0 text", "0 text a", "end"}, 1, "text:a"},
		"open call":          {[]string{"+0 call", "0 call {", "end"}, 1, "tool_use:{"},
		"nothing":            {nil, 0, ""},
		"several open":       {[]string{"+0 text", "+1 think", "+2 call"}, 3, "text: reasoning: tool_use:{}"},
		"only a done marker": {[]string{"[DONE]"}, 0, ""},
	} {
		for _, lenient := range []bool{false, true} {
			_, got, err := runToy(Options{Lenient: lenient}, c.events...)
			var incomplete *IncompleteError
			if !errors.As(err, &incomplete) || incomplete.Pending != c.pending || got != c.blocks {
				t.Errorf("%s: %q, %v; want %q and %d pending", name, got, err, c.blocks, c.pending)
			}
		}
	}
}

func TestUnterminatedEvent(t *testing.T) {
	for _, c := range []struct {
		in             string
		strict         string // part of the verdict
		lenientVerdict string
	}{
		{"data: end\n", "no end; unterminated_event", ""},
		{"data: end", "no end; unterminated_event", ""},
		{"data: end\n\ndata: [DONE]\n", "unterminated_event", ""},
		{"data: +0 text\n", "no end; unterminated_event", "no end"},
	} {
		for _, lenient := range []bool{false, true} {
			opts := Options{Lenient: lenient}
			asm := NewAssembler(opts)
			p := NewParser(opts, asm, &toy{asm: asm})
			_, _ = p.Write([]byte(c.in))
			_, err := p.Close()
			var anomaly *AnomalyError
			if !lenient && (err == nil || !strings.Contains(err.Error(), c.strict) || !errors.As(err, &anomaly)) {
				t.Errorf("%q strict: %v, want %q", c.in, err, c.strict)
			}
			if lenient && (err != nil) != (c.lenientVerdict != "") {
				t.Errorf("%q lenient: %v, want %q", c.in, err, c.lenientVerdict)
			}
		}
	}
}

func TestProviderErrorComesFirst(t *testing.T) {
	_, got, err := runToy(Options{}, "+0 text", "0 text a", "fail", "9 text orphan")
	var failure *ProviderError
	if !errors.As(err, &failure) || failure.Type != "overloaded_error" || got != "text:a" {
		t.Errorf("%q, %v; want the provider's error before the anomaly", got, err)
	}
}

func TestParserIsClosed(t *testing.T) {
	asm := NewAssembler(Options{})
	p := NewParser(Options{}, asm, &toy{asm: asm})
	_, _ = p.Write([]byte("data: end\n\n"))
	first, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("Write after Close succeeds")
	}
	if again, err := p.Close(); err != nil || show(again) != show(first) {
		t.Errorf("second Close: %v", err)
	}
}

func TestEvents(t *testing.T) {
	var log []string
	opts := Options{OnEvent: func(e Event) {
		s := fmt.Sprintf("%s %d %s", e.Kind, e.Index, e.Delta)
		if e.Block != nil {
			s += string(e.Block.Type) + e.Block.Text + string(e.Block.Args)
		}
		log = append(log, strings.TrimSpace(s+string(e.Stop)))
	}}
	_, _, _ = runToy(
		opts, "+4 think", `4 think \ud83d`, `4 think \ude00`, "+7 call", "7 call {}", "-7", "-4", "+8 odd",
		"8 call {}", "-8", "end",
	)
	want := []string{
		"block_start 0 reasoning", "reasoning_delta 0 \xed\xa0\xbd", "reasoning_delta 0 😀", "block_start 1 tool_use",
		"tool_call_delta 1 {}", "block_complete 1 tool_use{}", "block_complete 0 reasoning😀",
		"block_start 2 opaque", "block_complete 2 opaque{}", "done 0 end_turn",
	}
	if strings.Join(log, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
}

func TestNoDoneEventWithoutSuccess(t *testing.T) {
	done := false
	_, _, _ = runToy(Options{OnEvent: func(e Event) { done = done || e.Kind == EventDone }}, "+0 text", "0 text a")
	if done {
		t.Error("a cut reply was reported as done")
	}
}

func TestOrigin(t *testing.T) {
	origin := &transcript.Origin{Provider: "toy", API: "v1", Account: "a"}
	opts := Options{Origin: origin}
	asm := NewAssembler(opts)
	p := NewParser(opts, asm, &toy{asm: asm})
	asm.SetID([]byte("r1"))
	asm.SetModel([]byte("m"))
	_, _ = p.Write([]byte("data: +7 text\n\ndata: -7\n\ndata: +9 text\n\ndata: -9\n\ndata: end\n\n"))
	r, err := p.Close()
	want := transcript.Origin{Provider: "toy", API: "v1", Account: "a", Model: "m", ResponseID: "r1", Index: 1}
	if err != nil || *r.Message.Blocks[1].Origin != want || r.Message.Blocks[0].Origin.Index != 0 {
		t.Errorf("%+v, %v; want %+v", r.Message.Blocks[1].Origin, err, want)
	}
	if origin.ResponseID != "" {
		t.Error("the caller's origin was written to")
	}
}
