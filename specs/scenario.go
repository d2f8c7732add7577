package specs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed scenarios/*.txtar
var scenarioFiles embed.FS

//go:embed simulated/*.txtar
var simulatedFiles embed.FS

//go:embed live/*.txtar
var liveFiles embed.FS

// Scenario is one script for two sides: what the subject does, step by step,
// and what the provider answers, turn by turn. It is provider-neutral; the
// simulator compiles the provider's side and the referee the subject's.
//
// A Scenario is read-only once parsed.
type Scenario struct {
	// Name is the file's name without .txtar.
	Name string
	// Why says what goes wrong in agents that fail it.
	Why string
	// Requirements are the ids whose rule the scenario puts to the test. A run
	// that shows nothing about one of them proves nothing.
	Requirements []string
	Title        string
	// Live says that a real model answers, in its own words: the scenario has no
	// turns, and its steps say only which tools must be called.
	Live bool
	// IsLenient says that the scenario came from [Scenario.Lenient].
	IsLenient bool
	// IsSimulated says that no recording of the scenario is kept: only the simulator
	// answers it.
	IsSimulated bool
	// Limits are what each process of the agent may spend, where it can be told.
	Limits Limits
	// System is the system prompt of every step, possibly empty.
	System string
	// Targets are the models the scenario runs with, in the order anthropic,
	// openai, gemini.
	Targets []Target
	Steps   []Step
	Turns   []Turn
	// ExtraNeeds are abilities that an agent needs although neither steps nor turns show
	// it, see [Scenario.Needs].
	ExtraNeeds []Ability
}

// Limits bound what a process of an agent may spend. A zero field is not a limit.
type Limits struct {
	// Turns is how many replies of the model it may ask for, retries aside.
	Turns int `yaml:"turns,omitempty" json:"turns,omitempty"`
}

// Target returns the target of provider.
func (s *Scenario) Target(provider string) (Target, bool) {
	i := slices.IndexFunc(s.Targets, func(t Target) bool { return t.Provider == provider })
	if i < 0 {
		return Target{}, false
	}
	return s.Targets[i], true
}

// Target is one provider and the model to ask for. Effort is "", "none",
// "low", "medium", "high", "xhigh" or "max"; empty leaves it to the agent.
type Target struct {
	Provider string
	Model    string
	Effort   string
}

// Step is one prompt. The first step starts a process. A step with Resume continues
// the session of the step before it in a new process; Prompt may then be empty. A step
// with Turn goes on in the same process.
type Step struct {
	Resume bool
	// Fork says, together with Resume, that the process continues a copy of the session:
	// what follows goes on with the copy.
	Fork bool
	// Compact says, together with Resume, that the process summarises the session and
	// gets no prompt.
	Compact bool
	// Switch is the model that the process of a step with Resume is started with, by the
	// provider of the case. It may be another provider's. Nil keeps the model.
	Switch map[string]string
	// DefaultEffort says that the step asks for no effort: the user who was refused one does
	// not ask for it again.
	DefaultEffort bool
	// NewKey gives the process of a step with Resume another API key.
	NewKey bool
	Turn   bool
	Prompt string
	// Image says that an image goes with the prompt.
	Image bool
	// Attach is what else goes with the prompt: AttachDocument or AttachAddress, "" for
	// nothing.
	Attach string
	// Interrupt says that the prompt is called off while the provider is silent or a
	// tool runs.
	Interrupt bool
	// Kill says that the process is killed at that moment, and cannot clean up.
	Kill bool
	Exit Exit
	// Says is what the process must write to its standard output; "" is
	// anything. It may hold nonces, as Prompt may.
	Says string
	// Calls are the roles of the tools that the model must call in the step, each at
	// least once. Only steps of a live scenario have them.
	Calls []string
	Line  int // in the scenario file
}

// What can go with a prompt beside an image: a PDF, or the address of an image, which the
// provider is to fetch.
const (
	AttachDocument = "document"
	AttachAddress  = "address"
)

// Exit is how a step must end. Codes differ from agent to agent; success and
// failure do not.
type Exit string

// The ends of a step. ExitUnsupported is a failure without any traffic. ExitAny is
// either end: a failure that is reported, or an answer that is whole.
const (
	ExitOK          Exit = "ok"
	ExitError       Exit = "error"
	ExitAny         Exit = "any"
	ExitUnsupported Exit = "unsupported"
)

// Turn is one reply of the provider. The reply to a request is the turn with
// the ordinal of the provider's own turns the request already holds.
type Turn struct {
	// Expect, if not nil, is what the request must hold.
	Expect *Expectation
	// Emit may be empty when Stop is set.
	Emit []Block
	// Prompts, if not 0, makes the turn take the place of the one before it, and
	// share its ordinal, when the request holds at least so many prompts of the
	// user: what is asked again after a turn that failed.
	Prompts int
	// Agent, if not "", makes the turn one of the sub-agent whose task holds this text,
	// which may hold nonces. Its turns are counted apart.
	Agent string
	// Stop is why the model stopped. Empty: tool_use after a call, else
	// end_turn.
	Stop Stop
	// Cut, if not nil, aborts the connection after so many wire events.
	Cut *After
	// Fail, if not nil, reports a failure inside the stream.
	Fail *Failure
	// Refuse, if not nil, refuses the request before the turn is sent.
	Refuse *Rejection
	// Stall, if not nil, sends nothing more after so many wire events and keeps
	// the connection open until the client leaves.
	Stall *After
	// Times, if not 0, is how often Cut, Fail or Stall happens to the same request
	// before the turn arrives whole. 0 is always.
	Times int
	// Lost says that the provider forgets the reply: no later request can name it.
	Lost bool
	// Grease is what else the reply holds.
	Grease []Grease
	Chunks Chunks
	Line   int // in the scenario file
}

// Expectation is what a request must hold for its turn. Each text is a part of
// what is there and may hold nonces.
type Expectation struct {
	// Prompt is in the user's last words; "" is anything.
	Prompt string
	// Results are in the results that follow the model's last turn, in order.
	// Nil is any results, none among them.
	Results []string
	Line    int // in the scenario file
}

// Stop is a provider-neutral stop reason.
type Stop string

// The stop reasons a scenario can ask for.
const (
	StopEnd       Stop = "end_turn"
	StopTool      Stop = "tool_use"
	StopMaxTokens Stop = "max_tokens"
)

// After counts wire events, by provider.
type After map[string]int

// Failure is an error that the provider reports inside a stream with status
// 200, after so many wire events. Kind is "overloaded" or "server".
type Failure struct {
	Kind  string
	After After
}

// Chunks says how the bytes of a stream are cut into writes: Sizes are used in
// turn, whatever they split, down to single bytes of a character. Without
// Sizes each wire event is one write; Whole puts all into one.
type Chunks struct {
	Whole bool
	Sizes []int
}

// BlockKind names what a Block emits.
type BlockKind string

// The kinds of blocks. What each becomes on the wire:
//
//	thinking     anthropic: thinking block and signature. openai: reasoning
//	             item, one summary part per entry of Parts, encrypted content.
//	             gemini: thought parts; the signature rides on the first call or
//	             the last text. Without Parts the thought is withheld: a block
//	             with empty text, an item with an empty summary, no part.
//	redacted     anthropic: redacted_thinking. openai and gemini: a withheld
//	             thought.
//	text         visible text.
//	signed_text  gemini: one text part, possibly empty, that carries a
//	             signature itself. Elsewhere text, or nothing when empty.
//	call         a tool call.
//	search       the provider searches the web. anthropic: server_tool_use and
//	             web_search_tool_result. openai: web_search_call. gemini:
//	             groundingMetadata of the last candidate, and toolCall and
//	             toolResponse for a request that includes them.
//	code         the provider runs code. anthropic: server_tool_use and
//	             code_execution_tool_result, or those of the shell. openai:
//	             code_interpreter_call. gemini: executableCode and
//	             codeExecutionResult.
const (
	KindThinking   BlockKind = "thinking"
	KindRedacted   BlockKind = "redacted"
	KindText       BlockKind = "text"
	KindSignedText BlockKind = "signed_text"
	KindCall       BlockKind = "call"
	KindSearch     BlockKind = "search"
	KindCode       BlockKind = "code"
)

// Block is one thing a provider says.
type Block struct {
	Kind  BlockKind
	Parts []string // thinking
	Text  string   // text, signed_text
	// Role names a conformance tool ("echo", "fail", "noargs", "slow", "large",
	// "image", "awkward"), resolved from the request's own tool list, since agents
	// rename the tools they offer. "any" is the first tool of the list that changes
	// nothing, "unknown" a tool that no request offers. "agent" starts a sub-agent and
	// "await" waits for those that were started.
	Role string
	// Fill, if not "", takes the place of Args: arguments that fulfil the
	// tool's own schema, with this for free text.
	Fill string
	// Args are the argument bytes exactly as streamed; empty means that none
	// are.
	Args []byte
	// Partial says that Args end in the middle, because the turn ran out of tokens
	// or the model wrote no JSON: the call is its last block and cannot be run.
	Partial bool
	// Search and Code are what the provider's own tool did: search, code.
	Search *Search
	Code   *Code
	// Only restricts the block to these providers; empty means all.
	Only []string
	Line int // in the scenario file
}

// Search is a search of the web by the provider.
type Search struct {
	Query   string
	Results []Found
}

// Found is one result of a Search.
type Found struct{ Title, URL string }

// Code is a program that the provider ran, and its output, possibly empty.
type Code struct{ Source, Output string }

// For reports whether provider emits the block.
func (b Block) For(provider string) bool { return emptyOrContains(b.Only, provider) }

// Scenarios returns the embedded scenarios in order of name. The slice is the
// caller's; what its elements point to is shared and must not be changed.
func Scenarios() ([]*Scenario, error) {
	all, err := embeddedScenarios()
	return slices.Clone(all), err
}

var embeddedScenarios = sync.OnceValues(func() ([]*Scenario, error) { return LoadScenarios(scenarioFiles) })

// Simulated returns the embedded scenarios that only the simulator answers: no
// cassettes are made of them. It shares what Scenarios shares.
func Simulated() ([]*Scenario, error) {
	all, err := embeddedSimulated()
	return slices.Clone(all), err
}

var embeddedSimulated = sync.OnceValues(func() ([]*Scenario, error) { return loadScenarios(simulatedFiles, simulatedFolder+"*.txtar") })

const simulatedFolder = "simulated/"

// LiveScenarios returns the embedded scenarios that the providers' own models answer.
// It shares what Scenarios shares.
func LiveScenarios() ([]*Scenario, error) {
	all, err := embeddedLive()
	return slices.Clone(all), err
}

var embeddedLive = sync.OnceValues(func() ([]*Scenario, error) { return loadScenarios(liveFiles, "live/*.txtar") })

// LoadScenarios parses every scenarios/*.txtar below fsys. All that is wrong is
// reported at once, each line with file and line number.
func LoadScenarios(fsys fs.FS) ([]*Scenario, error) { return loadScenarios(fsys, "scenarios/*.txtar") }

func loadScenarios(fsys fs.FS, pattern string) ([]*Scenario, error) {
	files, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	var errs []error
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		s, err := ParseScenario(file, data)
		if s != nil {
			s.IsSimulated = strings.HasPrefix(pattern, simulatedFolder)
		}
		all, errs = append(all, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New(pattern + ": no such file, so there is no scenario to run")
	}
	return all, nil
}

func scenarioName(file string) string { return strings.TrimSuffix(path.Base(file), ".txtar") }

// ScenarioError is a fault of a scenario file and its place.
type ScenarioError struct {
	File string
	Line int
	Text string
}

// Error returns "file:line: text".
func (e *ScenarioError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }
