package specs

import (
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
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
	Name string `yaml:"-"`
	// Why says what goes wrong in agents that fail it.
	Why string `yaml:"-"`
	// Requirements are the ids whose rule the scenario puts to the test. A run
	// that shows nothing about one of them proves nothing.
	Requirements []string `yaml:"-"`
	Title        string   `yaml:"title" data:"required,is=text"`
	// Live says that a real model answers, in its own words: the scenario has no
	// turns, and its steps say only which tools must be called.
	Live bool `yaml:"live" data:"one=true"`
	// IsLenient says that the scenario came from [Scenario.Lenient].
	IsLenient bool `yaml:"-"`
	// IsSimulated says that no recording of the scenario is kept: only the simulator
	// answers it.
	IsSimulated bool `yaml:"-"`
	// Limits are what each process of the agent may spend, where it can be told.
	Limits Limits `yaml:"limits"`
	// System is the system prompt of every step, possibly empty.
	System string `yaml:"system" data:"is=text"`
	// Targets are the models the scenario runs with: those that the file names in the order of the
	// registry, then those of wires that have a model for scenarios and can do what the turns ask for.
	Targets []Target `yaml:"-"`
	Steps   []Step   `yaml:"-"`
	Turns   []Turn   `yaml:"-"`
	// ExtraNeeds are abilities that an agent needs although neither steps nor turns show
	// it, see [Scenario.Needs].
	ExtraNeeds []Ability `yaml:"needs" data:"is=ability"`
}

// Limits bound what a process of an agent may spend. A zero field is not a limit.
type Limits struct {
	// Turns is how many replies of the model it may ask for, retries aside.
	Turns int `yaml:"turns,omitempty" data:"required,min=1" json:"turns,omitempty"`
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
	Provider string `yaml:"-"`
	Model    string `yaml:"model" data:"required"`
	Effort   string `yaml:"effort" data:"one=none low medium high xhigh max"`
}

// Step is one prompt. The first step starts a process. A step with Resume continues
// the session of the step before it in a new process; Prompt may then be empty. A step
// with Turn goes on in the same process.
type Step struct {
	Prompt string `yaml:"prompt" data:"choice,or=resume fork turn,is=text"`
	Resume bool   `yaml:"-"`
	// Fork says, together with Resume, that the process continues a copy of the session:
	// what follows goes on with the copy.
	Fork bool `yaml:"-"`
	// Compact says, together with Resume, that the process summarises the session and
	// gets no prompt.
	Compact bool `yaml:"compact" data:"choice,one=true"`
	Turn    bool `yaml:"-"`
	// Switch is the model that the process of a step with Resume is started with, by the
	// provider of the case. It may be another provider's. Nil keeps the model.
	Switch map[string]string `yaml:"switch" data:"keys=provider,filled"`
	// DefaultEffort says that the step asks for no effort: the user who was refused one does
	// not ask for it again.
	DefaultEffort bool `yaml:"-"`
	// NewKey gives the process of a step with Resume another API key.
	NewKey bool `yaml:"new_key" data:"one=true"`
	// Image says that an image goes with the prompt.
	Image bool `yaml:"image" data:"one=true"`
	// Attach is what else goes with the prompt: AttachDocument or AttachAddress, "" for
	// nothing.
	Attach string `yaml:"attach" data:"one=document address"`
	// Interrupt says that the prompt is called off while the provider is silent or a
	// tool runs.
	Interrupt bool `yaml:"interrupt" data:"one=true"`
	// Kill says that the process is killed at that moment, and cannot clean up.
	Kill bool `yaml:"kill" data:"one=true"`
	Exit Exit `yaml:"exit" data:"one=ok error any unsupported"`
	// Says is what the process must write to its standard output; "" is
	// anything. It may hold nonces, as Prompt may.
	Says string `yaml:"says" data:"filled,is=text"`
	// Calls are the roles of the tools that the model must call in the step, each at
	// least once. Only steps of a live scenario have them.
	Calls []string `yaml:"calls" data:"is=role"`
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
	Expect *Expectation `yaml:"expect"`
	// Emit may be empty when Stop is set.
	Emit []Block `yaml:"-"`
	// Prompts, if not 0, makes the turn take the place of the one before it, and
	// share its ordinal, when the request holds at least so many prompts of the
	// user: what is asked again after a turn that failed.
	Prompts int `yaml:"prompts" data:"min=1"`
	// Agent, if not "", makes the turn one of the sub-agent whose task holds this text,
	// which may hold nonces. Its turns are counted apart.
	Agent string `yaml:"agent" data:"filled,is=text"`
	// Stop is why the model stopped. Empty: tool_use after a call, else
	// end_turn.
	Stop Stop `yaml:"stop" data:"is=stop"`
	// Cut, if not nil, aborts the connection after so many wire events.
	Cut *After `yaml:"-"`
	// Fail, if not nil, reports a failure inside the stream.
	Fail *Failure `yaml:"error"`
	// Refuse, if not nil, refuses the request before the turn is sent.
	Refuse *Rejection `yaml:"refuse"`
	// Stall, if not nil, sends nothing more after so many wire events and keeps
	// the connection open until the client leaves.
	Stall *After `yaml:"-"`
	// Times, if not 0, is how often Cut, Fail or Stall happens to the same request
	// before the turn arrives whole. 0 is always.
	Times int `yaml:"times" data:"min=1"`
	// Lost says that the provider forgets the reply: no later request can name it.
	Lost bool `yaml:"lost" data:"one=true"`
	// Grease is what else the reply holds.
	Grease []Grease `yaml:"grease" data:"is=grease"`
	Chunks Chunks   `yaml:"-"`
	Line   int      `yaml:"-"` // in the scenario file
}

// Expectation is what a request must hold for its turn. Each text is a part of
// what is there and may hold nonces.
type Expectation struct {
	// Prompt is in the user's last words; "" is anything.
	Prompt string `yaml:"prompt" data:"filled,is=text"`
	// Results are in the results that follow the model's last turn, in order.
	// Nil is any results, none among them.
	Results []string `yaml:"results" data:"is=text"`
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
	Kind  string `yaml:"kind" data:"required,one=overloaded server"`
	After After  `yaml:"after" data:"required,keys=provider,min=1"`
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
	Kind  BlockKind `yaml:"-" data:"chosen"`
	Parts []string  `yaml:"thinking" data:"choice,single,is=text"`     // thinking
	Text  string    `yaml:"text" data:"choice,or=signed_text,is=text"` // text, signed_text
	// Role names a conformance tool ("echo", "fail", "noargs", "slow", "large",
	// "image", "awkward"), resolved from the request's own tool list, since agents
	// rename the tools they offer. "any" is the first tool of the list that changes
	// nothing, "unknown" a tool that no request offers. "agent" starts a sub-agent and
	// "await" waits for those that were started.
	Role string `yaml:"-"`
	// Fill, if not "", takes the place of Args: arguments that fulfil the
	// tool's own schema, with this for free text.
	Fill string `yaml:"-"`
	// Args are the argument bytes exactly as streamed; empty means that none
	// are.
	Args []byte `yaml:"-"`
	// Partial says that Args end in the middle, because the turn ran out of tokens
	// or the model wrote no JSON: the call is its last block and cannot be run.
	Partial bool `yaml:"-"`
	// Search and Code are what the provider's own tool did: search, code.
	Search *Search `yaml:"search" data:"choice"`
	Code   *Code   `yaml:"code" data:"choice"`
	// Only restricts the block to these providers; empty means all.
	Only []string `yaml:"only" data:"is=provider"`
}

// Search is a search of the web by the provider.
type Search struct {
	Query   string  `yaml:"query" data:"required,is=text"`
	Results []Found `yaml:"results" data:"required"`
}

// Found is one result of a Search.
type Found struct {
	Title string `yaml:"title" data:"required,is=text"`
	URL   string `yaml:"url" data:"required,is=text"`
}

// Code is a program that the provider ran, and its output, possibly empty.
type Code struct {
	Source string `yaml:"source" data:"required,is=text"`
	Output string `yaml:"output" data:"is=text"`
}

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

var embeddedSimulated = sync.OnceValues(func() ([]*Scenario,
	error) {
	return loadScenarios(simulatedFiles, simulatedFolder+"*.txtar")
})

const simulatedFolder = "simulated/"

// LiveScenarios returns the embedded scenarios that the providers' own models answer.
// It shares what Scenarios shares.
func LiveScenarios() ([]*Scenario, error) {
	all, err := embeddedLive()
	return slices.Clone(all), err
}

var embeddedLive = sync.OnceValues(func() ([]*Scenario, error) { return loadScenarios(liveFiles, "live/*.txtar") })

// LoadScenarios parses every scenarios/*.txtar below fsys. All that is wrong is
// reported at once, each with file and line.
func LoadScenarios(fsys fs.FS) ([]*Scenario, error) { return loadScenarios(fsys, "scenarios/*.txtar") }

func loadScenarios(fsys fs.FS, pattern string) (all []*Scenario, err error) {
	err = datafile.EachFile(fsys, pattern, func(file string, data []byte) error {
		s, err := ParseScenario(file, data)
		if err == nil {
			s.IsSimulated = strings.HasPrefix(pattern, simulatedFolder)
		}
		all = append(all, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// nonce is a place for a word that cannot be known beforehand: {{nonce}} or
// {{nonce NAME}}.
var nonce = regexp.MustCompile(`\{\{nonce(?: ([a-z0-9-]+))?\}\}`)

// Nonce is the word that stands for a name under a seed: eight letters and
// digits, the same in every text of a scenario and for every provider. A subject
// and a provider that share a seed share the word.
func Nonce(seed, name string) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	mac := hmac.New(sha256.New, []byte(seed))
	mac.Write([]byte("nonce/" + name))
	word := mac.Sum(nil)[:8]
	for i := range word {
		word[i] = alphabet[int(word[i])%len(alphabet)]
	}
	return string(word)
}

// Fresh is text with the words of seed in their places.
func Fresh(text, seed string) string {
	if !strings.Contains(text, "{{nonce") {
		return text
	}
	return nonce.ReplaceAllStringFunc(text, func(place string) string {
		return Nonce(seed, nonce.FindStringSubmatch(place)[1])
	})
}

// lenientTimes is how often a fault happens to an agent that may retry: long enough to
// show what it does, short enough for it to end in seconds.
const lenientTimes = 2

// Lenient returns the scenario for an agent of which nothing is known. Its prompts end
// in a word of the seed, by which the main conversation is told from titles and
// sub-agents; equal prompts end in equal words. Steps may end as [Scenario.LenientExit]
// says, and faults end after some attempts. The result shares what does not change.
func (s *Scenario) Lenient() *Scenario {
	out := *s
	out.IsLenient = true
	out.Steps, out.Turns = nil, nil
	for i, step := range s.Steps {
		if step.Exit = s.LenientExit(i); step.Exit != ExitOK {
			step.Says = ""
		}
		if step.Prompt != "" {
			step.Prompt += " (Reference: {{nonce " + markName(s.Steps, i) + "}})"
		}
		out.Steps = append(out.Steps, step)
	}
	for _, turn := range s.Turns {
		if turn.breaksStream() && turn.Times == 0 {
			turn.Times = lenientTimes
		}
		if turn.Refuse != nil && turn.Refuse.Times > lenientTimes {
			refuse := *turn.Refuse
			refuse.Times = lenientTimes
			turn.Refuse = &refuse
		}
		out.Turns = append(out.Turns, turn)
	}
	return &out
}

// PromptMark is the word of a seed in which the prompt of step i of a lenient scenario
// ends, "" for a step without a prompt.
func (s *Scenario) PromptMark(i int, seed string) string {
	if s.Steps[i].Prompt == "" {
		return ""
	}
	return Nonce(seed, markName(s.Steps, i))
}

// markName names the first step with the prompt of step i.
func markName(steps []Step, i int) string {
	for n, step := range steps {
		if step.Prompt == steps[i].Prompt {
			return "step-" + string(rune('a'+n%26))
		}
	}
	return ""
}
