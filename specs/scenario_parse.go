package specs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/wires"
)

const (
	scenarioDoc      = "scenario.yaml"
	requirementsLine = "requirements:"
)

var agentRoles = []string{"agent", "await"} // those that start and control sub-agents

// scenarioRules are those that the tags of a scenario name.
var scenarioRules = map[string]datafile.Rule{
	"provider": rules["provider"],
	"ability":  datafile.OneOf(namesOf(Abilities())...),
	"role": datafile.OneOf(append([]string{"echo", "fail", "noargs", "slow", "large", "image", "awkward", "any",
		"unknown"}, agentRoles...)...),
	"stop": datafile.OneOf(namesOf([]Stop{StopEnd, StopTool, StopMaxTokens, StopRefusal, StopPause, stopContext,
		StopFilter, StopBlocked})...),
	"grease": datafile.OneOf(namesOf([]Grease{GreaseEvent, GreaseField, GreaseBlock, GreaseStart, GreaseStop,
		GreaseUsage})...),
	"rejection": datafile.OneOf(append([]string{"rate_limit", "quota", "overloaded", "server", "timeout", "context"},
		contentRejections...)...),
	"text": func(_, text string) error {
		if strings.Contains(text, "{{") && strings.Contains(nonce.ReplaceAllString(text, ""), "{{nonce") {
			return errors.New("a nonce is {{nonce}} or {{nonce NAME}}, its name in lower case with dashes")
		}
		return nil
	},
}

// What scenario.yaml has in another form than a [Scenario].
type (
	scenarioEntry struct {
		Scenario  `yaml:",inline"`
		Providers map[string]Target `yaml:"providers" data:"required,keys=provider"`
		Steps     []stepEntry       `yaml:"player" data:"required"`
		Turns     []turnEntry       `yaml:"turns"`
	}
	stepEntry struct {
		Step   `yaml:",inline"`
		Way    string `yaml:"-" data:"chosen"`
		Effort string `yaml:"effort" data:"one=default"`
	}
	turnEntry struct {
		Turn   `yaml:",inline"`
		Emit   []blockEntry `yaml:"emit"`
		Cut    *breakEntry  `yaml:"cut"`
		Stall  *breakEntry  `yaml:"stall"`
		Chunks []chunk      `yaml:"chunks" data:"single"`
	}
	breakEntry struct {
		After After `yaml:"after" data:"required,keys=provider,min=1"`
	}
	blockEntry struct {
		Block    `yaml:",inline"`
		Redacted bool      `yaml:"redacted" data:"choice,one=true"`
		Call     callEntry `yaml:"call" data:"choice"`
	}
	callEntry struct {
		Role    string `yaml:"role" data:"required,is=role"`
		Args    string `yaml:"args" data:"filled,is=text"`
		Fill    string `yaml:"fill" data:"filled,is=text"`
		Partial string `yaml:"partial" data:"filled,is=text"`
	}
	chunk int // a size, or one of the next two
)

const (
	chunkEvent chunk = -iota
	chunkWhole
)

// UnmarshalText reads a size, event or whole.
func (c *chunk) UnmarshalText(text []byte) error {
	if i := slices.Index([]string{"event", "whole"}, string(text)); i >= 0 {
		*c = chunk(-i)
		return nil
	}
	size, err := strconv.Atoi(string(text))
	if *c = chunk(size); err != nil || size < 1 {
		return fmt.Errorf("%q is not a whole number from 1, event or whole", text)
	}
	return nil
}

// UnmarshalText reads a count for all providers.
func (a *After) UnmarshalText(text []byte) error {
	count, err := strconv.Atoi(string(text))
	*a = After{}
	for _, provider := range wires.Names() {
		(*a)[provider] = count
	}
	return err
}

// ParseScenario reads a scenario in txtar form: a comment that says why and
// which requirements it puts to the test, then the file scenario.yaml. The error joins a fault
// for each thing that is wrong, with file and line; unknown keys are faults.
func ParseScenario(file string, data []byte) (*Scenario, error) {
	fault := func(line int, format string, args ...any) (*Scenario, error) {
		return nil, &datafile.Fault{File: file, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	name := strings.TrimSuffix(path.Base(file), ".txtar")
	if !kebab.MatchString(name) {
		return fault(1, "file name %q is not lower case with dashes", name)
	}
	archive := txtar.Parse(data)
	comment := strings.TrimRight(string(archive.Comment), "\n")
	why, list, ok := strings.Cut("\n"+comment, "\n"+requirementsLine)
	last := 1 + strings.Count(comment, "\n")
	ids := strings.Fields(list)
	switch {
	case !ok:
		return fault(last, "the comment must end with a line %q and requirement ids", requirementsLine)
	case strings.TrimSpace(why) == "":
		return fault(1, "the comment must say why the scenario exists")
	case len(ids) == 0:
		return fault(last, "no requirement; name at least one")
	}
	for i, id := range ids {
		if err := rules["id"]("", id); err != nil {
			return fault(last, "requirement %v", err)
		}
		if slices.Contains(ids[:i], id) {
			return fault(last, "requirement %s stands twice", id)
		}
	}
	var body []byte // with as many empty lines before it as it has lines before it in data
	for _, member := range archive.Files {
		line := 1 + bytes.Count(data[:max(0, bytes.Index(data, []byte("-- "+member.Name+" --")))], []byte("\n"))
		if member.Name != scenarioDoc || body != nil {
			return fault(line, "unexpected file %q; a scenario holds one %s", member.Name, scenarioDoc)
		}
		body = append(bytes.Repeat([]byte("\n"), line), member.Data...)
	}
	if body == nil {
		return fault(1, "no file %s", scenarioDoc)
	}
	var entry scenarioEntry
	f := datafile.Read(file, body, &entry, datafile.Options{Rules: scenarioRules})
	if !f.OK() {
		return nil, f.Err()
	}
	s := entry.asScenario(f)
	s.Name, s.Why, s.Requirements = name, strings.TrimSpace(why), ids
	s.checkSteps(f)
	s.checkTurns(f)
	if !f.OK() {
		return nil, f.Err()
	}
	return s, nil
}

func (e *scenarioEntry) asScenario(f *datafile.File) *Scenario {
	s := &e.Scenario
	for _, provider := range wires.Names() {
		if t, ok := e.Providers[provider]; ok {
			t.Provider = provider
			s.Targets = append(s.Targets, t)
		}
	}
	f.AddUnless(s.Targets != nil, "providers", "names no provider; name at least one of %s",
		strings.Join(wires.Names(), ", "))
	for i, entry := range e.Steps {
		step := entry.Step
		step.Exit = cmp.Or(step.Exit, ExitOK)
		step.Resume, step.Fork, step.Turn = slices.Contains([]string{"resume", "fork", "compact"}, entry.Way),
			entry.Way == "fork", entry.Way == "turn"
		step.DefaultEffort = entry.Effort != ""
		isBlank := strings.TrimSpace(step.Prompt) == ""
		f.AddUnless(!isBlank || step.Compact || entry.Way == "resume", fmt.Sprintf("player[%d].%s", i, entry.Way),
			"is blank; write a text")
		s.Steps = append(s.Steps, step)
	}
	for i, entry := range e.Turns {
		at := fmt.Sprintf("turns[%d]", i)
		turn := entry.Turn
		turn.Line = f.Line(at)
		for j, block := range entry.Emit {
			turn.Emit = append(turn.Emit, block.asBlock(f, fmt.Sprintf("%s.emit[%d]", at, j)))
		}
		if entry.Cut != nil {
			turn.Cut = &entry.Cut.After
		}
		if entry.Stall != nil {
			turn.Stall = &entry.Stall.After
		}
		for _, c := range entry.Chunks {
			switch c {
			case chunkWhole:
				turn.Chunks.Whole = true
			case chunkEvent:
			default:
				turn.Chunks.Sizes = append(turn.Chunks.Sizes, int(c))
			}
		}
		s.Turns = append(s.Turns, turn)
	}
	for _, w := range wires.All() {
		if s.isOpenTo(w) {
			s.Targets = append(s.Targets, Target{Provider: w.Name, Model: w.Scripts.Model})
		}
	}
	return s
}

func (e blockEntry) asBlock(f *datafile.File, at string) Block {
	b, call := e.Block, e.Call
	isBlank := func(text string) bool { return strings.TrimSpace(text) == "" }
	f.AddUnless(b.Kind != KindText || !isBlank(b.Text), at+".text", "is blank; write a text")
	if len(b.Parts) == 1 && b.Parts[0] == "" {
		b.Parts = nil
	}
	f.AddUnless(!slices.ContainsFunc(b.Parts, isBlank), at+".thinking",
		"is blank; write a text, or \"\" for a thought that is withheld")
	b.Role, b.Fill, b.Partial = call.Role, call.Fill, call.Partial != ""
	if call.Args+call.Partial != "" {
		b.Args = []byte(call.Args + call.Partial)
	}
	given := slices.DeleteFunc([]string{call.Args, call.Fill, call.Partial}, isBlank)
	f.AddUnless(len(given) < 2, at+".call", "has one of args, fill and partial")
	f.AddUnless(call.Partial == "" || !json.Valid(b.Args), at+".call.partial",
		"ends in the middle of the arguments, and these are whole: %s", b.Args)
	var object map[string]json.RawMessage
	isObject := json.Unmarshal(b.Args, &object) == nil && object != nil
	f.AddUnless(call.Args == "" || isObject, at+".call.args", "is not a string with a JSON object: %s", b.Args)
	return b
}

// checkSteps checks which keys of a step, and which steps, go together.
func (s *Scenario) checkSteps(f *datafile.File) {
	for i, step := range s.Steps {
		at := fmt.Sprintf("player[%d]", i)
		f.AddUnless((step.Resume || step.Turn) == (i > 0), at,
			"the first step is a prompt, every other one a resume, a fork, a compact or a turn")
		f.AddUnless(!step.NewKey || step.Resume, at, "new_key is for a step with resume: a process has one key")
		f.AddUnless(!step.DefaultEffort || step.Resume, at,
			"effort is for a step with resume or fork: a process is started with one effort")
		f.AddUnless(step.Switch == nil || step.Resume && !step.Compact, at,
			"switch is for a step with resume or fork: a process is started with one model")
		f.AddUnless(!step.Image || step.Prompt != "", at, "an image goes with a prompt; this step has none")
		f.AddUnless(step.Attach == "" || step.Prompt != "", at,
			"attach is for a step with a prompt; this step has none")
		f.AddUnless(!step.Kill || !step.Interrupt, at, "a step has one of interrupt and kill")
		f.AddUnless(i == 0 || !s.Steps[i-1].Kill || !step.Turn, at,
			"the process of the step before is killed; go on with resume")
		for _, t := range s.Targets {
			f.AddUnless(step.Switch == nil || step.Switch[t.Provider] != "", at, "switch names no model for %s",
				t.Provider)
		}
		if s.Live {
			f.AddUnless(step.Says == "" && step.Exit == ExitOK, at,
				"a step of a live scenario has neither says nor exit; nothing is known of what a model answers")
		} else {
			f.AddUnless(step.Calls == nil, at,
				"calls are for scenarios with live: true; here the turns say what is called")
		}
	}
	hasTraffic := slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Exit != ExitUnsupported })
	if s.Live {
		f.AddUnless(s.Turns == nil, "turns", "a live scenario has no turns; the provider's model answers")
	} else {
		f.AddUnless(hasTraffic == (s.Turns != nil), "player",
			"a scenario has turns, unless every step ends unsupported")
	}
}

// checkTurns checks which keys of a turn, and which turns, go together.
func (s *Scenario) checkTurns(f *datafile.File) {
	calls := map[string]int{} // of the turn before, by agent
	for i := range s.Turns {
		t, at := &s.Turns[i], fmt.Sprintf("turns[%d]", i)
		for j, b := range t.Emit {
			isLast := j == len(t.Emit)-1 && (t.Stop == StopMaxTokens || t.Stop == StopTool)
			f.AddUnless(!b.Partial || isLast, fmt.Sprintf("%s.emit[%d]", at, j),
				"a partial call is the last block of a turn with stop: max_tokens or stop: tool_use")
		}
		ways := slices.DeleteFunc([]bool{t.Cut != nil, t.Fail != nil, t.Stall != nil},
			func(has bool) bool { return !has })
		f.AddUnless(t.Emit != nil || t.Stop != "", at, "a turn has emit, or a stop and nothing else to say")
		f.AddUnless(len(ways) < 2, at, "a turn has one of cut, error and stall")
		f.AddUnless(t.Times == 0 || len(ways) > 0, at,
			"times says how often a turn breaks off; add cut, error or stall")
		f.AddUnless(t.Prompts == 0 || i > 0, at, "the first turn has no turn before it to replace")
		f.AddUnless(t.Stop != StopPause || i == 0 || s.Turns[i-1].Stop != StopPause, at,
			"the turn before paused; the one that goes on does not pause again")
		if r := t.Refuse; r != nil {
			isAlone := *r == Rejection{Kind: r.Kind}
			f.AddUnless(isAlone || !slices.Contains(contentRejections, r.Kind), at+".refuse",
				"kind %s stands alone; each request is refused that has it", r.Kind)
			f.AddUnless(r.Holds == "" || r.Times == 0, at+".refuse",
				"holds and times exclude each other; each request is refused that holds the text")
			r.Times = max(1, r.Times)
		}
		if e := t.Expect; e != nil {
			f.AddUnless(e.Prompt != "" || e.Results != nil, at+".expect", "an expectation has prompt, results or both")
			f.AddUnless(i == 0 || t.Prompts > 0 || len(e.Results) <= calls[t.Agent], at+".expect",
				"expects %d results, and the turn before calls %d tools", len(e.Results), calls[t.Agent])
		}
		calls[t.Agent] = len(slices.DeleteFunc(slices.Clone(t.Emit), func(b Block) bool { return b.Kind != KindCall }))
		for _, target := range s.Targets {
			t.checkFor(wires.Find(target.Provider),
				func(ok bool, format string, args ...any) { f.AddUnless(ok, at, format, args...) })
		}
	}
}
