package providertest_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/provider/codec/anthropic"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/gemini"
	"github.com/meerkat-go/conformance/meerkat/provider/codec/openai"
	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestCorpusSurvives stores every recorded reply, as a session file does and as
// json.Marshal does, and requires it back byte for byte: arguments, thinking,
// signatures, raw wire objects.
func TestCorpusSurvives(t *testing.T) {
	for provider, codec := range map[string]struct {
		parser func(stream.Options) stream.Parser
		reply  func([]byte, stream.Options) (stream.Reply, error)
	}{
		"anthropic": {anthropic.Codec{}.NewParser, anthropic.Codec{}.ParseReply},
		"openai":    {openai.Codec{}.NewParser, openai.Codec{}.ParseReply},
		"gemini":    {gemini.Codec{}.NewParser, gemini.Codec{}.ParseReply},
	} {
		t.Run(provider, func(t *testing.T) {
			replies, blocks, exact := 0, 0, 0
			opts := stream.Options{Lenient: true, Origin: &transcript.Origin{Provider: provider, API: "a", Model: "m"}}
			for _, e := range providertest.Corpus(t, provider) {
				var r stream.Reply
				if e.Streamed() {
					p := codec.parser(opts)
					_, _ = p.Write(e.Body)
					r, _ = p.Close() // broken replies have blocks worth keeping too
				} else {
					r, _ = codec.reply(e.Body, opts)
				}
				if len(r.Message.Blocks) == 0 {
					continue
				}
				replies++
				blocks += len(r.Message.Blocks)
				exact += bytes.Count(survives(t, e.Name, r.Message), []byte(`_exact":"`))
			}
			if replies == 0 {
				t.Error("no reply with blocks in the corpus")
			}
			t.Logf(
				"%d replies, %d blocks, %d of them with bytes that plain JSON would have changed", replies, blocks,
				exact,
			)
		})
	}
}

func survives(t *testing.T, name string, m transcript.Message) []byte {
	t.Helper()
	m.Role = transcript.RoleAssistant
	line, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !json.Valid(line) || !utf8.Valid(line) || bytes.IndexByte(line, '\n') >= 0 {
		t.Fatalf("%s: not a line of JSON: %s", name, line)
	}
	escaped, err := json.Marshal(m)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, form := range [][]byte{line, escaped} {
		var back transcript.Message
		if err := json.Unmarshal(form, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if reflect.DeepEqual(m, back) {
			continue // cmp is far slower
		}
		if diff := cmp.Diff(m, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
	}
	return line
}
