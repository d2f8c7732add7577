package script

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Simulation is what the simulator has to know of a wire: how its requests are read and how its
// provider answers. It is read-only once it is registered; its functions are pure and safe for
// concurrent use.
type Simulation struct {
	Provider
	// Endpoints are the paths that the provider serves. The first that matches decides.
	Endpoints []Endpoint
	// OtherPaths are beginnings of paths under which the provider serves its endpoints as well, each
	// with what it stands for.
	OtherPaths [][2]string
	// Parse reads a request to a model. It never fails: what is wrong with the request, Check says.
	Parse func(r *http.Request, body []byte) Parsed
	// Intent says what a request wants whose document Parse has read.
	Intent func(document *tree.Node) Intent
	// Accepted states what looks like a fault and is none.
	Accepted []rule.Info
	// ListModels and ShowModel are the bodies that tell of the models; ShowModel fails for a model that
	// the provider does not have.
	ListModels func(url.Values) []byte
	ShowModel  func(id string) ([]byte, bool)
	// Refusals are the provider's words by the kinds of [rule.Kinds]. In a message and a parameter {method}, {path},
	// {id}, {tool} and {index} stand for what the request holds.
	Refusals map[string]rule.Refusal
	// Holds reports whether an object of a request is, or has, what the refusals of a kind are about:
	// "image", "token" or "effort".
	Holds func(kind string, object *tree.Node) bool
	// Retry says in a refusal when to come back. Nil: a header says that.
	Retry func(refusal *rule.Refusal, form string, wait time.Duration)
	// UnknownEvent is an event of a type that no client knows, as it stands in a stream.
	UnknownEvent string

	// Dialects are the simulations of servers that speak the wire in a way of their own, by the name of the
	// dialect, and DialectOf returns the name of the dialect that a host speaks, empty for an unknown host.
	// Both are nil for a wire without dialects.
	Dialects  map[string]*Simulation
	DialectOf func(host string) string

	// Compacted is the body that answers a request for a compacted conversation; nil where the provider
	// compacts none.
	Compacted func(Reply) []byte
	// Storage is set where the provider keeps replies.
	Storage *Storage
	// OpenMessage turns a message of a WebSocket into the request that the message stands for. A request
	// that warms up asks for no output. Nil where the provider has no WebSockets.
	OpenMessage func(message *tree.Node) (request []byte, warmsUp bool, refusal *rule.Refusal)
}

// Provider writes the replies of one wire. A Provider is stateless and safe for concurrent use.
type Provider interface {
	// Frames is the whole reply as the wire's smallest pieces, one event each;
	// joined they are the response body.
	Frames(Reply) [][]byte
	// Failure is what reports an error after sent frames of a reply.
	Failure(r Reply, sent int, why *rule.Refusal) [][]byte
	// Header is what accompanies a reply.
	Header(Reply) http.Header
	// Reject is the refusal of a rule in the provider's envelope, with its headers.
	Reject(*rule.Refusal) (status int, header http.Header, body []byte)
}

// Parsed is a request to a model that was read. It is for one goroutine.
type Parsed interface {
	// Check returns the first rule that the request breaks, or nil.
	Check(rule.Env) *rule.Refusal
	// Turn is what the script needs to know of it.
	Turn() (Request, *Refusal)
	// Document is its body, nil when that is not JSON.
	Document() *tree.Node
	// CountTokens is the body that answers a request to count tokens.
	CountTokens() []byte
}

// ParseFunc makes the Parse of a wire that of a Simulation.
func ParseFunc[R Parsed](parse func(*http.Request, []byte) R) func(*http.Request, []byte) Parsed {
	return func(r *http.Request, body []byte) Parsed { return parse(r, body) }
}

// Operation is what a path asks for.
type Operation string

// The operations. Those about stored replies need a [Storage].
const (
	Generate Operation = "generate" // a reply of the model
	Compact  Operation = "compact"  // a compacted conversation
	Count    Operation = "count"    // how many tokens a request has
	Models   Operation = "models"   // what models there are
	Model    Operation = "model"    // one of them
	Stored   Operation = "stored"   // a stored reply: to be told, or forgotten
	Cancel   Operation = "cancel"   // of a reply that is made in the background
	Inputs   Operation = "inputs"   // what a stored reply answers
)

// methods are the ones that an operation allows.
var methods = map[Operation][]string{
	Generate: {http.MethodPost}, Compact: {http.MethodPost}, Count: {http.MethodPost}, Cancel: {http.MethodPost},
	Models: {http.MethodGet}, Model: {http.MethodGet}, Inputs: {http.MethodGet},
	Stored: {http.MethodGet, http.MethodDelete},
}

// Methods returns the methods of requests that an operation allows.
func (o Operation) Methods() []string { return methods[o] }

// Endpoint says what the paths that match ask for. The first group of the pattern, if it has one, is
// the id of the model or of the reply that the path names.
type Endpoint struct {
	Path      *regexp.Regexp
	Operation Operation
}

// Find returns what a path asks for, and the id that it names; no operation for another path.
func (s *Simulation) Find(path string) (op Operation, id string) {
	for _, e := range s.Endpoints {
		if found := e.Path.FindStringSubmatch(path); found != nil {
			return e.Operation, strings.Join(found[1:], "")
		}
	}
	return "", ""
}

// Storage is what a wire has whose provider keeps replies and lets requests go on with one.
type Storage struct {
	// ID is the id of a reply. Keeps reports whether the reply can be asked for again, on any connection,
	// and whether it is made in the background.
	ID    func(Reply) string
	Keeps func(Reply) (keeps, inBackground bool)
	// Queued is the body of a reply that is made in the background, for the client that asked for the reply.
	Queued func(body []byte) []byte
	// Previous is the id of the reply that a request goes on with, "" for none; Lost refuses a request
	// whose previous reply is not there.
	Previous func(document *tree.Node) string
	Lost     func(previous string) *rule.Refusal
	// Continue puts the conversation up to a reply before a request; alone is the same request
	// without the name of that reply.
	Continue func(document *tree.Node, before Reply) (whole, alone []byte)
	// Answer answers a request about a kept reply, nil if there is none, and notes in the reply what
	// the request changes.
	Answer func(op Operation, id string, r *http.Request, kept *Kept) (form Form, writes [][]byte,
		refusal *rule.Refusal)
}

// Kept is a reply that a provider has kept.
type Kept struct {
	Reply Reply
	// InBackground says that the reply is made in the background; Asked counts how often the client looked
	// whether it is there, and Cancelled says that it will never be.
	InBackground, Cancelled bool
	Asked                   int
}

// part is a part of a simulation, and whether it is there.
type part struct {
	name    string
	isThere bool
}

var simulations wires.Table[*Simulation]

// Register adds the simulation of a wire. The error names the wire and the part that is missing.
func Register(wire string, s *Simulation) error {
	if s == nil {
		return fmt.Errorf("wire %q: lacks its simulation", wire)
	}
	asks := func(operations ...Operation) bool {
		return slices.ContainsFunc(s.Endpoints,
			func(e Endpoint) bool { return slices.Contains(operations, e.Operation) })
	}
	parts := []part{
		{"Provider, which writes its replies", s.Provider != nil},
		{"an endpoint that generates", asks(Generate)},
		{"Parse", s.Parse != nil}, {"Intent", s.Intent != nil},
		{"ListModels or ShowModel", s.ListModels != nil && s.ShowModel != nil},
		{"Holds", s.Holds != nil}, {"UnknownEvent", s.UnknownEvent != ""},
		{"a part of Storage", s.Storage == nil || s.Storage.isWhole()},
		{"Storage: OpenMessage needs a Storage", s.Storage != nil || s.OpenMessage == nil},
		{"Storage: it has an endpoint about stored replies", s.Storage != nil || !asks(Stored, Cancel, Inputs)},
		{"Compacted: it has an endpoint that compacts", s.Compacted != nil || !asks(Compact)},
	}
	for _, e := range s.Endpoints {
		parts = append(parts, part{"an operation that is known: the operation " + strconv.Quote(string(e.Operation)) +
			" of an endpoint is not", methods[e.Operation] != nil},
			part{"a path: it has an endpoint without a path, or with more than one group",
				e.Path != nil && e.Path.NumSubexp() <= 1})
	}
	for _, kind := range rule.Kinds {
		r := s.Refusals[kind]
		parts = append(parts, part{"Refusals[" + strconv.Quote(kind) + "] with a status and a message",
			r.Status > 0 && r.Message != ""})
	}
	for _, p := range parts {
		if !p.isThere {
			return fmt.Errorf("wire %q: its simulation lacks %s", wire, p.name)
		}
	}
	return simulations.Add(wire, "a simulation", s)
}

func (s *Storage) isWhole() bool {
	return s.ID != nil && s.Keeps != nil && s.Queued != nil && s.Previous != nil && s.Lost != nil &&
		s.Continue != nil && s.Answer != nil
}

// At returns the simulation of the dialect that a host speaks, of the named dialect where the host is unknown,
// and else that of the wire.
func (s *Simulation) At(host, dialect string) *Simulation {
	if s.DialectOf == nil {
		return s
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return cmp.Or(s.Dialects[cmp.Or(s.DialectOf(host), dialect)], s)
}

// Simulations returns the registered simulations by the name of the wire. The map is read-only.
func Simulations() map[string]*Simulation { return simulations.All() }

// RefusalOf returns the provider's refusal of a kind. Names and values of what the request holds alternate in
// about.
func (s *Simulation) RefusalOf(kind string, about ...string) *rule.Refusal {
	refusal := s.Refusals[kind]
	for pair := range slices.Chunk(about, 2) {
		refusal.Message = strings.ReplaceAll(refusal.Message, "{"+pair[0]+"}", pair[1])
		refusal.Param = strings.ReplaceAll(refusal.Param, "{"+pair[0]+"}", pair[1])
	}
	return &refusal
}

// NoWebSocket refuses a WebSocket where the simulator speaks HTTP only. Clients that
// offer both go on by HTTP at once after status 426.
const NoWebSocket = "WebSocket connections are not supported here. Use HTTP."

// UnknownCoding refuses a body that cannot be unpacked.
const UnknownCoding = "The Content-Encoding of the request is not supported. Use gzip, deflate, br or zstd, or none."
