// Package script turns the provider's side of a scenario into replies. It
// decides which turn answers a request and what the turn says there; how that
// looks on the wire is a Voice's business, one per provider.
package script

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/simulator/seal"
	"github.com/meerkat-go/conformance/specs"
)

// Form is how a reply is framed.
type Form uint8

// The forms: server-sent events, one JSON document, and Gemini's stream
// without alt=sse, a JSON array in pieces (reference §1.3).
const (
	FormSSE Form = iota
	FormUnary
	FormArray
)

// Request is what a script needs to know of a model call.
type Request struct {
	Provider string
	Model    string
	Form     Form
	// Turns counts the provider's own turns in the request.
	Turns int
	// Prompts counts the messages in which the user said something.
	Prompts int
	// Tools are the names of the tools it offers, in order.
	Tools []string
	// Thinks says that the model thinks at all under the request's settings,
	// Shown that the text of its thoughts is shown.
	Thinks, Shown bool
	// Sealed says that continuity tokens are handed out; OpenAI does so on
	// request only.
	Sealed bool
	// Account is whose key the request carries (seal.Account).
	Account string
	Body    []byte
	// Parsed is what the Voice has read of the request, for its own Frames.
	Parsed any
}

// Voice is one provider's wire form. A Voice is stateless and safe for
// concurrent use.
type Voice interface {
	// Provider is "anthropic", "openai" or "gemini".
	Provider() string
	// Serves reports whether the provider has a model call at the URL path.
	Serves(path string) bool
	// Read understands a model call.
	Read(r *http.Request, body []byte) (Request, *Refusal)
	// Frames is the whole reply as the wire's smallest pieces, one event each;
	// joined they are the response body.
	Frames(Reply) [][]byte
	// Failure is what reports an error after sent frames of a reply.
	Failure(r Reply, sent int, kind string) [][]byte
	// Header is what accompanies a reply.
	Header(Reply) http.Header
	// Refuse is the status, type and body that tell a client no.
	Refuse(*Refusal) (status int, contentType string, body []byte)
}

// Refusal is a request the script does not answer with a reply. Kind is one of
// the Refuse constants; every provider has its own status and words for it.
type Refusal struct {
	Kind    string
	Message string
}

// The kinds of refusals.
const (
	RefuseInvalid    = "invalid"
	RefuseAuth       = "auth"
	RefuseModel      = "model"
	RefuseOverloaded = "overloaded"
	RefuseServer     = "server"
)

// Error returns the kind and the message.
func (r *Refusal) Error() string { return r.Kind + ": " + r.Message }

// Invalid returns a Refusal of a malformed request.
func Invalid(format string, args ...any) *Refusal {
	return &Refusal{Kind: RefuseInvalid, Message: fmt.Sprintf(format, args...)}
}

// Script is the provider's side of one scenario, for every provider. It is
// read-only and safe for concurrent use.
type Script struct {
	Scenario *specs.Scenario
	Key      seal.Key
	// Now is the provider's clock.
	Now func() time.Time
	// Attempts remembers what was turned down; nil turns down for ever.
	Attempts *Attempts
}

// Reply resolves the turn that answers req. Errors are *Refusal.
func (s *Script) Reply(req Request) (Reply, *Refusal) {
	target, ok := s.Scenario.Target(req.Provider)
	if !ok {
		return Reply{}, Invalid("scenario %s does not play with %s", s.Scenario.Name, req.Provider)
	}
	if req.Model != target.Model {
		return Reply{}, &Refusal{Kind: RefuseModel, Message: req.Model}
	}
	i := pick(s.Scenario.Turns, req)
	if i < 0 {
		return Reply{}, Invalid("scenario %s has no turn for a request that holds %d turns and %d prompts", s.Scenario.Name, req.Turns, req.Prompts)
	}
	turn := s.Scenario.Turns[i]
	blocks, refusal := resolve(turn.Emit, req)
	if refusal != nil {
		return Reply{}, refusal
	}
	for i, b := range blocks {
		blocks[i] = b.fresh(s.Key)
	}
	attempt := 0
	if turn.Refuse != nil {
		attempt = s.Attempts.next(req, i)
	}
	return Reply{
		Request: req, Turn: turn, Ordinal: i, Blocks: blocks, Stop: stopOf(turn, blocks),
		Seed: s.Scenario.Name + "/" + req.Provider, Key: s.Key, At: s.Now(),
		Attempt: attempt,
	}, nil
}

// pick returns the index of the turn that answers req, -1 if none does.
func pick(turns []specs.Turn, req Request) int {
	found, ordinal := -1, -1
	for i, t := range turns {
		if t.Prompts == 0 {
			ordinal++
		}
		if ordinal == req.Turns && t.Prompts <= req.Prompts {
			found = i
		}
	}
	return found
}

func stopOf(t specs.Turn, blocks []Block) specs.Stop {
	if t.Stop != "" {
		return t.Stop
	}
	for _, b := range blocks {
		if b.Kind == specs.KindCall {
			return specs.StopTool
		}
	}
	return specs.StopEnd
}

// Block is one thing a reply says, resolved for one request.
type Block struct {
	Kind  specs.BlockKind
	Parts []string // thinking; nil when the text is withheld
	Text  string   // text, signed_text
	Name  string   // call: the tool's name in the request
	Args  []byte   // call: as streamed, nil when nothing is
	// Partial says that Args end in the middle.
	Partial bool
}

// Arguments returns Args, or {} when nothing whole is streamed.
func (b Block) Arguments() []byte {
	if len(b.Args) == 0 || b.Partial {
		return []byte("{}")
	}
	return b.Args
}

func resolve(emit []specs.Block, req Request) ([]Block, *Refusal) {
	var blocks []Block
	for _, e := range emit {
		thought := e.Kind == specs.KindThinking || e.Kind == specs.KindRedacted
		if !e.For(req.Provider) || thought && !req.Thinks {
			continue
		}
		b := Block{Kind: e.Kind, Text: e.Text, Args: e.Args, Partial: e.Partial}
		if req.Shown {
			b.Parts = e.Parts
		}
		if e.Kind == specs.KindCall {
			if b.Name = toolFor(e.Role, req.Tools); b.Name == "" {
				return nil, Invalid("the script calls the role %s; no tool of the request ends in conform_%s", e.Role, e.Role)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// toolFor finds the tool with a role by the end of its name: agents put the
// server's name before it.
func toolFor(role string, tools []string) string {
	for _, t := range tools {
		before, ok := strings.CutSuffix(t, "conform_"+role)
		if ok && (before == "" || strings.HasSuffix(before, "__") || strings.ContainsAny(before[len(before)-1:], "./:")) {
			return t
		}
	}
	return ""
}

// Runs counts the maximal runs of true: adjacent messages of one side are one
// turn.
func Runs(own []bool) int {
	n := 0
	for i, is := range own {
		if is && (i == 0 || !own[i-1]) {
			n++
		}
	}
	return n
}
