// Package specs holds what is asked of an agent: the catalogue of requirements,
// and the scenarios that put them to the test.
//
// A [Requirement] is one sentence an agent is held to. A [Scenario] is a script
// with two sides: the steps of the agent under test, and the turns of the
// provider. [Scenarios] returns the embedded ones, [ParseScenario] reads one:
//
//	scenarios, err := specs.Scenarios()
//	for _, s := range scenarios {
//		fmt.Println(s.Name, s.Requirements)
//	}
//
// [WireRules] are the rules of the providers, from wire-rules.md, and [Models]
// says which models an agent may ask for.
//
// The package promises: it is formats, parsers and embedded data only, and
// what it returns is shared and read-only. It depends neither on the simulator nor on
// the referee, so both judge by the same files.
package specs

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
)

//go:embed requirements/*.yaml
var requirementFiles embed.FS

// Requirements returns the embedded catalogue in order of id. The slice is the
// caller's; what its elements point to is shared and must not be changed.
func Requirements() ([]Requirement, error) {
	all, err := embedded()
	return slices.Clone(all), err
}

var embedded = sync.OnceValues(func() ([]Requirement, error) { return loadRequirements(requirementFiles) })

// errUnknownRequirement is wrapped by FindRequirement for an id outside the
// catalogue.
var errUnknownRequirement = errors.New("no such requirement")

// FindRequirement returns the embedded requirement with id, in any case of
// letters, or the duty of servers with the id. For an unknown id the error names the nearest known one.
func FindRequirement(id string) (Requirement, error) {
	all, err := embedded()
	if err != nil {
		return Requirement{}, err
	}
	for _, r := range all {
		if strings.EqualFold(r.ID, id) {
			return r, nil
		}
	}
	if d := FindDuty(strings.ToUpper(id)); d != nil {
		return d.Requirement(), nil
	}
	return Requirement{}, fmt.Errorf("%s: %w; did you mean %s?", id, errUnknownRequirement,
		spelling.Rank(id, requirementIDs(all))[0])
}

func requirementIDs(all []Requirement) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.ID
	}
	return names
}

// loadRequirements reads every requirements/*.yaml below fsys, checks each
// entry and the catalogue as a whole, and returns it in order of id. All that
// is wrong is reported at once, each line with its place and the id.
func loadRequirements(fsys fs.FS) (all []Requirement, err error) {
	home := map[string]string{} // id or check → file
	err = datafile.EachFile(fsys, "requirements/*.yaml", func(file string, data []byte) error {
		list, err := parseRequirements(file, data, home)
		all = append(all, list...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Requirement) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// parseRequirements reads one requirement file: a YAML sequence of entries. file must be called
// after the area it holds, e.g. ord.yaml. An id stands for one sentence, a check id for one check:
// home has those of the files before and gets those of this one.
func parseRequirements(file string, data []byte, home map[string]string) (list []Requirement, err error) {
	f := datafile.Read(file, data, &list, datafile.Options{Rules: rules, Aliases: true})
	for i, r := range list {
		at := f.Entry(i, r.ID)
		r.checkEntry(f, at, strings.TrimSuffix(path.Base(file), ".yaml"))
		for _, id := range append([]string{r.ID}, r.Checks...) {
			f.AddUnless(home[id] == "", at, "%q is already used in %s; ids are unique", id, home[id])
			home[id] = file
		}
	}
	return list, f.Err()
}

//go:embed sets
var setFiles embed.FS

// CurrentSet is the name of the whole catalogue as it is now.
const CurrentSet = "current"

// frozenRequirement is what a set keeps of a requirement: all that decides whether a
// breach turns a run red.
type frozenRequirement struct {
	ID          string      `yaml:"id" data:"required,is=id"`
	Consequence Consequence `yaml:"consequence" data:"required,is=consequence"`
	Where       []Where     `yaml:"where,omitempty"`
	Applies     Applies     `yaml:"applies,omitempty"`
	Since       string      `yaml:"since,omitempty" data:"is=day"`
	Until       string      `yaml:"until,omitempty" data:"is=day"`
	Checks      []string    `yaml:"checks" data:"required"`
}

// SetNames lists the sets: the current one, then the frozen ones by month.
func SetNames() []string {
	names := []string{CurrentSet}
	files, err := fs.Glob(setFiles, "sets/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
}

// Set returns the requirements of a set in order of id. The current one is the
// catalogue without what is withdrawn. A set named by a month, yyyy-mm, is frozen: it
// holds what the catalogue asked for in that month and never becomes stricter.
// Requirements and checks that were added later are left out; a consequence is the
// milder one of then and now. What is withdrawn or narrowed since then is so here, too.
// Not frozen is the code of the checks.
func Set(name string) ([]Requirement, error) {
	all, err := Requirements()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r Requirement) bool { return r.Status == Withdrawn })
	if name == CurrentSet {
		return all, nil
	}
	if !slices.Contains(SetNames(), name) {
		return nil, fmt.Errorf("unknown set %q; use %s", name, strings.Join(SetNames(), " or "))
	}
	file := path.Join("sets", name+".yaml")
	data, err := setFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var frozen []frozenRequirement
	if err := datafile.Read(file, data, &frozen, datafile.Options{Rules: rules}).Err(); err != nil {
		return nil, err
	}
	return freezeRequirements(all, frozen), nil
}

// freezeRequirements holds the requirements of the catalogue to what they were.
func freezeRequirements(catalogue []Requirement, frozen []frozenRequirement) (set []Requirement) {
	for _, r := range catalogue {
		i := slices.IndexFunc(frozen, func(f frozenRequirement) bool { return f.ID == r.ID })
		if i < 0 {
			continue
		}
		f := frozen[i]
		r.Checks = slices.DeleteFunc(slices.Clone(r.Checks),
			func(c string) bool { return !slices.Contains(f.Checks, c) })
		if len(r.Checks) == 0 {
			continue
		}
		r.frozen = &f
		set = append(set, r)
	}
	return set
}

// Severity is the place in [Severities].
func (c Consequence) Severity() int { return slices.Index(Severities, c) }

// Consequence says what a breach of a requirement leads to. A refused or unsafe
// breach is a failure, any other one a warning.
type Consequence string

// The consequences, the worst first. None stands in a row of where: only: the
// rule does not hold there.
const (
	// Refused: the provider refuses the request.
	Refused Consequence = "refused"
	// Unsafe: the provider accepts it, and it goes against the word of the user or
	// of the model: a malformed call is executed, a failed reply is taken for a
	// success, a forbidden model is asked, history is falsified, state is sent to a
	// third party.
	Unsafe Consequence = "unsafe"
	// Degraded: the provider accepts it, and the model sees something else.
	Degraded Consequence = "degraded"
	// Wasteful: the provider accepts it, and cache or tokens are lost.
	Wasteful Consequence = "wasteful"
	None     Consequence = "none"
	// Crash, Wrong and Cosmetic, beside Degraded, are consequences of what a server does, for its
	// clients. Crash: a client ends with an error, or waits for ever.
	Crash Consequence = "crash"
	// Wrong: a client goes on with something else than the model said.
	Wrong Consequence = "wrong"
	// Cosmetic: only people and strict validators notice.
	Cosmetic Consequence = "cosmetic"
)

// Consequences lists those of what an agent does, the worst first, without None.
var Consequences = []Consequence{Refused, Unsafe, Degraded, Wasteful}

// ServerConsequences lists those of what a server does, the worst first.
var ServerConsequences = []Consequence{Crash, Wrong, Degraded, Cosmetic}

// Severities are all consequences, the mildest first.
var Severities = []Consequence{None, Cosmetic, Wasteful, Degraded, Wrong, Unsafe, Refused, Crash}

// IsFailure reports whether a breach is a failure rather than a warning.
func (c Consequence) IsFailure() bool { return c == Refused || c == Unsafe || c == Crash || c == Wrong }

// Meaning is one sentence for users, "" for a value that is not a consequence.
func (c Consequence) Meaning() string {
	switch c {
	case Refused:
		return "The provider refuses the request."
	case Unsafe:
		return "The provider accepts the request, and it goes against the word of the user or of the model."
	case Degraded:
		return "The provider accepts the request, and the model sees something else than it should."
	case Wasteful:
		return "The provider accepts the request, and cache or tokens are lost."
	case Crash:
		return "A client of the server ends with an error, or waits for ever."
	case Wrong:
		return "A client of the server goes on with something else than the model said."
	case Cosmetic:
		return "Only people and strict validators notice what the server did."
	case None:
		return "The rule does not hold there."
	}
	return ""
}

// LenientExit is how step i may end with an agent whose way to handle a fault of the
// provider is not known. Such an agent may retry and answer, or give up with a
// failure; where the scenario is strict about it, both are allowed here. Success with
// half an answer is for the checks to find.
func (s *Scenario) LenientExit(i int) Exit {
	exit := s.Steps[i].Exit
	switch {
	case exit == ExitUnsupported:
		return exit
	case exit == ExitError || s.hasFault(i):
		return ExitAny
	}
	return exit
}

// hasFault reports whether the provider fails in step i.
func (s *Scenario) hasFault(i int) bool {
	for _, at := range s.StepTurns(i) {
		if t := s.Turns[at]; t.IsFault() {
			return true
		}
	}
	return false
}

// IsFault reports whether the turn does not arrive whole at first: it is refused, cut,
// fails in the middle or falls silent.
func (t Turn) IsFault() bool { return t.Refuse != nil || t.breaksStream() }

func (t Turn) breaksStream() bool { return t.Cut != nil || t.Fail != nil || t.Stall != nil }

// endsPrompt reports whether nothing follows the turn before the next prompt: it calls
// no tool of the client and does not pause.
func (t Turn) endsPrompt() bool {
	if t.Stop != "" {
		return t.Stop != StopTool && t.Stop != StopPause
	}
	for _, b := range t.Emit {
		if b.Kind == KindCall {
			return false
		}
	}
	return true
}

// isRefusedFor reports whether the turn never answers a prompt, for the words in it: it is
// the answer to the next one.
func (t Turn) isRefusedFor(prompt string) bool {
	return t.Refuse != nil && t.Refuse.Holds != "" && strings.Contains(prompt, t.Refuse.Holds)
}

// StepTurns are the ordinals of the turns that answer step i when it goes as scripted.
func (s *Scenario) StepTurns(i int) []int {
	at := 0
	for step := range s.Steps {
		turns := s.turnsFrom(at, step+1)
		if step == i {
			return turns
		}
		if len(turns) > 0 && !s.Turns[turns[len(turns)-1]].isRefusedFor(s.Steps[step].Prompt) {
			at = turns[len(turns)-1] + 1
		}
	}
	return nil
}

// turnsFrom are the turns from at on that answer the prompt of an ordinal, up to the one that
// ends it.
func (s *Scenario) turnsFrom(at, prompts int) []int {
	var turns []int
	for ; at < len(s.Turns); at++ {
		if s.Turns[at].Prompts > prompts {
			break
		}
		turns = append(turns, at)
		if s.Turns[at].endsPrompt() || s.Turns[at].breaksStream() {
			break
		}
	}
	return turns
}
