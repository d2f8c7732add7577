package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// thread is a public report of a bug of an agent, as a test of the referee: a short
// recording of the bug, and the same conversation without it.
type thread struct {
	// URL is the issue or pull request that reports the bug.
	URL string `yaml:"thread" data:"required,is=thread"`
	// Title says in a few words what the agent did.
	Title string `yaml:"title" data:"required"`
	// Unconfirmed says that neither a search nor the project's notes have this address.
	Unconfirmed bool `yaml:"unconfirmed"`
	// Class is the row of specs/wire-rules.md that the bug belongs to, e.g. "R1".
	Class string `yaml:"class" data:"required,is=class"`
	// Requirement is the id of the requirement that must see the bug.
	Requirement string `yaml:"requirement" data:"required,is=requirement"`
	// Provider is whose API the exchanges speak, unless they say otherwise.
	Provider string `yaml:"provider" data:"required,is=provider"`
	// Model is the model in the URL of Gemini's requests; others name it in the body.
	Model string `yaml:"model"`
	// Source is what the evidence comes from, as in [specs.Example].
	Source    string                 `yaml:"source" data:"is=source"`
	Processes []specs.ExampleProcess `yaml:"processes"`
	// Unseen says why no requirement can see the bug, "" where one does.
	Unseen string `yaml:"unseen"`
	// Failing shows the bug, Passing the same conversation without it.
	Failing []specs.ExampleExchange `yaml:"failing" data:"required"`
	Passing []specs.ExampleExchange `yaml:"passing" data:"required"`
	// File and Line are where the entry stands.
	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Name is how texts call a thread: "owner/name#123".
func (t thread) Name() string { return threadForm.ReplaceAllString(t.URL, "$1#$2") }

// asExample is one of the two recordings, for the referee.
func (t thread) asExample(exchanges []specs.ExampleExchange) specs.Example {
	return specs.Example{Provider: t.Provider, Model: t.Model, Source: t.Source, Exchanges: exchanges,
		Processes: t.Processes}
}

var (
	threadForm = regexp.MustCompile(`^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)$`)
	classForm  = regexp.MustCompile(`^R\d+$`)
)

var threadRules = map[string]datafile.Rule{
	"thread": datafile.Matching(threadForm,
		"the address of an issue; write https://github.com/OWNER/NAME/issues/NUMBER"),
	"provider": datafile.OneOf(wires.Names()...),
	"source":   datafile.OneOf("cassette", "simulator", "live", "recording"),
	"requirement": func(_, text string) error {
		_, err := specs.FindRequirement(text)
		return err
	},
	"class": func(_, text string) error {
		rules, err := specs.WireRules()
		isRow := slices.ContainsFunc(rules, func(r specs.WireRule) bool { return slices.Contains(r.IDs, text) })
		if err == nil && !(classForm.MatchString(text) && isRow) {
			err = fmt.Errorf("%q is not a row R1, R2, … of specs/wire-rules.md", text)
		}
		return err
	},
}

// readThreads reads every threads/*.yaml below fsys, in order of file and line.
func readThreads(fsys fs.FS) (all []thread, err error) {
	err = datafile.EachFile(fsys, "threads/*.yaml", func(file string, data []byte) error {
		var list []thread
		f := datafile.Read(file, data, &list, datafile.Options{Rules: threadRules, Aliases: true})
		for i, t := range list {
			at := fmt.Sprintf("[%d]", i)
			t.File, t.Line = file, f.Line(at)
			for name, exchanges := range map[string][]specs.ExampleExchange{"failing": t.Failing,
				"passing": t.Passing} {
				for i, x := range exchanges {
					f.AddUnless(x.Process == 0 || x.Process < len(t.Processes),
						fmt.Sprintf("%s.%s[%d].process", at, name, i), "%d is not among the processes", x.Process)
				}
			}
			if i := slices.IndexFunc(all, func(first thread) bool { return first.URL == t.URL }); i >= 0 {
				f.Add(at, "thread %s stands in %s:%d already; keep one", t.URL, all[i].File, all[i].Line)
			}
			all = append(all, t)
		}
		return f.Err()
	})
	return all, err
}
