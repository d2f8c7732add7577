// Package wires is the registry of the wires that this module knows. A wire is one API of one
// provider, such as Anthropic's Messages. Everything that is particular to a wire stands in the
// folder of the wire; all other packages ask the registry and name no provider.
//
// Programs and tests import wires/all, which registers the built-in wires:
//
//	for _, w := range wires.All() {
//		fmt.Println(w.Name, w.Host)
//	}
package wires

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// Wire is one API of one provider. It is read-only once it is registered.
type Wire struct {
	// Name stands in reports, files and flags and never changes: "anthropic".
	Name string
	// Title names the API for people: "Anthropic Messages". Vendor is who offers the API: "Anthropic".
	Title, Vendor string
	Facts
}

// Read reads the file facts.yaml of the wire with a name, which holds everything but the functions. It panics if the
// file, which is part of the program, is wrong.
func Read(name string, file []byte) *Wire {
	w := datafile.Embedded[Wire]("wires/"+name+"/facts.yaml", file, datafile.Options{Untagged: true})
	return &w
}

// Facts are what every part of this module may read about a wire: data, and small functions for
// the shapes that the recorder writes itself.
type Facts struct {
	// Host is the public host of the API, and the only host that may get the provider's key.
	Host string
	// MoreHosts are public hosts of other vendors that speak the wire, with keys of their own.
	MoreHosts []string
	// OtherHosts speak the wire as well and are not intercepted by default.
	OtherHosts []string
	// OwnHosts matches the hosts, in lower case and without a port, whose answers are the
	// provider's own word: its public hosts and the clouds that serve the API under contract.
	OwnHosts *regexp.Regexp
	// Clouds serve models of several providers.
	Clouds []Cloud
	// BasePath is what a base URL of the API ends in: "/v1", or nothing.
	BasePath string
	// Paths matches the paths that show the wire at any host: a gateway, a local server.
	Paths *regexp.Regexp
	// Routes say what a path asks for. The first that matches decides.
	Routes []Route
	// Header and Member are what only this wire asks for: a header, and a member of the body.
	// A request to a foreign host is judged when it has one of them.
	Header, Member string
	// SocketMessage is the type of a request that comes as a message of a WebSocket; empty if the wire
	// has no WebSockets.
	SocketMessage string
	// Required are the headers, with their values, that every request carries.
	Required map[string]string

	// Schemas are the names of the JSON Schemas by which requests are judged, and events or whole replies; empty
	// where they are not judged by a schema.
	RequestSchema, EventSchema string

	Scripts Scripts
	// Habits, Rules and Stops are what the rules about a whole conversation have to know.
	Habits []Habit
	Rules  map[Breach]string
	Stops  Stops
	// ReplyMember is the member that a reply in one piece has. EventStart begins the event that brings
	// such a reply in a stream, and a brace ends the event; empty where a reply is its own event.
	ReplyMember, EventStart string
	// Events are the documented event types of a stream; nil if the provider publishes no list.
	Events []string
	// Tools say how a request offers tools that the client runs.
	Tools Tools
	// Usage says where a reply counts its tokens.
	Usage Usage
	// BetaHeader names the betas that a request asks for; empty if the API has none.
	BetaHeader  string
	Credentials Credentials
	Environment Environment
	Models      Models
	Body        Body
	Headers     Headers
	Volatile    []Volatile
	Errors      Errors
	Ending      Ending
}

// Cloud is a host, or several, that serves models of several providers under their own wires.
type Cloud struct {
	Hosts []string
	// Path is what the path of a request holds when the model is one of this wire's provider.
	Path string
}

// Operation is what a path asks for.
type Operation string

// The operations.
const (
	Generate Operation = "generate" // a reply; the body says whether as a stream
	Stream   Operation = "stream"   // a reply in pieces
	Unary    Operation = "unary"    // a reply in one piece
	Count    Operation = "count"    // tokens of a would-be request
	Compact  Operation = "compact"  // a conversation compacted by the provider
	Stored   Operation = "stored"   // a reply that the provider has kept
	Other    Operation = "other"    // anything without a model: files, batches, lists
)

// Route says what the paths that match ask for.
type Route struct {
	Path      *regexp.Regexp
	Operation Operation
	// Enveloped says that the request stands inside another object. Such requests are recorded
	// and not judged.
	Enveloped bool
	// API names an API of the provider that is not this wire: "the Interactions API of Gemini".
	// Its requests are not judged.
	API string `yaml:"api"`
	// Shared says that other APIs have the path as well, also at the provider's own hosts.
	Shared bool
}

// IsJudged reports whether the requests and replies of the route are judged.
func (r *Route) IsJudged() bool {
	return !r.Enveloped && r.API == "" && r.Operation != Count && r.Operation != Other
}

// RouteOf returns the route of a path, nil if the wire has none.
func (f *Facts) RouteOf(path string) *Route {
	if i := slices.IndexFunc(f.Routes, func(r Route) bool { return r.Path.MatchString(path) }); i >= 0 {
		return &f.Routes[i]
	}
	return nil
}

// URL returns the address of a call at the public host that asks a model for a reply.
func (f *Facts) URL(model string, isStream bool) string {
	path := f.Models.Path
	if isStream && f.Models.StreamPath != "" {
		path = f.Models.StreamPath
	}
	return "https://" + f.Host + strings.ReplaceAll(path, "{model}", model)
}

// Credentials say where keys stand in a request.
type Credentials struct {
	// Header carries the key behind Prefix, which may be empty: "Bearer ".
	Header, Prefix string
	// Others are the headers that may carry a key as well.
	Others []string
	// Parameter is the query parameter that may carry a key, empty if the API documents none.
	Parameter string
	// Accounts are headers that name an account of this provider, or its key, and belong to no other.
	Accounts []string
	// RealKeys are what the provider's keys and tokens begin with.
	RealKeys []string
	// Missing is what the provider says to a request without a key; empty where it has no words of its own.
	Missing string
}

// CredentialHeaders lists the headers that may carry a key to any provider, or to a proxy.
func CredentialHeaders() []string {
	names := []string{"Api-Key", "Proxy-Authorization"}
	for _, w := range All() {
		names = append(append(names, w.Credentials.Header), w.Credentials.Others...)
	}
	return names
}

// IsCredentialParameter reports whether a query parameter of this name carries a key.
func IsCredentialParameter(name string) bool {
	return slices.Contains([]string{"key", "api_key", "apikey", "api-key", "access_token", "token", "auth"},
		strings.ToLower(name))
}

// Environment is how programs are pointed at a wire.
type Environment struct {
	// Keys are the variables that hold the user's key, in the order in which they are looked up.
	Keys []string
	// AgentKeys are the variables in which agents look for their key.
	AgentKeys []string
	// BaseURLs are the variables that agents read the base URL from.
	BaseURLs []string
	// CloudURLs are the variables that agents read the base URL of a cloud from, each with what
	// the base URL ends in.
	CloudURLs map[string]string
	// Owners begin the names of variables that may lead clients of the wire somewhere: "ANTHROPIC_".
	Owners []string
}

// KeyNames are the variables of the user's key, for a sentence: "A or B".
func (e *Environment) KeyNames() string { return strings.Join(e.Keys, " or ") }

// BaseURL returns the base URL of a server that serves all wires, each below its name.
func (w *Wire) BaseURL(server string) string { return server + "/" + w.Name + w.BasePath }

// BaseURLVariables returns the settings that lead clients of the wire to a server that serves all wires.
func (w *Wire) BaseURLVariables(server string) (settings []string) {
	for _, name := range w.Environment.BaseURLs {
		settings = append(settings, name+"="+w.BaseURL(server))
	}
	return settings
}

// Models say how the models of a wire are named and asked.
type Models struct {
	// Path asks for a reply in one piece, StreamPath for a stream where that is another path.
	// {model} stands for the model where the path names it.
	Path, StreamPath string
	// Reply is a short reply in one piece, of {model}, for examples.
	Reply string
	// Default stands for a model that nobody named.
	Default string
	// Families are those of the provider's models at the public host; nil where the host is proof enough.
	Families []string
	// Words occur in the names of the provider's models. The first is what routers put before them.
	Words []string
	// Public matches the names of the models that the provider offers to everybody.
	Public *regexp.Regexp
}

// Scripts say what a scenario can ask of a simulated provider.
type Scripts struct {
	// Model is the model with which scenarios are played that name no model of the wire; empty if
	// only those are played that name one.
	Model string
	// Host is the public host at which Model is asked; empty for that of the wire.
	Host string
	// ByClient says that rkat does not speak the wire: its cassettes are recordings of conform's own client.
	ByClient bool
	// Stops are the ends of replies, Greases the harmless novelties that only this wire has.
	Stops, Greases []string
	// RefusesInText says that a refusal is a text of the reply, LosesReplies that requests name replies
	// that the provider may have lost.
	RefusesInText, LosesReplies bool
}

// Tools are the form in which a request offers tools that the client runs.
type Tools struct {
	// Request is a request with {tools} in the place of the list of tools; List is the path of that list.
	Request, List string
	// Type is the type that each tool has, empty if none.
	Type string
	// Inside is the member of a tool that holds its name, its schema and Members; empty where the tool itself does.
	Inside string
	// Members say more about a tool than its name and its schema.
	Members []string
	// Schema holds the JSON Schema of the arguments, OtherSchema a schema that is not JSON Schema; empty
	// if the API has no such member.
	Schema, OtherSchema string
}

// Usage says where a reply counts its tokens. Each field lists paths, separated by spaces; the first path
// that exists in the reply is used. The paths of the counters are relative to the object at Path.
type Usage struct {
	Path                                            string // of the object with the counters, in a reply or an event
	Input, CacheRead, CacheWrite, Output, Reasoning string
	// ToolInput counts the tokens that the provider's own tools read, on wires where Input leaves them out.
	ToolInput string
	// CacheApart says that tokens read from and written to the cache are no part of Input, ReasoningApart
	// that Reasoning is no part of Output.
	CacheApart, ReasoningApart bool
}

// Body names the members of requests by what they hold.
type Body struct {
	Conversation []string // who said what
	Prompt       []string // the system prompt
	Tools        []string // definitions of tools, and servers of tools
	Envelope     []string // a whole request
	Blocks       []string // one or more blocks of a turn or of a block
	IDs          []string `yaml:"ids"` // an identifier: of that block, or of the block it answers
	CacheMarks   []string // marks of how much of the prefix is cached
	Tokens       []string // what only the provider understands: signatures, encrypted content
	// Token is the member of Tokens that carries the hidden state of an item.
	Token string
	// PromptRoles are the roles of turns that carry the system prompt.
	PromptRoles []string
	// Required are the members without which the provider takes no request.
	Required []string
	// Sampling holds the paths of the members that set each sampling parameter.
	Sampling map[Sampling][]string
	// ResultTypes are the types of blocks that answer a call, ResultMembers the members by which
	// such a block is known where blocks have no type.
	ResultTypes, ResultMembers []string
}

// IsSampling reports whether a path leads to a sampling parameter.
func (b *Body) IsSampling(path string) bool {
	for _, paths := range b.Sampling {
		if slices.Contains(paths, path) {
			return true
		}
	}
	return false
}

// Sampling is a parameter that bounds or steers what the model writes.
type Sampling string

// The sampling parameters.
const (
	LengthLimit Sampling = "length limit"
	StopTexts   Sampling = "stop texts"
	Temperature Sampling = "temperature"
	TopP        Sampling = "top_p"
	TopK        Sampling = "top_k"
	Seed        Sampling = "seed"
)

// Headers are the names of headers, in lower case, by what a recording does with their values.
type Headers struct {
	// Clear are kept. ClearPrefixes are families of headers that are kept.
	Clear, ClearPrefixes []string
	// Accounts hold ids of an organization or a project, which are no secret.
	Accounts []string
	// Payers identify who pays. Their values come back in error messages, and are replaced.
	Payers []string
}

// Volatile is a field in which a request may differ from the recorded one, because no reply
// depends on the field: it labels the caller or tunes a cache.
type Volatile struct {
	// Name stands in cassettes and never changes.
	Name string
	// Path leads to the field: members from the top, "[]" is each element of an array.
	Path []string
	// Text is what the member "text" at the path begins with, empty for any value.
	Text string
}

// Errors are the shapes of what goes wrong.
type Errors struct {
	// Body is the body of an error reply.
	Body func(status int, message string) []byte
	// Event is the event that reports an error inside a stream: its name, possibly empty, and its data.
	Event func(status int, message string) (name string, data []byte)
	// Common is the status of the error event that the provider sends most often.
	Common int
	// Ping is the data of the event that keeps a quiet stream alive, with the event's name; an
	// empty name stands for a comment.
	PingName, PingData string
}

// Ending says how a stream of replies ends.
type Ending struct {
	// Types are the types of the events that end a stream.
	Types []string
	// IsLast reports whether the data of an event ends a stream. It replaces Types.
	IsLast func(data []byte) bool
	// IsWhole reports whether a stream reached its end, by its body and the data of its whole
	// events. It is asked when no event has one of Types.
	IsWhole func(body []byte, events iter.Seq[[]byte]) bool
	// IsWholeArray reports whether a stream in the form of a JSON array reached its end. Nil: the
	// wire has no such form.
	IsWholeArray func(body []byte) bool
	// Words names what ends a stream, for people: "message_stop".
	Words string
	// MayGoOn says that more may follow after an event that IsLast is true of.
	MayGoOn bool
}
