package specs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

//go:embed threads/*.yaml
var threadFiles embed.FS

// Thread is a public report of a bug of an agent, as a test of the referee: a short
// recording of the bug, and the same conversation without it.
type Thread struct {
	// URL is the issue or pull request that reports the bug.
	URL string `yaml:"thread" json:"thread"`
	// Title says in a few words what the agent did.
	Title string `yaml:"title" json:"title"`
	// Unconfirmed says that neither a search nor the project's notes have this address.
	Unconfirmed bool `yaml:"unconfirmed,omitempty" json:"unconfirmed,omitempty"`
	// Class is the row of specs/wire-rules.md that the bug belongs to, e.g. "R1".
	Class string `yaml:"class" json:"class"`
	// Requirement is the id of the requirement that must see the bug.
	Requirement string `yaml:"requirement" json:"requirement"`
	// Provider is whose API the exchanges speak, unless they say otherwise.
	Provider string `yaml:"provider" json:"provider"`
	// Model is the model in the URL of Gemini's requests; others name it in the body.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
	// Source is what the evidence comes from, as in [Example].
	Source    string           `yaml:"source,omitempty" json:"source,omitempty"`
	Processes []ExampleProcess `yaml:"processes,omitempty" json:"processes,omitempty"`
	// Unseen says why no requirement can see the bug, "" where one does.
	Unseen string `yaml:"unseen,omitempty" json:"unseen,omitempty"`
	// Failing shows the bug, Passing the same conversation without it.
	Failing []ExampleExchange `yaml:"failing" json:"failing"`
	Passing []ExampleExchange `yaml:"passing" json:"passing"`
	// File and Line are where the entry stands.
	File string `yaml:"-" json:"-"`
	Line int    `yaml:"-" json:"-"`
}

// Name is how texts call a thread: "owner/name#123".
func (t Thread) Name() string {
	return threadForm.ReplaceAllString(t.URL, "$1#$2")
}

// FailingExample is the recording of the bug.
func (t Thread) FailingExample() Example { return t.example(t.Failing) }

// PassingExample is the recording without the bug.
func (t Thread) PassingExample() Example { return t.example(t.Passing) }

func (t Thread) example(exchanges []ExampleExchange) Example {
	return Example{Provider: t.Provider, Model: t.Model, Source: t.Source, Exchanges: exchanges, Processes: t.Processes}
}

// Threads returns the embedded threads in order of file and line. It reads them each
// time: without a cache, programs that do not call it do not carry the files.
func Threads() ([]Thread, error) { return loadThreads(threadFiles) }

// loadThreads reads every threads/*.yaml below fsys and reports at once all that is
// wrong, each with file and line.
func loadThreads(fsys fs.FS) ([]Thread, error) {
	files, err := fs.Glob(fsys, "threads/*.yaml")
	if err != nil {
		return nil, err
	}
	catalogue, err := Requirements()
	if err != nil {
		return nil, err
	}
	var all []Thread
	var errs []error
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, err
		}
		list, err := parseThreads(file, data, requirementIDs(catalogue))
		errs = append(errs, err)
		all = append(all, list...)
	}
	return all, errors.Join(append(errs, findRepeatedThreads(all))...)
}

// parseThreads reads one file: a YAML sequence of entries without unknown keys.
func parseThreads(file string, data []byte, requirements []string) ([]Thread, error) {
	var list []Thread
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", file, yamlFault(data, err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document; keep one sequence", file)
	}
	var nodes []yaml.Node
	if err := yaml.Unmarshal(data, &nodes); err != nil || len(nodes) == 0 {
		return nil, fmt.Errorf("%s: no thread; write a sequence of entries or delete the file", file)
	}
	var errs []error
	for i := range list {
		list[i].File, list[i].Line = file, nodes[i].Line
		for _, fault := range list[i].findFaults(requirements) {
			errs = append(errs, fmt.Errorf("%s:%d: %s", file, nodes[i].Line, fault))
		}
	}
	return list, errors.Join(errs...)
}

// findRepeatedThreads reports threads that stand in two entries.
func findRepeatedThreads(all []Thread) error {
	var errs []error
	first := map[string]Thread{}
	for _, t := range all {
		if f, ok := first[t.URL]; ok {
			errs = append(errs, fmt.Errorf("%s:%d: thread %s stands in %s:%d already; keep one", t.File, t.Line, t.URL, f.File, f.Line))
			continue
		}
		first[t.URL] = t
	}
	return errors.Join(errs...)
}

var (
	threadForm = regexp.MustCompile(`^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)$`)
	classForm  = regexp.MustCompile(`^R\d+$`)
)

// findFaults lists what is wrong with t.
func (t Thread) findFaults(requirements []string) []string {
	var f faults
	f.addUnless(threadForm.MatchString(t.URL), "thread %q is not the address of an issue; write https://github.com/OWNER/NAME/issues/NUMBER", t.URL)
	f.requireText("title", t.Title)
	f.addUnless(classForm.MatchString(t.Class) && isWireRule(t.Class), "class %q is not a row R1, R2, … of specs/wire-rules.md", t.Class)
	f.oneOf("provider", t.Provider, providers...)
	f.addUnless(slices.Contains(requirements, t.Requirement), "%s", requirementAdvice(t.Requirement, requirements))
	if t.Source != "" {
		f.oneOf("source", t.Source, sources...)
	}
	t.findExchangeFaults(&f, "failing", t.Failing)
	t.findExchangeFaults(&f, "passing", t.Passing)
	return f
}

func (t Thread) findExchangeFaults(f *faults, name string, exchanges []ExampleExchange) {
	f.addUnless(len(exchanges) > 0, "%s has no exchange; write one", name)
	for i, x := range exchanges {
		f.addUnless(strings.TrimSpace(x.Request) != "", "%s[%d].request is empty; write the body as sent", name, i)
		f.addUnless(x.Provider == "" || slices.Contains(providers, x.Provider), "%s[%d].provider %q is unknown; use %s", name, i, x.Provider, strings.Join(providers, ", "))
		f.addUnless(x.Process == 0 || x.Process < len(t.Processes), "%s[%d].process %d is not among the processes", name, i, x.Process)
	}
}

// requirementAdvice says what to write in place of an unknown requirement.
func requirementAdvice(id string, known []string) string {
	if id == "" {
		return "requirement is missing; name the one that must see the bug, e.g. " + known[0]
	}
	return fmt.Sprintf("requirement %q is unknown; %s", id, spelling.Advice(id, known))
}

func isWireRule(id string) bool {
	rules, err := WireRules()
	return err == nil && slices.ContainsFunc(rules, func(r WireRule) bool { return slices.Contains(r.IDs, id) })
}
