package providertest

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// CodecSuite describes one codec to the tests that all codecs share: how it
// renders requests, and how a [provider.Client] calls with it.
type CodecSuite struct {
	Codec provider.Codec
	// Model is the model of all requests that name none. StableModel is one whose
	// parameters do not depend on the conversation.
	Model, StableModel string
	// Arguments is the member that holds the arguments of a call.
	Arguments string
	// Parameters and Refusals are the cases of this codec, beside those that are
	// alike for all.
	Parameters map[string]ParameterCase
	Refusals   map[string]RefusalCase
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
	// [Canary] in its message.
	Failed     string
	FailedKind provider.Kind
	// FailedDelay is how long the failure asks to wait, 0 when it does not say.
	FailedDelay time.Duration
	// ConfigHeader is configured in every client.
	ConfigHeader http.Header
	// HealthURI is the path and query that a health check asks for.
	HealthURI string
}

// ParameterCase is a request and what its body must hold and must not.
type ParameterCase struct {
	Request   provider.Request
	Want, Not string
}

// RefusalCase is a request that is not sent and how the error begins.
type RefusalCase struct {
	Request provider.Request
	Want    string
}

// Run runs all tests of the suite.
func (s CodecSuite) Run(t *testing.T) {
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

func (s CodecSuite) providerName() string { return s.Codec.Provider().Name }

// Entry returns the catalogue entry of a model, "" for that of the suite.
func (s CodecSuite) Entry(tb testing.TB, model string) catalog.Entry {
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
func (s CodecSuite) Render(tb testing.TB, req provider.Request) string {
	tb.Helper()
	body, err := s.tryRender(tb, req)
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

func (s CodecSuite) tryRender(tb testing.TB, req provider.Request) ([]byte, error) {
	tb.Helper()
	entry := s.Entry(tb, req.Model)
	req.Model = entry.Model
	if req.Messages == nil {
		req.Messages = []transcript.Message{transcript.User("x")}
	}
	return RenderBody(s.Codec, &req, entry)
}
