package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// ended lists the recordings whose turn did not end well, with the words of the
// verdict: what they recorded is a failure, not a flaw of the recording.
var ended = map[string]string{
	"ai__openai.openai-error.1.chunks/01":             "provider reported insufficient_quota",
	"prism__Fixtures.openai.stream-rate-limited-1/01": "provider reported tokens",
	// Background mode: the POST and the polls before the last one.
	"pydantic-ai__test_openai_responses.test_background_mode_with_tool_vcr/01": "the response is queued",
	"pydantic-ai__test_openai_responses.test_background_mode_with_tool_vcr/03": "the response is queued",
	"pydantic-ai__test_openai_responses.test_background_mode_with_tool_vcr/04": "the response is in_progress",
}

// endOf returns the output of the terminal event, and the items of
// output_item.done by output_index, all by encoding/json.
func endOf(t *testing.T, body []byte) (output []json.RawMessage, finished map[int]json.RawMessage) {
	t.Helper()
	finished = map[int]json.RawMessage{}
	for _, event := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
		_, data, found := strings.Cut(event, "data: ")
		if !found {
			continue
		}
		var e struct {
			Type        string
			OutputIndex int `json:"output_index"`
			Item        json.RawMessage
			Response    struct {
				Output []json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "response.output_item.done":
			finished[e.OutputIndex] = e.Item
		case "response.completed", "response.incomplete":
			output = e.Response.Output
		}
	}
	return output, finished
}

// TestCorpusStreams: every recorded stream decodes, both paths and all splits
// agree, and the blocks are those that the terminal event lists.
func TestCorpusStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n, blocks, unfinished := 0, 0, 0
	for _, e := range providertest.Corpus(t, "openai") {
		if e.Status != 200 || !e.Streamed() {
			continue
		}
		n++
		if outcome := string(paths.Check(t, e.Body, rng)); !verdictAsExpected(e.Name, outcome) {
			t.Errorf("%s: %s", e.Name, outcome[strings.LastIndex(outcome, "error"):])
		}
		p := Codec{}.NewParser(stream.Options{})
		_, _ = p.Write(e.Body)
		r, _ := p.Close()
		output, finished := endOf(t, e.Body)
		if len(output) != len(r.Message.Blocks) {
			t.Errorf("%s: %d blocks, %d items in the terminal event", e.Name, len(r.Message.Blocks), len(output))
			continue
		}
		unfinished += len(output) - len(finished)
		blocks += len(output)
		for i := range output {
			compare(t, fmt.Sprintf("%s item %d", e.Name, i), output[i], finished, &r.Message.Blocks[i])
		}
	}
	t.Logf("%d streams, %d blocks, %d of them without output_item.done", n, blocks, unfinished)
}

func verdictAsExpected(name, outcome string) bool {
	if want := ended[name]; want != "" {
		return strings.Contains(outcome, want)
	}
	return strings.HasSuffix(outcome, "error <nil>\n")
}

// compare holds the raw form of a block against the bytes of output_item.done, which is what
// can be replayed, or those of its item in the terminal event. The module oracle holds the
// fields against those of the official SDK.
func compare(t *testing.T, name string, item json.RawMessage, finished map[int]json.RawMessage, b *transcript.Block) {
	t.Helper()
	if len(finished) == 0 {
		return
	}
	for _, f := range finished {
		if string(f) == string(b.Raw) {
			return
		}
	}
	if string(b.Raw) != string(item) {
		t.Errorf("%s: raw is neither the finished item nor the final one: %.200s", name, b.Raw)
	}
}

// TestCorpusSealed: encrypted_content is that of output_item.done in every
// stream; the one of output_item.added cannot be replayed (reference §3.2).
func TestCorpusSealed(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "openai") {
		if e.Status != 200 || !e.Streamed() {
			continue
		}
		_, finished := endOf(t, e.Body)
		tokens := map[string]bool{}
		for _, raw := range finished {
			var item struct {
				Type             string
				EncryptedContent string `json:"encrypted_content"`
			}
			if json.Unmarshal(raw, &item) == nil && item.Type == "reasoning" {
				tokens[item.EncryptedContent] = true
			}
		}
		p := Codec{}.NewParser(stream.Options{})
		_, _ = p.Write(e.Body)
		r, _ := p.Close()
		for _, b := range r.Message.Blocks {
			if b.Type == transcript.BlockReasoning && b.Meta.EncryptedContent != nil {
				n++
				if !tokens[*b.Meta.EncryptedContent] {
					t.Errorf("%s: encrypted_content of %s is not that of output_item.done", e.Name, b.Meta.ID)
				}
			}
		}
	}
	t.Logf("%d sealed reasoning items", n)
}

// TestCorpusReplies: every whole reply decodes, item by item, and the same
// response as a stream gives the same reply.
func TestCorpusReplies(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "openai") {
		if e.Status != 200 || e.Streamed() {
			continue
		}
		n++
		whole, err := Codec{}.ParseReply(e.Body, stream.Options{})
		if outcome := string(providertest.OutcomeOf(whole, err)); !verdictAsExpected(e.Name, outcome) {
			t.Errorf("%s: %v", e.Name, err)
		}
		var body struct {
			Object, Status string
			Output         []json.RawMessage
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Output) != len(whole.Message.Blocks) {
			t.Errorf("%s: %d blocks, %d items", e.Name, len(whole.Message.Blocks), len(body.Output))
			continue
		}
		for i := range body.Output {
			compare(t, fmt.Sprintf("%s item %d", e.Name, i), body.Output[i], nil, &whole.Message.Blocks[i])
		}
		if err != nil || body.Object != "response" {
			continue
		}
		again, err := parse(stream.Options{}, restream(t, e.Body, body.Status)...)
		if d := cmp.Diff(compact(whole), compact(again)); err != nil || d != "" {
			t.Errorf("%s as a stream: %v\n%s", e.Name, err, d)
		}
	}
	t.Logf("%d replies", n)
}

// compact takes the white space out of raw items: events are one line.
func compact(r stream.Reply) stream.Reply {
	for i := range r.Message.Blocks {
		r.Message.Blocks[i].Raw, _ = json.Marshal(json.RawMessage(r.Message.Blocks[i].Raw))
		if r.Message.Blocks[i].Type == transcript.BlockToolUse && json.Valid(r.Message.Blocks[i].Args) {
			r.Message.Blocks[i].Args, _ = json.Marshal(json.RawMessage(r.Message.Blocks[i].Args))
		}
	}
	return r
}

// restream writes a response as the stream that would have brought it, every
// second item only in the terminal event.
func restream(t *testing.T, body []byte, status string) []string {
	t.Helper()
	var response map[string]json.RawMessage
	var output []json.RawMessage
	if json.Unmarshal(body, &response) != nil || json.Unmarshal(response["output"], &output) != nil {
		t.Fatal("no response")
	}
	last, _ := json.Marshal(json.RawMessage(body))
	events := []string{created}
	for i, item := range output {
		one, _ := json.Marshal(item)
		events = append(events, added(i, string(one)))
		if i%2 == 0 {
			events = append(events, done(i, string(one)))
		}
	}
	return append(events, lifecycle(status, string(last)))
}

// TestEverySplit cuts the seeds and short recordings at every byte.
func TestEverySplit(t *testing.T) {
	paths.CheckEverySplit(t, seeds[0])
	n := 0
	for _, e := range providertest.Corpus(t, "openai") {
		if e.Status == 200 && e.Streamed() && len(e.Body) < 7000 && n < 6 {
			n++
			paths.CheckEverySplit(t, e.Body)
		}
	}
}
