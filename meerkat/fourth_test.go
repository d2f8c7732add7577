package meerkat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// parrot is a provider that does not exist. Its description, its codec and one
// catalogue entry are all that it takes to run an agent with it.
var parrot = catalog.Provider{
	Name: "parrot", APIVersion: "v1", KeyVariables: []string{"PARROT_API_KEY"},
	StreamTypes: []string{"text/event-stream"},
	Traits:      catalog.Traits{API: "squawk", TokenTags: []string{"parrot"}},
}

func lookupParrot(model string) (catalog.Entry, error) {
	return catalog.Entry{Model: model, Base: model, Name: model, Provider: parrot.Name, Traits: parrot.Traits}, nil
}

// parrotCodec writes one line of JSON for each message. A thought carries a seal
// that must come back with it.
type parrotCodec struct{ provider.SharedErrors }

type parrotLine struct {
	Role    string          `json:"role,omitempty"`
	Thought string          `json:"thought,omitempty"`
	Seal    json.RawMessage `json:"seal,omitempty"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Call    string          `json:"call,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	End     bool            `json:"end,omitempty"`
}

func (parrotCodec) Provider() catalog.Provider { return parrot }

func (parrotCodec) SetHeaders(header http.Header, key string) { header.Set("Parrot-Key", key) }

func (parrotCodec) Render(req *provider.Request, entry catalog.Entry) (*provider.Rendered, error) {
	outline, err := provider.Prepare(req, entry)
	if err != nil {
		return nil, err
	}
	var body strings.Builder
	write := func(line parrotLine) { _ = json.NewEncoder(&body).Encode(line) }
	for _, step := range outline.Steps {
		m := step.Message
		for i := range m.Blocks {
			switch b := &m.Blocks[i]; b.Type {
			case transcript.BlockReasoning:
				write(parrotLine{Role: "parrot", Thought: b.Text, Seal: b.Meta.Unknown})
			case transcript.BlockToolUse:
				write(parrotLine{Role: "parrot", ID: step.IDs[i], Call: b.Name, Args: b.Args})
			default:
				write(parrotLine{Role: "parrot", Text: b.Text})
			}
		}
		for _, a := range step.Answers {
			write(parrotLine{Role: "tool", ID: a.ID, Text: a.Result.Content})
		}
		if m.Content != "" {
			write(parrotLine{Role: "user", Text: m.Content})
		}
	}
	return &provider.Rendered{Path: "squawk", Body: []byte(body.String())}, nil
}

func (parrotCodec) NewParser(opts stream.Options) stream.Parser {
	d := &parrotDialect{asm: stream.NewAssembler(opts)}
	return stream.NewParser(opts, d.asm, d)
}

func (parrotCodec) ParseReply([]byte, stream.Options) (stream.Reply, error) {
	return stream.Reply{}, fmt.Errorf("parrot: replies are streams")
}

type parrotDialect struct {
	asm   *stream.Assembler
	ended bool
}

func (d *parrotDialect) Event(_, data []byte) error {
	var line parrotLine
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	switch {
	case line.End && d.asm.HasToolUse():
		d.ended = true
		d.asm.SetStop(transcript.StopToolUse)
	case line.End:
		d.ended = true
		d.asm.SetStop(transcript.StopEndTurn)
	case line.Thought != "":
		d.asm.Whole(transcript.Reasoning(line.Thought, &transcript.Meta{Provider: "parrot", Unknown: line.Seal}))
	case line.Call != "":
		d.asm.Whole(transcript.ToolUse(line.ID, line.Call, line.Args))
	default:
		d.asm.Whole(transcript.Text(line.Text))
	}
	return nil
}

func (d *parrotDialect) End() (missing string, err error) {
	if !d.ended {
		return "the end line never came", nil
	}
	return "", nil
}

// TestFourthProvider runs an agent with a provider that no line of code outside
// this file knows: a prompt, a tool call, and a resume by another agent, with the
// continuity token of the thought coming back each time.
func TestFourthProvider(t *testing.T) {
	const seal = `{"provider":"parrot","seal":"s1"}`
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+r.Header.Get("Parrot-Key")+"\n"+string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		reply := `{"thought":"a cracker?","seal":` + seal +
			`}|{"id":"c1","call":"shout","args":{"text":"polly"}}|{"end":true}`
		if len(bodies) > 1 {
			reply = fmt.Sprintf(`{"text":"answer %d"}|{"end":true}`, len(bodies))
		}
		_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(reply, "|", "\n\ndata: ")+"\n\n")
	}))
	defer server.Close()
	dir := t.TempDir()
	build := func() *meerkat.Agent {
		client, err := provider.New(parrotCodec{}, provider.Config{
			BaseURL: server.URL, APIKey: "made-up", Lookup: lookupParrot,
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := meerkat.NewAgent().WithClient(client).WithModel("macaw-1").WithJSONLStore(dir).WithTool(shoutTool()).Build()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first, err := build().Run(t.Context(), "say it")
	if err != nil || first.Text != "answer 2" || first.ToolCalls != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := build().Resume(t.Context(), first.SessionID, "again")
	if err != nil || second.Text != "answer 3" {
		t.Fatalf("%+v, %v", second, err)
	}
	want := `/v1/squawk made-up
{"role":"user","text":"say it"}
{"role":"parrot","thought":"a cracker?","seal":` + seal + `}
{"role":"parrot","id":"c1","call":"shout","args":{"text":"polly"}}
{"role":"tool","text":"POLLY","id":"c1"}
{"role":"parrot","text":"answer 2"}
{"role":"user","text":"again"}
`
	if got := bodies[len(bodies)-1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
