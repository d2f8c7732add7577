package specs

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

const (
	scenarioDoc      = "scenario.yaml"
	requirementsLine = "requirements:"
)

var (
	efforts    = []string{"none", "low", "medium", "high", "xhigh", "max"}
	toolRoles  = []string{"echo", "fail", "noargs", "slow", "large", "image", "awkward", "any", "unknown", "agent", "await"}
	agentRoles = []string{"agent", "await"} // those that start and control sub-agents
	failures   = []string{"overloaded", "server"}
	// yaml.v3 names no line with an alias that is none.
	yamlErrAlias = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)
	yamlErrLine  = regexp.MustCompile(`^yaml: line (\d+): `)
)

// ParseScenario reads a scenario in txtar form: a comment that says why and
// which requirements it puts to the test, then the file scenario.yaml. file is
// named in errors, which are *ScenarioError; unknown keys are errors.
func ParseScenario(file string, data []byte) (s *Scenario, err error) {
	p := &scenarioParser{file: file}
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *ScenarioError:
			s, err = nil, fault
		default:
			panic(fault)
		}
	}()
	archive := txtar.Parse(data)
	s = &Scenario{Name: scenarioName(file)}
	p.name(s.Name)
	p.parseComment(s, string(archive.Comment))
	p.parseDocument(s, p.parseBody(archive, data))
	p.checkConsistent(s)
	return s, nil
}

// scenarioParser carries the file's name. Its methods panic with
// *ScenarioError, which ParseScenario returns: every method then reads as what
// the format is, not as what could be wrong with it.
type scenarioParser struct{ file string }

func (p *scenarioParser) failAt(line int, format string, args ...any) {
	panic(&ScenarioError{File: p.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (p *scenarioParser) name(name string) {
	if !kebab.MatchString(name) {
		p.failAt(1, "file name %q is not lower case with dashes", name)
	}
}

// parseComment splits the text before the first file into the reason and, from the
// line that starts with "requirements:" to the end, ids.
func (p *scenarioParser) parseComment(s *Scenario, comment string) {
	lines := strings.Split(strings.TrimRight(comment, "\n"), "\n")
	last := len(lines)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, requirementsLine) })
	if at < 0 {
		p.failAt(last, "the comment must end with a line %q and requirement ids", requirementsLine)
	}
	s.Why = strings.TrimSpace(strings.Join(lines[:at], "\n"))
	if s.Why == "" {
		p.failAt(1, "the comment must say why the scenario exists")
	}
	list := strings.TrimPrefix(strings.Join(lines[at:], " "), requirementsLine)
	s.Requirements = strings.Fields(list)
	if len(s.Requirements) == 0 {
		p.failAt(last, "no requirement; name at least one")
	}
	for i, id := range s.Requirements {
		if _, ok := areaOf(id); !ok {
			area, _, _ := strings.Cut(id, "-")
			p.failAt(last, "requirement %q is not AREA-NNN with a known area%s", id, spelling.Hint(area, Areas))
		}
		if slices.Contains(s.Requirements[:i], id) {
			p.failAt(last, "requirement %s stands twice", id)
		}
	}
}

// parseBody returns scenario.yaml with as many empty lines before it as it has
// lines before it in data, so that YAML's line numbers are the file's.
func (p *scenarioParser) parseBody(archive *txtar.Archive, data []byte) []byte {
	var body []byte
	for _, f := range archive.Files {
		marker := []byte("-- " + f.Name + " --")
		line := 1 + bytes.Count(data[:max(0, bytes.Index(data, marker))], []byte("\n"))
		if f.Name != scenarioDoc || body != nil {
			p.failAt(line, "unexpected file %q; a scenario holds one %s", f.Name, scenarioDoc)
		}
		body = append(bytes.Repeat([]byte("\n"), line), f.Data...)
	}
	if body == nil {
		p.failAt(1, "no file %s", scenarioDoc)
	}
	return body
}

func (p *scenarioParser) parseDocument(s *Scenario, body []byte) {
	var doc yaml.Node
	if err := yaml.Unmarshal(body, &doc); err != nil {
		text, line := err.Error(), 1
		if m := yamlErrLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = strings.TrimPrefix(text, m[0])
		} else if m := yamlErrAlias.FindStringSubmatch(text); m != nil {
			line = 1 + bytes.Count(body[:max(0, bytes.Index(body, []byte("*"+m[1])))], []byte("\n"))
			text = strings.TrimPrefix(text, "yaml: ")
		}
		p.failAt(line, "%s", text)
	}
	if len(doc.Content) == 0 {
		p.failAt(1, "%s is empty", scenarioDoc)
	}
	p.parseFields(doc.Content[0], fields{
		"title":  func(n *yaml.Node) { s.Title = p.parseFilledText(n) },
		"system": func(n *yaml.Node) { s.System = p.parseText(n) },
		"limits": func(n *yaml.Node) {
			p.parseFields(n, fields{"turns": func(n *yaml.Node) { s.Limits.Turns = p.parseCount(n) }}, "turns")
		},
		"providers": func(n *yaml.Node) { s.Targets = p.parseTargets(n) },
		"player":    func(n *yaml.Node) { s.Steps = parseList(p, n, p.parseStep) },
		"turns":     func(n *yaml.Node) { s.Turns = parseList(p, n, p.parseTurn) },
		"live":      func(n *yaml.Node) { s.Live = p.oneOf(n, "true") == "true" },
		"needs":     func(n *yaml.Node) { s.ExtraNeeds = parseList(p, n, p.parseAbility) },
	}, "title", "providers", "player")
}

func (p *scenarioParser) parseTargets(n *yaml.Node) []Target {
	given := map[string]Target{}
	known := fields{}
	for _, provider := range providers {
		known[provider] = func(n *yaml.Node) {
			t := Target{Provider: provider}
			p.parseFields(n, fields{
				"model":  func(n *yaml.Node) { t.Model = p.parseFilledText(n) },
				"effort": func(n *yaml.Node) { t.Effort = p.oneOf(n, efforts...) },
			}, "model")
			given[provider] = t
		}
	}
	p.parseFields(n, known)
	var targets []Target
	for _, provider := range providers {
		if t, ok := given[provider]; ok {
			targets = append(targets, t)
		}
	}
	if targets == nil {
		p.failAt(n.Line, "no provider; name at least one of %s", strings.Join(providers, ", "))
	}
	return targets
}

func (p *scenarioParser) parseAbility(n *yaml.Node) Ability {
	var known []string
	for _, a := range Abilities() {
		known = append(known, string(a))
	}
	return Ability(p.oneOf(n, known...))
}

func (p *scenarioParser) parseStep(n *yaml.Node) Step {
	s := Step{Exit: ExitOK, Line: n.Line}
	given := 0
	p.parseFields(n, fields{
		"prompt":    func(n *yaml.Node) { s.Prompt = p.parseFilledText(n); given++ },
		"resume":    func(n *yaml.Node) { s.Resume, s.Prompt = true, p.parseText(n); given++ },
		"fork":      func(n *yaml.Node) { s.Resume, s.Fork, s.Prompt = true, true, p.parseFilledText(n); given++ },
		"compact":   func(n *yaml.Node) { s.Resume, s.Compact = true, p.oneOf(n, "true") == "true"; given++ },
		"turn":      func(n *yaml.Node) { s.Turn, s.Prompt = true, p.parseFilledText(n); given++ },
		"new_key":   func(n *yaml.Node) { s.NewKey = p.oneOf(n, "true") == "true" },
		"effort":    func(n *yaml.Node) { s.DefaultEffort = p.oneOf(n, "default") == "default" },
		"switch":    func(n *yaml.Node) { s.Switch = p.parseSwitch(n) },
		"attach":    func(n *yaml.Node) { s.Attach = p.oneOf(n, AttachDocument, AttachAddress) },
		"image":     func(n *yaml.Node) { s.Image = p.oneOf(n, "true") == "true" },
		"interrupt": func(n *yaml.Node) { s.Interrupt = p.oneOf(n, "true") == "true" },
		"kill":      func(n *yaml.Node) { s.Kill = p.oneOf(n, "true") == "true" },
		"exit": func(n *yaml.Node) {
			s.Exit = Exit(p.oneOf(n, string(ExitOK), string(ExitError), string(ExitAny), string(ExitUnsupported)))
		},
		"says": func(n *yaml.Node) { s.Says = p.parseFilledText(n) },
		"calls": func(n *yaml.Node) {
			s.Calls = parseList(p, n, func(n *yaml.Node) string { return p.oneOf(n, toolRoles...) })
		},
	})
	if given != 1 {
		p.failAt(n.Line, "a step has one of prompt, resume, fork, compact and turn")
	}
	p.checkStep(s)
	return s
}

// checkStep checks which keys of a step go together.
func (p *scenarioParser) checkStep(s Step) {
	if s.NewKey && !s.Resume {
		p.failAt(s.Line, "new_key is for a step with resume: a process has one key")
	}
	if s.DefaultEffort && !s.Resume {
		p.failAt(s.Line, "effort is for a step with resume or fork: a process is started with one effort")
	}
	if s.Switch != nil && (!s.Resume || s.Compact) {
		p.failAt(s.Line, "switch is for a step with resume or fork: a process is started with one model")
	}
	if s.Image && s.Prompt == "" {
		p.failAt(s.Line, "an image goes with a prompt; this step has none")
	}
	if s.Attach != "" && s.Prompt == "" {
		p.failAt(s.Line, "attach is for a step with a prompt; this step has none")
	}
	if s.Kill && s.Interrupt {
		p.failAt(s.Line, "a step has one of interrupt and kill")
	}
}

// parseSwitch reads the name of a model for each provider of a case.
func (p *scenarioParser) parseSwitch(n *yaml.Node) map[string]string {
	models, known := map[string]string{}, fields{}
	for _, provider := range providers {
		known[provider] = func(n *yaml.Node) { models[provider] = p.parseFilledText(n) }
	}
	p.parseFields(n, known)
	return models
}

// checkConsistent checks what only the whole scenario shows.
func (p *scenarioParser) checkConsistent(s *Scenario) {
	for i, step := range s.Steps {
		if (step.Resume || step.Turn) != (i > 0) {
			p.failAt(step.Line, "the first step is a prompt, every other one a resume, a fork, a compact or a turn")
		}
		if step.Kill && i+1 < len(s.Steps) && s.Steps[i+1].Turn {
			p.failAt(s.Steps[i+1].Line, "the process of the step before is killed; go on with resume")
		}
		for _, t := range s.Targets {
			if step.Switch != nil && step.Switch[t.Provider] == "" {
				p.failAt(step.Line, "switch names no model for %s", t.Provider)
			}
		}
	}
	if s.Live {
		p.checkLive(s)
		return
	}
	if i := slices.IndexFunc(s.Steps, func(st Step) bool { return st.Calls != nil }); i >= 0 {
		p.failAt(s.Steps[i].Line, "calls are for scenarios with live: true; here the turns say what is called")
	}
	traffic := slices.ContainsFunc(s.Steps, func(st Step) bool { return st.Exit != ExitUnsupported })
	if traffic != (len(s.Turns) > 0) {
		p.failAt(s.Steps[0].Line, "a scenario has turns, unless every step ends unsupported")
	}
	for i, t := range s.Turns {
		if t.Prompts > 0 && i == 0 {
			p.failAt(t.Line, "the first turn has no turn before it to replace")
		}
		p.checkResults(s.Turns, i)
		if i > 0 && t.Stop == StopPause && s.Turns[i-1].Stop == StopPause {
			p.failAt(t.Line, "the turn before paused; the one that goes on does not pause again")
		}
		for _, target := range s.Targets {
			p.parseExit(t, target.Provider)
			p.wanting(t, target.Provider)
		}
	}
}

// checkResults checks that a turn does not expect more results than the turn before it
// asked for: such a request cannot come.
func (p *scenarioParser) checkResults(turns []Turn, i int) {
	expected := turns[i].Expect
	if i == 0 || expected == nil || turns[i].Prompts > 0 {
		return
	}
	calls := 0
	for j := i - 1; j >= 0; j-- {
		if turns[j].Agent == turns[i].Agent {
			calls = turns[j].countCalls()
			break
		}
	}
	if len(expected.Results) > calls {
		p.failAt(expected.Line, "expects %d results, and the turn before calls %d tools", len(expected.Results), calls)
	}
}

func (t Turn) countCalls() (calls int) {
	for _, b := range t.Emit {
		if b.Kind == KindCall {
			calls++
		}
	}
	return calls
}

// checkLive checks that a live scenario asks for nothing that only a script promises:
// a real model finds its own words.
func (p *scenarioParser) checkLive(s *Scenario) {
	if len(s.Turns) > 0 {
		p.failAt(s.Turns[0].Line, "a live scenario has no turns; the provider's model answers")
	}
	for _, step := range s.Steps {
		if step.Says != "" || step.Exit != ExitOK {
			p.failAt(step.Line, "a step of a live scenario has neither says nor exit; nothing is known of what a model answers")
		}
	}
}

// parseExit checks that a cut or an error has a place for provider, and that the
// turn says anything to it.
func (p *scenarioParser) parseExit(t Turn, provider string) {
	var after After
	switch {
	case t.Cut != nil:
		after = *t.Cut
	case t.Fail != nil:
		after = t.Fail.After
	case t.Stall != nil:
		after = *t.Stall
	}
	if after != nil && after[provider] == 0 {
		p.failAt(t.Line, "after names no event count for %s", provider)
	}
	if len(t.Emit) > 0 && !slices.ContainsFunc(t.Emit, func(b Block) bool { return b.For(provider) }) {
		p.failAt(t.Line, "the turn emits nothing for %s", provider)
	}
}
