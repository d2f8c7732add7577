// Package evidence holds what the referee judges: the exchanges between one agent
// and its provider, as they were on the wire.
//
// An [Evidence] is one case: its [Exchange] list in the order of the requests and,
// where an agent was run, its processes. [Load] and [Find] read it from files of
// any supported tool (our cassettes, go-vcr, vcrpy, HAR); [FromInteractions] makes
// it from what a proxy recorded:
//
//	recordings, err := evidence.Load("testdata/traffic")
//	for _, r := range recordings {
//		fmt.Println(r.Path, r.Format, len(r.Evidence.Exchanges), len(r.Skipped))
//	}
//
// Exchanges that are not calls of Anthropic Messages, OpenAI Responses or Gemini
// generateContent are not judged; they are listed as skipped with the reason.
// Evidence holds bodies as recorded, which may be private: it is neither logged
// nor written.
package evidence

import (
	"bytes"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Source says where evidence came from.
type Source string

// The sources of evidence.
const (
	SourceCassette  Source = "cassette"
	SourceSimulator Source = "simulator"
	SourceLive      Source = "live"
	SourceRecording Source = "recording" // traffic recorded earlier, by any tool
)

// Evidence is everything recorded of one case, in the order of the requests.
// Checks and mutants do not change it; they work on copies.
type Evidence struct {
	Source    Source
	Case      string // stable name, e.g. "thinking-tool-loop/anthropic"
	Exchanges []Exchange
	// Models says which models the agent may ask for. nil: the embedded policy holds for
	// our own runs, and nothing is known of recordings.
	Models *specs.ModelPolicy
	// Prices are those of the user, by which findings say what a loss costs; nil for none.
	Prices *specs.Prices
	// Limits are what the agent was told that it may spend. The zero value is none.
	Limits specs.Limits
	// Side matches a text of the system prompt, or the last prompt, of requests that the
	// profile of the agent says to be beside its conversation.
	Side []*regexp.Regexp
	// PromisesExit says that the agent exits 0 only if the last reply is an answer. Of others
	// an exit code is their own matter.
	PromisesExit bool
	Process      []Process // the processes of the agent; empty where a recording does not say
	// ToolRuns is what our own tools noted; nil where they were not offered, or where a
	// process was killed and nobody can know what it would have done.
	ToolRuns []ToolRuns
}

// ToolRuns says how often a tool of ours was asked for and run with the same arguments.
type ToolRuns struct {
	Tool      string `yaml:"tool"`      // its name, such as conform_echo
	Arguments string `yaml:"arguments"` // JSON; "" stands for all arguments together
	Asked     int    `yaml:"asked"`     // by the model, in replies that may be cut short
	Ended     int    `yaml:"ended"`     // how often it ran to its end
}

// Providers lists whose traffic ev holds, in lexical order. The slice is the
// caller's.
func (ev *Evidence) Providers() []string {
	var names []string
	for i := range ev.Exchanges {
		if name := ev.Exchanges[i].Provider; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Exchange is one request and its response.
type Exchange struct {
	// Index is the ordinal in the case, from 0. It has gaps where a recording
	// holds exchanges that are not judged, so it is not an index of a slice.
	Index    int
	Provider string
	Request  Request
	Response Response
	// Process is the ordinal of the agent process that sent it, from 0; resume
	// starts a new process. -1 when unknown: of recordings, only those of our recorder
	// say it.
	Process int
	// WebSocket is the ordinal, from 1, of the WebSocket that carried the request as a
	// message; 0 for plain HTTP.
	WebSocket int
	// Missed is set when a replaying proxy had no answer for the request: the
	// response is then the proxy's, not the provider's.
	Missed bool
	// Provenance says who gave the response.
	Provenance Provenance
	// Date is when the response was given by the clock of who gave it, else when the
	// recording was made; the zero time when neither is known.
	Date time.Time
	// Started is when the request began by the clock of who recorded it, the zero time when that is not known. Took is
	// the time until the response ended.
	Started time.Time
	Took    time.Duration
}

// ReadRequest decodes the request.
func (x *Exchange) ReadRequest() *wire.Request {
	return wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body)
}

// ReadReply decodes the response.
func (x *Exchange) ReadReply() *wire.Reply {
	return wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body)
}

// ToJudge returns the exchange in the form in which the rules of replies take it.
func (x *Exchange) ToJudge(reply *wire.Reply) *rule.Exchange {
	out := &rule.Exchange{Wire: x.Provider, Method: x.Request.Method, URL: x.Request.URL,
		RequestHeader: x.Request.Header, Request: x.Request.Body,
		Status: x.Response.Status, Header: x.Response.Header, Body: x.Response.Body, WebSocket: x.WebSocket > 0,
		Reply: reply}
	for _, c := range x.Response.Chunks {
		out.Chunks = append(out.Chunks, rule.Chunk(c))
	}
	return out
}

// ToInteraction returns request and reply in the form in which a recorder keeps them.
func (x *Exchange) ToInteraction() cassette.Interaction {
	return cassette.Interaction{
		Request: cassette.Request{Method: x.Request.Method, URL: x.Request.URL, Header: x.Request.Header,
			Body: x.Request.Body},
		Response: cassette.Response{Status: x.Response.Status, Header: x.Response.Header, Body: x.Response.Body},
	}
}

// Provenance says who gave the response of an exchange. [Exchange.ProviderAnswered]
// decides by it whether the provider has spoken.
type Provenance string

// The provenances. A recording weakens what it knows, never strengthens it: what a
// simulator or a script answered stays theirs whatever URL the request has.
const (
	// ProvenanceLive is a response of the provider to our own recorder, which
	// connected to the host in the URL.
	ProvenanceLive Provenance = "live"
	// ProvenanceForeign is a response that another tool recorded and that is declared
	// to be of the host in the URL.
	ProvenanceForeign Provenance = "foreign"
	// ProvenanceUndeclared is a response that another tool recorded, and nobody says
	// who gave it. [Recording.DeclareForeign] says it.
	ProvenanceUndeclared Provenance = "undeclared"
	// ProvenanceSimulator is a response of our simulator.
	ProvenanceSimulator Provenance = "simulator"
	// ProvenanceSynthetic is a response of a scripted server, of a cassette that is
	// replayed, or of an upstream in the provider's place.
	ProvenanceSynthetic Provenance = "synthetic"
	// ProvenanceInjected is a response that a scenario, a fault plan or a proxy put in.
	ProvenanceInjected Provenance = "injected"
	// ProvenanceUnknown is everything else: a request to a base URL or to this machine,
	// a recording that has lost what it said of itself.
	ProvenanceUnknown Provenance = ""
)

// Request is what the agent sent. Body is nil when the source did not keep it,
// which says nothing about what was sent.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
}

// SaysTheSame reports whether two requests have the same headers and the same body.
func (r Request) SaysTheSame(other Request) bool {
	return bytes.Equal(r.Body, other.Body) && maps.EqualFunc(r.Header, other.Header, slices.Equal)
}

// Response is what came back. Status is 0 when nothing did. Body is nil when
// the source did not keep it (browsers drop streams), empty when it was empty.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Chunks []Chunk
	// End is "eof", "reset", "client_abort", "h2:CODE", or "" when unknown.
	End string
}

// Chunk is one piece of a response body, complete At after the headers.
type Chunk struct {
	At     time.Duration
	Length int
}

// Process is one run of the agent under test.
type Process struct {
	Args     []string
	ExitCode int // -1 when unknown, as in recordings
	// Remark says what was unusual about the end of the process, as part of a sentence
	// about it: "was ended by SIGSEGV". It is "" for a process that exited.
	Remark string
	Stdout []byte
	Stderr []byte
	// Resumed is set for a process that continued an earlier session.
	Resumed bool
}

// typographic finds the quotes, dashes and ellipses that writers of parsed_body replace, as
// they are and as JSON escapes, what NFKC would make a quote or a backslash of, and escaped
// backslashes, behind which no escape begins.
var typographic = regexp.MustCompile(`\\\\|\\u20(?:1[3489cCdD]|26)|[\x{2013}\x{2014}\x{2018}\x{2019}\x{201C}\x{201D}\x{2026}\x{FF02}\x{FF3C}\x{FE68}]`)

var plainSpelling = map[string]string{
	"\u2013": "-", "\u2014": "--", "\u2018": "'", "\u2019": "'", "\u201c": `\"`, "\u201d": `\"`, "\u2026": "...",
	"\uff02": `\"`, "\uff3c": `\\`, "\ufe68": `\\`,
}

// plainBody spells a JSON body, or events of JSON, as the serialiser of pydantic-ai does that
// writes parsed_body. It respells one side of an exchange and not the other, so that the
// same text would look edited by the client.
func plainBody(body []byte) []byte {
	if body == nil {
		return nil
	}
	body = typographic.ReplaceAllFunc(body, func(found []byte) []byte {
		mark := string(found)
		if mark == `\\` {
			return found
		}
		if found[0] == '\\' {
			code, _ := strconv.ParseUint(mark[2:], 16, 32)
			mark = string(rune(code))
		}
		return []byte(plainSpelling[mark])
	})
	return norm.NFKC.Bytes(body)
}

// FromInteractions turns what the proxy recorded into evidence called name. The
// bodies share the memory of list. Process is -1 in every exchange, for the
// caller to set. Exchanges with other providers are listed as skipped.
func FromInteractions(name string, source Source, list []cassette.Interaction) (Evidence, []Skip) {
	ev := Evidence{Source: source, Case: name}
	skipped := ev.addInteractions(interchange.Recording{Interactions: list, Provenance: sourceProvenance[source]})
	return ev, skipped
}

// sourceProvenance is the provenance of what a source answers. A cassette that is
// replayed does not judge the request that it gets.
var sourceProvenance = map[Source]string{
	SourceCassette: cassette.ProvenanceSynthetic, SourceSimulator: cassette.ProvenanceSimulator,
	SourceLive: cassette.ProvenanceLive, SourceRecording: interchange.ProvenanceUndeclared,
}
