package gemini

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/meerkat/provider/providertest"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

const (
	googleai = "vertexai-sdk-test-data__googleai."
	vertexai = "vertexai-sdk-test-data__vertexai."
	mocks    = "deprecated-generative-ai-js__test-utils.mock-responses."
)

// flawed lists the recordings that strict mode refuses, with the words of the
// refusal. Most are fixtures that an SDK's authors cut or edited on purpose;
// lenient marks those that lenient mode reads.
var flawed = map[string]struct {
	say     string
	lenient bool
}{
	// The last event has no blank line after it.
	googleai + "streaming-failure-prompt-blocked-safety/01":              {"unterminated_event", true},
	googleai + "streaming-success-finish-message/01":                     {"unterminated_event", true},
	googleai + "streaming-success-no-content-parts/01":                   {"unterminated_event", true},
	vertexai + "streaming-failure-prompt-blocked-safety-with-message/01": {"unterminated_event", true},
	vertexai + "streaming-success-quotes-escaped/01": {
		"no finishReason; unterminated_event", false,
	},
	// No finishReason ever came.
	vertexai + "streaming-failure-empty-content/01":     {"no finishReason", false},
	vertexai + "streaming-failure-malformed-content/01": {"no finishReason", false},
	// The API broke the stream off with a bare error object.
	vertexai + "streaming-failure-error-mid-stream/01": {"provider reported CANCELLED", false},
	// Bodies without a finishReason: fixtures shortened by hand.
	mocks + "unary-success-basic-reply-long/01":          {"no finishReason", false},
	mocks + "unary-success-basic-reply-short/01":         {"no finishReason", false},
	mocks + "unary-unknown-enum/01":                      {"no finishReason", false},
	vertexai + "unary-failure-empty-content/01":          {"no finishReason", false},
	vertexai + "unary-failure-malformed-content/01":      {"no finishReason", false},
	vertexai + "unary-success-missing-safety-ratings/01": {"no finishReason", false},
	googleai + "unary-failure-only-prompt-feedback/01":   {"no finishReason", false},
	// A speech model that sent its audio and no finishReason.
	"prism__Fixtures.gemini.tts-flash-1-1/01": {"no finishReason", false},
	// JSON of another kind.
	vertexai + "streaming-failure-invalid-json/01": {"no finishReason", false},
	vertexai + "unary-failure-invalid-response/01": {"no finishReason", false},
	// Invented enum values, which must not pass for a normal end.
	vertexai + "streaming-failure-unknown-finish-enum/01":    {`finishReason "FAKE_ENUM"`, true},
	vertexai + "unary-failure-unknown-enum-finish-reason/01": {`finishReason "FAKE_NEW_FINISH_REASON"`, true},
}

// TestCorpus: every recorded stream and body decodes, both paths and all splits
// agree. The module oracle holds the blocks against those of the official SDK.
func TestCorpus(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	streams, replies, blocks := 0, 0, 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status != 200 {
			continue
		}
		outcome := string(paths.Check(t, e.Body, rng))
		want, isFlawed := flawed[e.Name]
		if strings.HasSuffix(outcome, "error <nil>\n") == isFlawed || !strings.Contains(outcome, want.say) {
			t.Errorf("%s: %s", e.Name, outcome[strings.LastIndex(outcome, "error"):])
		}
		p := Codec{}.NewParser(stream.Options{Lenient: true})
		_, _ = p.Write(e.Body)
		r, err := p.Close()
		if (err == nil) != (!isFlawed || want.lenient) {
			t.Errorf("%s: lenient: %v", e.Name, err)
		}
		blocks += len(r.Message.Blocks)
		if e.Streamed() {
			streams++
			continue
		}
		replies++
		whole, wholeErr := Codec{}.ParseReply(e.Body, stream.Options{Lenient: true})
		if d := cmp.Diff(providertest.OutcomeOf(r, err), providertest.OutcomeOf(whole, wholeErr)); d != "" {
			t.Errorf("%s: the parser and Codec{}.ParseReply differ\n%s", e.Name, d)
		}
	}
	t.Logf("%d streams, %d whole replies, %d blocks", streams, replies, blocks)
}

// TestCorpusArrays: a whole reply as the only element of an array, and a stream
// rewritten as an array, give the same outcome.
func TestCorpusArrays(t *testing.T) {
	n := 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status != 200 || flawed[e.Name].say != "" {
			continue
		}
		elements := []string{string(e.Body)}
		if e.Streamed() {
			elements = nil
			for _, p := range providertest.Payloads(e.Body) {
				elements = append(elements, string(p))
			}
		}
		if len(elements) == 0 {
			continue // it is an array
		}
		n++
		elements = oneLine(elements)
		r, err := parse(stream.Options{}, elements...)
		p := Codec{}.NewParser(stream.Options{})
		_, _ = p.Write([]byte("[" + strings.Join(elements, ",\r\n") + "]"))
		again, againErr := p.Close()
		if d := cmp.Diff(r.Message, again.Message); d != "" || err != nil || againErr != nil {
			t.Errorf("%s: %v, %v\n%s", e.Name, err, againErr, d)
		}
	}
	t.Logf("%d replies", n)
}

// oneLine puts every element on one line, as an event has it.
func oneLine(elements []string) []string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(e)
	}
	return out
}

// TestEverySplit cuts the seeds and short recordings at every byte.
func TestEverySplit(t *testing.T) {
	for _, s := range seeds {
		paths.CheckEverySplit(t, s)
	}
	n := 0
	for _, e := range providertest.Corpus(t, "gemini") {
		if e.Status == 200 && e.Streamed() && len(e.Body) < 3000 && n < 8 {
			n++
			paths.CheckEverySplit(t, e.Body)
		}
	}
}
