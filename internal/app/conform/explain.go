package conform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

const explainHelp = `Explain an id that conform, recorder, rkat or the simulator prints:

  conform explain SIG-001            a requirement; also its checks and mutants
  conform explain SIG                an area of a report: its requirements
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
			found, err := newGlossary().find(args[0])
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
	kindArea        = "area of a report"
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
func newGlossary() *glossary {
	g := &glossary{byName: map[string][]*entry{}, folded: map[string][]*entry{}}
	for _, addEntries := range explainSources {
		addEntries(g)
	}
	for _, e := range g.entries {
		seen := map[*entry]bool{e: true}

		// The text in which ids are citations.
		texts := append([]string{e.Title}, e.related...)
		for _, p := range e.Sections {
			texts = append(texts, p.Text)
		}
		for _, word := range idWords(strings.Join(texts, "\n")) {
			for _, to := range g.byName[word] {
				if !seen[to] {
					seen[to] = true
					e.Cites = append(e.Cites, to.cited())
					to.CitedBy = append(to.CitedBy, e.cited())
				}
			}
		}
	}
	return g
}

// add adds an entry under its id and its aliases.
func (g *glossary) add(e *entry) {
	g.entries = append(g.entries, e)
	for _, name := range append([]string{e.ID}, e.Aliases...) {
		lower := strings.ToLower(name)
		g.byName[name], g.folded[lower] = append(g.byName[name], e), append(g.folded[lower], e)
	}
}

// addSection adds a part to the explanation, unless it is empty.
func (e *entry) addSection(heading string, lines ...string) {
	if text := strings.Join(lines, "\n"); text != "" {
		e.Sections = append(e.Sections, paragraph{heading, text})
	}
}

// idWords returns the words of text that can be ids: they have a letter and
// either a digit or a hyphen.
func idWords(text string) (words []string) {
	isPart := func(r rune) bool {
		return r == '§' || r == '.' || r == '-' || r == ':' || r == '/' || r == '_' || r >= '0' && r <= '9' ||
			r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
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
	wanted = rule.Shorten(wanted)
	near := spelling.Rank(wanted, names)
	return nil, cli.Usage("%s: no such id; did you mean %s or %s?", wanted, strings.Join(near[:2], ", "), near[2])
}

// exitCodeEntries explain the exit codes twice: "recorder:3" is one of the
// recorder, "exit-3" is 3 wherever it occurs.
func exitCodeEntries(g *glossary) {
	byCode := map[int]*entry{}
	for _, c := range cli.ExitCodes("") {
		id := fmt.Sprintf("%s:%d", c.Program, c.Code)
		g.add(&entry{Kind: kindExitCode, ID: id, Title: c.Meaning,
			Aliases: []string{fmt.Sprintf("%s-%d", c.Program, c.Code), fmt.Sprintf("%s-exit-%d", c.Program, c.Code)}})
		general := byCode[c.Code]
		if general == nil {
			general = &entry{Kind: kindExitCode, ID: fmt.Sprintf("exit-%d", c.Code),
				Aliases: []string{fmt.Sprint(c.Code), fmt.Sprintf("exit-code-%d", c.Code)},
				Title:   fmt.Sprintf("what exit code %d means", c.Code)}
			byCode[c.Code] = general
			g.add(general)
		}
		general.addSection(id, c.Meaning)
	}
}

// handoffSections say where one meets the name of a rule.
var handoffSections = []paragraph{{"where it shows",
	"rkat applies the hand-off rules in order when another provider, model or " +
		"account continues a conversation. A degraded event, the degradations counted by --metrics-file and the lines of rkat render " +
		"name the rule that caused them. The stored conversation stays as it was."}}

// handoffEntries are the rules by which rkat hands a conversation over to
// another model; its degradations and metrics print their names.
func handoffEntries(g *glossary) {
	for _, r := range handoff.Rules() {
		g.add(&entry{Kind: kindHandoff, ID: r.Name, Title: r.Sentence, related: r.Provider, Sections: handoffSections})
	}
}

// explainSources add the entries of conform explain, one source a kind of id. The texts stay where the ids are
// defined. An error of embedded files, which tests would find, leaves out their entries.
var explainSources = []func(*glossary){
	areaEntries, requirementEntries, checkEntries, mutantEntries, scenarioEntries, wireRuleEntries, dutyEntries,
	questionEntries, wireSectionEntries, handoffEntries, verdictEntries, consequenceEntries, exitCodeEntries,
}

func requirementEntries(g *glossary) {
	all, _ := specs.Requirements()
	for _, r := range all {
		e := &entry{Kind: kindRequirement, ID: r.ID, Title: r.Title, requirement: &r}
		for _, source := range r.Sources {
			e.related = append(e.related, source.Section)
			if source.Doc == "wire rules" {
				e.related = append(e.related, sectionNumber.ReplaceAllString(source.Section, "§$0"))
			}
		}
		g.add(e)
	}
}

func checkEntries(g *glossary) {
	for _, c := range check.All() {
		aspect := strings.TrimPrefix(c.ID, c.Requirement+"/")
		e := &entry{Kind: kindCheck, ID: c.ID, Title: strings.ReplaceAll(aspect, "-", " "),
			related: []string{c.Requirement}}
		if r, err := specs.FindRequirement(c.Requirement); err == nil {
			e.Title = r.Title + ": " + e.Title
			e.Sections = []paragraph{{"", r.Text}, {"why", r.Why}, {"fix", r.FixOf(c.ID, "", "")}}
		}
		g.add(e)
	}
}

// areaEntries are the areas of a report, with their requirements or duties.
func areaEntries(g *glossary) {
	requirements, _ := specs.Requirements()
	duties, _ := specs.Duties()
	for _, area := range slices.Concat(specs.Areas, specs.DutyAreas) {
		e := &entry{Kind: kindArea, ID: area, Title: specs.AreaName(area)}
		for _, r := range requirements {
			e.related = append(e.related, r.ID)
		}
		for _, d := range duties {
			e.related = append(e.related, d.ID)
		}
		e.related = slices.DeleteFunc(e.related, func(id string) bool { return !strings.HasPrefix(id, area+"-") })
		g.add(e)
	}
}

func mutantEntries(g *glossary) {
	for _, m := range mutate.All() {
		g.add(&entry{Kind: kindMutant, ID: m.ID, Title: m.Does, related: m.Kills})
	}
}

// scenarioEntries are the scenarios; NAME/PROVIDER is the name of a case in
// reports.
func scenarioEntries(g *glossary) {
	recorded, _ := specs.Scenarios()
	simulated, _ := specs.Simulated()
	for _, s := range slices.Concat(recorded, simulated) {
		e := &entry{Kind: kindScenario, ID: s.Name, Title: s.Title, related: s.Requirements}
		e.addSection("why", strings.Join(strings.Fields(s.Why), " "))
		for _, t := range s.Targets {
			e.Aliases = append(e.Aliases, s.Name+"/"+t.Provider)
		}
		g.add(e)
	}
}

// wireRuleEntries are the rows of specs/wire-rules.md, with what the simulator
// makes of them.
func wireRuleEntries(g *glossary) {
	rules, _ := specs.WireRules()
	enforced, accepted := map[string][]string{}, map[string][]string{}
	for _, provider := range simulator.Providers() {
		for _, r := range simulator.Rules(provider) {
			enforced[r.ID] = append(enforced[r.ID],
				fmt.Sprintf("%s, level %s: %s (%s)", provider, r.Least, r.Demand, r.Source))
		}
		for _, r := range simulator.Accepted(provider) {
			accepted[r.ID] = append(accepted[r.ID], fmt.Sprintf("%s: %s (%s)", provider, r.Demand, r.Source))
		}
	}
	for _, r := range rules {
		e := &entry{Kind: wireRuleKind(r), ID: r.IDs[0], Aliases: r.IDs[1:], Title: r.Title(),
			Origin: "specs/wire-rules.md, " + r.Section}
		for _, c := range r.Cells[1:] {
			heading, text := cellWords(c)
			e.addSection(heading, text)
		}
		for _, id := range r.IDs {
			e.addSection("enforced by the simulator", enforced[id]...)
			e.addSection("accepted by the simulator", accepted[id]...)
			e.addSection("fix", specs.FixesOfRule(id)...)
		}
		g.add(e)
	}
}

// dutyEntries are what servers and gateways owe their clients, with what judges it.
func dutyEntries(g *glossary) {
	duties, _ := specs.Duties()
	aspects := map[string][]string{}
	for _, r := range rule.ReplyRules() {
		aspects[r.Duty] = append(aspects[r.Duty], r.Aspect)
	}
	for _, d := range duties {
		e := &entry{Kind: kindDuty, ID: d.ID, Title: d.Demand, Origin: "specs/duties", related: aspects[d.ID]}
		var breaks, sources []string
		for _, client := range d.Clients() {
			breaks = append(breaks, client+" "+d.Breaks[client])
		}
		for _, source := range d.Sources {
			sources = append(sources, specs.SourceURL(source))
		}
		judged := "a question to the server, or both sides of a gateway; no single reply shows it"
		if d.Live {
			judged = "the answers that conform server and conform gateway get; recordings lack the calls, or may lack the headers"
		} else if _, ok := aspects[d.ID]; ok {
			judged = "every recorded reply: conform check --side server"
		}
		e.addSection("level", string(d.Level))
		e.addSection("a breach is", string(d.Consequence))
		e.addSection("what it breaks", breaks...)
		e.addSection("fix", d.Fix)
		e.addSection("judged by", judged)
		e.addSection("source", sources...)
		e.addSection("how sure", d.Sure)
		g.add(e)
	}
}

// questionEntries are what conform server asks, with the duties that the answers show.
func questionEntries(g *glossary) {
	questions, _ := specs.Questions()
	for _, q := range questions {
		e := &entry{Kind: kindQuestion, ID: q.ID, Title: q.Title, Origin: "specs/server/questions.yaml"}
		var expected []string
		for _, step := range q.Steps {
			for _, want := range step.Expect {
				e.related = append(e.related, want.Duty)
				expected = append(expected, want.Duty+": "+want.Be)
			}
		}
		e.addSection("level", string(q.Level))
		e.addSection("asked on", strings.Join(q.Wires, ", "))
		e.addSection("the answer should be", expected...)
		e.addSection("also judged", "every answer, by the duties that a reply shows")
		e.addSection("ask it alone", "conform server URL --wire WIRE --model MODEL --filter '^"+q.ID+"$'")
		g.add(e)
	}
}

// confidenceWords are the marks of the column "sure" in full.
var confidenceWords = strings.NewReplacer("rec", "recorded", "doc", "documented", "iss", "reported in issues", "inf",
	"inferred")

// cellWords turns one cell of the page into a part of an explanation.
func cellWords(c specs.Cell) (heading, text string) {
	switch c.Column {
	case "sure":
		return "how it is known", confidenceWords.Replace(c.Text)
	case "so we":
		return "what this project does", c.Text
	}
	return c.Column, c.Text
}

// wireRuleKind says what a row of specs/wire-rules.md is, by its section.
func wireRuleKind(r specs.WireRule) string {
	switch {
	case strings.HasPrefix(r.Section, "5"):
		return "provider rule"
	case strings.HasPrefix(r.Section, "7"):
		return "difference between wire and specification"
	case strings.HasPrefix(r.Section, "R:"):
		return "regression"
	case strings.HasPrefix(r.Section, "9"):
		return "pitfall of recording proxies"
	}
	return "defect of real agents"
}

// sectionNumber is a section among the ids of a requirement's source: "1.4" of
// "1.4, R32".
var sectionNumber = regexp.MustCompile(`\b\d+\.\d+\b`)

// wireSectionEntries are the sections of specs/wire-rules.md, which findings cite
// where no single rule is broken.
func wireSectionEntries(g *glossary) {
	for _, s := range specs.WireSections() {
		g.add(&entry{Kind: kindSection, ID: "§" + s.Number, Aliases: []string{s.Number}, Title: s.Title,
			Origin: "specs/wire-rules.md", Sections: []paragraph{{"", s.Text}}})
	}
}

// consequenceEntries are the words for what a breach leads to.
func consequenceEntries(g *glossary) {
	for _, c := range slices.Backward(specs.Severities) {
		verdict := decide.Breach(c, decide.AnswerNone, false)
		if c == specs.None {
			verdict, _ = decide.Decide(decide.Facts{Inapplicable: c.Meaning()})
		}
		g.add(&entry{Kind: kindConsequence, ID: string(c), Title: c.Meaning(),
			Sections: []paragraph{{"verdict", string(verdict)}}})
	}
}

func verdictEntries(g *glossary) {
	for _, v := range report.Verdicts {
		g.add(&entry{Kind: kindVerdict, ID: string(v), Title: v.Meaning(),
			Sections: []paragraph{{"exit code of a run with this verdict", fmt.Sprintf("conform:%d", v.Exit())}}})
	}
}
