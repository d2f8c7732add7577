package e2e_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/specs"
)

// anyEmit is what a model says in one reply, in any order.
func anyEmit() *rapid.Generator[[]specs.Block] {
	block := rapid.Custom(func(t *rapid.T) specs.Block {
		switch rapid.IntRange(0, 6).Draw(t, "block") {
		case 0:
			return specs.Block{Kind: specs.KindThinking, Parts: []string{"I think."}}
		case 1:
			return specs.Block{Kind: specs.KindThinking}
		case 2:
			return specs.Block{Kind: specs.KindRedacted}
		case 3:
			return specs.Block{Kind: specs.KindSignedText, Only: []string{"gemini"},
				Text: rapid.SampledFrom([]string{"", "Signed."}).Draw(t, "signed")}
		case 4:
			return specs.Block{Kind: specs.KindCall, Role: "noargs"}
		case 5:
			args := rapid.SampledFrom([]string{`{"text":"one"}`,
				`{ "text": "1.0", "z": 1.0, "a": 12345678901234567890 }`, `{"text":"\ud83d\ude00<&>"}`})
			return specs.Block{Kind: specs.KindCall, Role: "echo", Args: []byte(args.Draw(t, "args"))}
		default:
			return specs.Block{Kind: specs.KindText, Text: "Text."}
		}
	})
	return rapid.Custom(func(t *rapid.T) []specs.Block {
		blocks := rapid.SliceOfN(block, 1, 5).Draw(t, "emit")
		if !slices.ContainsFunc(blocks,
			func(b specs.Block) bool { return b.Kind == specs.KindText || b.Kind == specs.KindCall }) {
			blocks = append(blocks, specs.Block{Kind: specs.KindText, Text: "End."})
		}
		return blocks
	})
}

// anyStop is how a reply of a provider ends, "" as its blocks say.
func anyStop(provider string) *rapid.Generator[specs.Stop] {
	stops := []specs.Stop{"", "", "", "", specs.StopMaxTokens}
	if provider == "anthropic" {
		stops = append(stops, specs.StopPause)
	}
	return rapid.SampledFrom(stops)
}

// oddIDs are call ids that some provider refuses, and one that repeats.
var oddIDs = []string{"call_1", "call_1", "", "fc 0", "läuft", strings.Repeat("x", 80), "a/b+c=", "\xff"}

// fabricated is a reply that no simulator made: by hand, by an older version,
// or by a model of which only this is left.
func fabricated() *rapid.Generator[transcript.Message] {
	block := rapid.Custom(func(t *rapid.T) transcript.Block {
		switch rapid.IntRange(0, 5).Draw(t, "made") {
		case 0:
			return transcript.Text(rapid.SampledFrom([]string{"", " \n", "words", "words \n"}).Draw(t, "text"))
		case 1:
			return transcript.Reasoning(rapid.SampledFrom([]string{"", "thoughts"}).Draw(t, "thoughts"), nil)
		case 2:
			return transcript.Block{Type: transcript.BlockOpaque, Kind: "server_tool_use",
				Raw: []byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)}
		case 3:
			b := transcript.Block{Type: transcript.BlockOpaque, Kind: "inlineData",
				Raw: []byte(`{"inlineData":{"mimeType":"image/png","data":"eA=="}}`)}
			b.Parts = []transcript.Part{anyPart().Draw(t, "drawn")}
			return b
		default:
			args := rapid.SampledFrom([]string{"", `{}`, `{"a":1}`, `{"a":`, `"x"`, `null`, `[1]`, "\xff"}).Draw(t,
				"args")
			name := rapid.SampledFrom([]string{"conform_echo", "fs.read", "a b", "9lives", strings.Repeat("n", 100),
				""}).Draw(t, "name")
			return transcript.ToolUse(rapid.SampledFrom(oddIDs).Draw(t, "id"), name, []byte(args))
		}
	})
	return rapid.Custom(func(t *rapid.T) transcript.Message {
		m := transcript.Assistant(rapid.SampledFrom([]transcript.StopReason{transcript.StopEndTurn,
			transcript.StopAborted, transcript.StopMaxTokens, transcript.StopPauseTurn, ""}).Draw(t, "stop"),
			rapid.SliceOfN(block, 0, 4).Draw(t, "blocks")...)
		from := rapid.SampledFrom([]string{"", "anthropic", "openai", "gemini", "another"}).Draw(t, "from")
		for i := range m.Blocks {
			if b := &m.Blocks[i]; from != "" {
				b.Origin = &transcript.Origin{Provider: from,
					Model: rapid.SampledFrom([]string{"gone-1", ""}).Draw(t, "model"), Index: i}
			}
			if from == "anthropic" || from == "gemini" || from == "openai" {
				if b := &m.Blocks[i]; b.Type == transcript.BlockOpaque || b.Origin.Model == "" {
					b.Origin.Model = "gone-1" // nobody reads it: the simulator cannot know its blocks
				}
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "parts?") == 0 {
			m.Parts = []transcript.Part{anyPart().Draw(t, "part")}
		}
		return m
	})
}

func anyPart() *rapid.Generator[transcript.Part] {
	return rapid.SampledFrom([]transcript.Part{
		{Type: "image", MediaType: "image/png", Data: []byte("not really")},
		{Type: "image", MediaType: "image/bmp", Data: []byte("x")},
		{Type: "image", URL: "https://example.com/a.png"},
		{Type: "file", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Type: "file", MediaType: "audio/mpeg", Data: []byte("x")}, {Type: "image", MediaType: "image/png"},
		{Type: "hologram", Data: []byte("x")},
	})
}

// broken is a reply that was interrupted: some of its blocks, the last of them
// perhaps cut.
func broken(t *rapid.T, m transcript.Message) transcript.Message {
	m.Blocks = slices.Clone(m.Blocks[:rapid.IntRange(0, len(m.Blocks)).Draw(t, "arrived")])
	m.StopReason = transcript.StopAborted
	if n := len(m.Blocks); n > 0 && rapid.Bool().Draw(t, "cut") {
		b := &m.Blocks[n-1]
		b.Raw, b.Meta = nil, nil
		b.Text, b.Args = b.Text[:len(b.Text)/2], b.Args[:len(b.Args)/2]
	}
	return m
}

// damaged is a reply of which one block lost its token, or came twice.
func damaged(t *rapid.T, m transcript.Message) transcript.Message {
	if len(m.Blocks) == 0 {
		return m
	}
	m.Blocks = slices.Clone(m.Blocks)
	i := rapid.IntRange(0, len(m.Blocks)-1).Draw(t, "which")
	b := m.Blocks[i]
	if rapid.Bool().Draw(t, "twice") {
		m.Blocks = append(m.Blocks, b)
		return m
	}
	b.Meta, b.Raw = nil, nil
	m.Blocks[i] = b
	return m
}

// speak adds what comes between two replies: of the user, the developer, or
// nobody.
func (p *dialogue) speak() {
	for range rapid.IntRange(0, 2).Draw(p.t, "messages") {
		m := transcript.User(rapid.SampledFrom([]string{"Go on.", "And now?", " "}).Draw(p.t, "content"))
		switch rapid.IntRange(0, 7).Draw(p.t, "speaker") {
		case 0:
			m.Role = transcript.RoleDeveloper
		case 1:
			m.Role = transcript.RoleSystem
		}
		if rapid.IntRange(0, 4).Draw(p.t, "part?") == 0 {
			m.Parts = []transcript.Part{anyPart().Draw(p.t, "part")}
		}
		p.add(session.MessageRecord{Message: m})
	}
}

// settle is what becomes of the calls of the last reply: run, crashed in any
// state, answered twice, in pieces, or with the results of others.
func (p *dialogue) settle() {
	at := len(p.s.Messages) - 1
	var results []transcript.ToolResult
	for c := range p.s.Messages[at].ToolCalls() {
		r := p.result(c.ID)
		e := transcript.CallRecord{Message: at, CallID: c.ID, Name: c.Name, Status: transcript.CallRunning}
		switch rapid.IntRange(0, 9).Draw(p.t, "fate") {
		case 0: // proposed
		case 1:
			p.try(session.Tool{CallRecord: e})
		case 2:
			e.Status, e.Result = transcript.CallComplete, &r
			p.try(session.Tool{CallRecord: e})
		case 3:
			e.Status = rapid.SampledFrom([]transcript.CallStatus{transcript.CallCancelled, transcript.CallInterrupted,
				transcript.CallError}).Draw(p.t, "end")
			p.try(session.Tool{CallRecord: e})
		case 4:
			results = append(results, r, p.result(c.ID))
		default:
			results = append(results, r)
		}
	}
	if rapid.IntRange(0, 7).Draw(p.t, "orphan") == 0 {
		results = append(results, p.result(rapid.SampledFrom(append(oddIDs, "call_9")).Draw(p.t, "whose")))
	}
	p.answer(rapid.Permutation(results).Draw(p.t, "order"))
}

func (p *dialogue) result(id string) transcript.ToolResult {
	r := transcript.ToolResult{ToolUseID: id,
		Content: rapid.SampledFrom([]string{"ok", "", "\xff bytes", "second"}).Draw(p.t, "result"),
		IsError: rapid.Bool().Draw(p.t, "error")}
	if rapid.IntRange(0, 5).Draw(p.t, "part?") == 0 {
		r.Parts = []transcript.Part{anyPart().Draw(p.t, "part")}
	}
	if rapid.IntRange(0, 9).Draw(p.t, "aborted?") == 0 {
		r.Status = transcript.ResultAborted
	}
	return r
}

// answer adds results in one message or several, and words between them.
func (p *dialogue) answer(results []transcript.ToolResult) {
	for len(results) > 0 {
		n := rapid.IntRange(1, len(results)).Draw(p.t, "together")
		p.add(session.MessageRecord{Message: transcript.ToolResults(results[:n]...)})
		results = results[n:]
		if rapid.IntRange(0, 5).Draw(p.t, "between?") == 0 {
			p.add(session.MessageRecord{Message: transcript.Developer("Between.")})
		}
	}
}

// compact summarises the messages up to any point and keeps any of them that
// were still there.
func (p *dialogue) compact() {
	var before session.Compaction
	if n := len(p.s.Compactions); n > 0 {
		before = p.s.Compactions[n-1]
	}
	c := session.Compaction{
		Through: rapid.IntRange(before.Through, len(p.s.Messages)).Draw(p.t, "through"),
		Summary: rapid.SampledFrom([]string{"They talked.", ""}).Draw(p.t, "summary"),
	}
	for i := range c.Through {
		there := i >= before.Through || slices.Contains(before.Kept, i)
		if there && rapid.IntRange(0, 3).Draw(p.t, fmt.Sprint("keep ", i)) == 0 {
			c.Kept = append(c.Kept, i)
		}
	}
	p.add(c)
}
