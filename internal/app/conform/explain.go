package conform

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
)

const explainHelp = `Explain an id that conform, recorder, rkat or the simulator prints:

  conform explain SIG-001            a requirement; also its checks and mutants
  conform explain A-34               a rule of a provider, a regression, a pitfall
  conform explain SV-A7              what a server owes its clients; GW- for gateways
  conform explain foreign-thinking   a rule for handing over to another model
  conform explain not-testable       a verdict
  conform explain degraded           what a breach leads to
  conform explain exit-3             an exit code of all three programs
  conform explain recorder:3         an exit code of one of them
  conform explain thinking-tool-loop a scenario

Letters may be of either case. Each explanation names the ids that it cites and
those that cite it. Exits 2 for an unknown id and names the nearest ones.`

func (a *app) explainCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain one id: a requirement, a provider's rule, a verdict, an exit code",
		Long:  explainHelp + "\n--json prints requirement.v2 for a requirement, else " + report.ExplainSchema + ".",
		Example: `  conform explain SIG-001
  conform explain A-34`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("explain: takes one id; run: conform list")
			}
			index, err := newGlossary()
			if err != nil {
				return err
			}
			found, err := index.find(args[0])
			switch {
			case err != nil:
				return err
			case asJSON && found[0].requirement != nil:
				r := found[0].requirement
				return report.WriteJSON(a.JSON(), r)
			case asJSON:
				return report.WriteJSON(a.JSON(), explanation{report.ExplainSchema, found})
			}
			for i, e := range found {
				if i > 0 {
					fmt.Fprintln(a.Stdout)
				}
				writeEntry(a.Stdout, e)
			}
			return nil
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// explanation is the output of conform explain --json, except for a requirement.
type explanation struct {
	Schema  string   `json:"schema"`
	Entries []*entry `json:"entries"`
}

// entry explains one id.
type entry struct {
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Aliases are other names of the same thing.
	Aliases []string `json:"aliases,omitempty"`
	Title   string   `json:"title"`
	// Origin says where the id is defined.
	Origin   string      `json:"origin,omitempty"`
	Sections []paragraph `json:"sections,omitempty"`
	// Cites are the ids that the explanation names, CitedBy those whose
	// explanations name this one.
	Cites   []citedID `json:"cites,omitempty"`
	CitedBy []citedID `json:"cited_by,omitempty"`

	// requirement is set for a requirement, which has a form of its own.
	requirement *specs.Requirement
	// related are ids that it cites without saying so in its sections.
	related []string
}

// The kinds of ids.
const (
	kindRequirement = "requirement"
	kindCheck       = "check"
	kindMutant      = "mutant"
	kindScenario    = "scenario"
	kindSection     = "section"
	kindHandoff     = "hand-off rule"
	kindVerdict     = "verdict"
	kindExitCode    = "exit code"
	kindConsequence = "consequence of a breach"
	kindDuty        = "duty of a server"
	kindQuestion    = "question to a server"
)

// paragraph is a part of an explanation.
type paragraph struct {
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// citedID names another entry.
type citedID struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Title string `json:"title"`
}

func (e *entry) cited() citedID { return citedID{e.Kind, e.ID, e.Title} }

// glossary holds every id that conform explain knows.
type glossary struct {
	entries []*entry
	// byName holds the entries of every id and alias; a mutant may have the name
	// of a rule. folded is the same with names in small letters.
	byName, folded map[string][]*entry
}

// newGlossary collects the entries of all sources and links them.
func newGlossary() (*glossary, error) {
	g := &glossary{byName: map[string][]*entry{}, folded: map[string][]*entry{}}
	for _, source := range explainSources {
		entries, err := source()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			g.entries = append(g.entries, e)
			for _, name := range append([]string{e.ID}, e.Aliases...) {
				lower := strings.ToLower(name)
				g.byName[name], g.folded[lower] = append(g.byName[name], e), append(g.folded[lower], e)
			}
		}
	}
	for _, e := range g.entries {
		seen := map[*entry]bool{e: true}
		for _, word := range idWords(e.textWithIDs()) {
			for _, to := range g.byName[word] {
				if !seen[to] {
					seen[to] = true
					e.Cites = append(e.Cites, to.cited())
					to.CitedBy = append(to.CitedBy, e.cited())
				}
			}
		}
	}
	return g, nil
}

// textWithIDs is the text in which ids are citations.
func (e *entry) textWithIDs() string {
	texts := append([]string{e.Title}, e.related...)
	for _, p := range e.Sections {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// idWords returns the words of text that can be ids: they have a letter and
// either a digit or a hyphen.
func idWords(text string) (words []string) {
	isPart := func(r rune) bool {
		return r == '§' || r == '.' || r == '-' || r == ':' || r == '/' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isPart(r) }) {
		word = strings.Trim(word, ".-:/_")
		if strings.ContainsAny(word, "0123456789-") && strings.Trim(word, "0123456789-.") != "" {
			words = append(words, word)
		}
	}
	return words
}

// find returns the entries called name, at least one. Case, quotes, spaces for hyphens and what
// reports add to the name of a case (@simulator) do not matter; an unknown name
// is wrong usage.
func (g *glossary) find(name string) ([]*entry, error) {
	wanted, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(name), "`'\""), "@")
	for _, form := range []string{wanted, strings.ReplaceAll(wanted, " ", "-")} {
		if found := g.byName[form]; found != nil {
			return found, nil
		}
		if found := g.folded[strings.ToLower(form)]; found != nil {
			return found, nil
		}
	}
	var names []string
	for _, e := range g.entries {
		names = append(append(names, e.ID), e.Aliases...)
	}
	near := spelling.Rank(wanted, names)
	return nil, cli.Usage("%s: no such id; did you mean %s or %s?", name, strings.Join(near[:2], ", "), near[2])
}
