package providertest_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// codecSuite describes one codec to the tests that all codecs share: how it
// renders requests, and how a provider.Client calls with it.
type codecSuite struct {
	Codec provider.Codec
	// Model is the model of all requests that name none. StableModel is one whose
	// parameters do not depend on the conversation.
	Model, StableModel string
	// Arguments is the member that holds the arguments of a call.
	Arguments string
	// Parameters and Refusals are the cases of this codec, beside those that are
	// alike for all.
	Parameters map[string]parameterCase
	Refusals   map[string]refusalCase
	// CheckBody holds one body against the rules of the provider; nil: there are
	// none.
	CheckBody func(t *rapid.T, body []byte)

	// Path and Query are those of a streamed call, UnaryPath that of a whole one;
	// Header lists what every streamed call carries.
	Path, Query, UnaryPath string
	Header                 map[string]string
	// Head and Tail are one streamed reply that says "hello" in two deltas, Unary
	// the same as one body.
	Head, Tail, Unary string
	// Failed is a stream that reports a failure of kind FailedKind with the
	// canaryKey in its message.
	Failed     string
	FailedKind provider.Kind
	// FailedDelay is how long the failure asks to wait, 0 when it does not say.
	FailedDelay time.Duration
	// ConfigHeader is configured in every client.
	ConfigHeader http.Header
	// HealthURI is the path and query that a health check asks for.
	HealthURI string
}

// parameterCase is a request and what its body must hold and must not.
type parameterCase struct {
	Request   provider.Request
	Want, Not string
}

// refusalCase is a request that is not sent and how the error begins.
type refusalCase struct {
	Request provider.Request
	Want    string
}

// Run runs all tests of the suite.
func (s codecSuite) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"golden bodies", s.testGoldenBodies},
		{"parameters", s.testParameters},
		{"refusals", s.testRefusals},
		{"bytes", s.testRenderedBytes},
		{"any messages", s.testAnyMessages},
		{"stream", s.testStream},
		{"unary", s.testUnary},
		{"base URL", s.testBaseURL},
		{"nothing is sent", s.testNothingIsSent},
		{"health", s.testHealth},
		{"throttle", s.testThrottle},
		{"failure inside a stream", s.testFailureInsideStream},
		{"cut stream", s.testCutStream},
		{"stall and cancel", s.testStallAndCancel},
		{"deadline", s.testDeadline},
		{"no listener", s.testNobodyListens},
		{"redirect", s.testRedirect},
		{"content types", s.testWrongContentType},
		{"error bodies", s.testErrorBodies},
		{"key is not printed", s.testKeyIsNeverPrinted},
		{"key in an answer", s.testEchoedKey},
	} {
		t.Run(c.name, c.run)
	}
}

func (s codecSuite) providerName() string { return s.Codec.Provider().Name }

// Entry returns the catalogue entry of a model, "" for that of the suite.
func (s codecSuite) Entry(tb testing.TB, model string) catalog.Entry {
	tb.Helper()
	if model == "" {
		model = s.Model
	}
	m, err := catalog.Unlisted(model)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// Render returns the body for req. A request without a model gets that of the
// suite, one without messages a prompt.
func (s codecSuite) Render(tb testing.TB, req provider.Request) string {
	tb.Helper()
	body, err := s.tryRender(tb, req)
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

func (s codecSuite) tryRender(tb testing.TB, req provider.Request) ([]byte, error) {
	tb.Helper()
	entry := s.Entry(tb, req.Model)
	req.Model = entry.Model
	if req.Messages == nil {
		req.Messages = []transcript.Message{transcript.User("x")}
	}
	return renderBody(s.Codec, &req, entry)
}

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// goldenFile compares got with codec/name, byte for byte.
func goldenFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "codec", name)
	if *update {
		if err := os.WriteFile(path, append(bytes.Clone(got), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with go test -update", err)
	}
	if want = bytes.TrimSuffix(want, []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s differs from byte %d:\ngot  %s\nwant %s", path, commonPrefix(got, want), got, want)
	}
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestCodecs(t *testing.T) {
	for _, s := range []codecSuite{anthropicSuite, openaiSuite, geminiSuite} {
		t.Run(s.providerName(), s.Run)
	}
}

var half = 0.5

// looseSchema is a schema that a strict mode refuses, in a spelling that a JSON
// library would change.
const looseSchema = `{"type":"object", "z":1.0}`
