package conform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// explainSources yield the entries of conform explain, one source a kind of id.
// The texts stay where the ids are defined.
var explainSources = []func() ([]*entry, error){
	requirementEntries, checkEntries, mutantEntries, scenarioEntries, wireRuleEntries, dutyEntries, questionEntries, wireSectionEntries, handoffEntries, verdictEntries, consequenceEntries, exitCodeEntries,
}

func requirementEntries() ([]*entry, error) {
	all, err := specs.Requirements()
	entries := make([]*entry, len(all))
	for i, r := range all {
		entries[i] = &entry{Kind: kindRequirement, ID: r.ID, Title: r.Title, requirement: &r}
		for _, source := range r.Sources {
			entries[i].related = append(entries[i].related, source.Section)
			if source.Doc == "wire rules" {
				entries[i].related = append(entries[i].related, sectionNumber.ReplaceAllString(source.Section, "§$0"))
			}
		}
	}
	return entries, err
}

func checkEntries() ([]*entry, error) {
	var entries []*entry
	for _, c := range check.All() {
		aspect := strings.TrimPrefix(c.ID, c.Requirement+"/")
		entries = append(entries, &entry{Kind: kindCheck, ID: c.ID, Title: strings.ReplaceAll(aspect, "-", " "), related: []string{c.Requirement}})
	}
	return entries, nil
}

func mutantEntries() ([]*entry, error) {
	var entries []*entry
	for _, m := range mutate.All() {
		entries = append(entries, &entry{Kind: kindMutant, ID: m.ID, Title: m.Does, related: m.Kills})
	}
	return entries, nil
}

// scenarioEntries are the scenarios; NAME/PROVIDER is the name of a case in
// reports.
func scenarioEntries() ([]*entry, error) {
	var entries []*entry
	for _, load := range []func() ([]*specs.Scenario, error){specs.Scenarios, specs.Simulated} {
		all, err := load()
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			e := &entry{Kind: kindScenario, ID: s.Name, Title: s.Title, related: s.Requirements}
			e.Sections = []paragraph{{"why", strings.Join(strings.Fields(s.Why), " ")}}
			for _, t := range s.Targets {
				e.Aliases = append(e.Aliases, s.Name+"/"+t.Provider)
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// wireRuleEntries are the rows of specs/wire-rules.md, with what the simulator
// makes of them.
func wireRuleEntries() ([]*entry, error) {
	rules, err := specs.WireRules()
	if err != nil {
		return nil, err
	}
	enforced, accepted := simulatorRules()
	var entries []*entry
	for _, r := range rules {
		e := &entry{Kind: wireRuleKind(r), ID: r.IDs[0], Aliases: r.IDs[1:], Title: r.Title(), Origin: "specs/wire-rules.md, " + r.Section}
		for _, c := range r.Cells[1:] {
			e.Sections = append(e.Sections, cellParagraph(c))
		}
		for _, id := range r.IDs {
			if rules := enforced[id]; len(rules) > 0 {
				e.Sections = append(e.Sections, paragraph{"enforced by the simulator", strings.Join(rules, "\n")})
			}
			if rules := accepted[id]; len(rules) > 0 {
				e.Sections = append(e.Sections, paragraph{"accepted by the simulator", strings.Join(rules, "\n")})
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// dutyEntries are what servers and gateways owe their clients, with what judges it.
func dutyEntries() ([]*entry, error) {
	duties, err := specs.Duties()
	aspects := map[string][]string{}
	for _, r := range rule.ReplyRules() {
		aspects[r.Duty] = append(aspects[r.Duty], r.Aspect)
	}
	var entries []*entry
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
		if _, ok := aspects[d.ID]; ok {
			judged = "every recorded reply: conform check --side server"
		}
		e.Sections = []paragraph{{"level", string(d.Level)}, {"a breach is", string(d.Consequence)}}
		if len(breaks) > 0 {
			e.Sections = append(e.Sections, paragraph{"what it breaks", strings.Join(breaks, "\n")})
		}
		e.Sections = append(e.Sections, paragraph{"judged by", judged}, paragraph{"source", strings.Join(sources, "\n")}, paragraph{"how sure", d.Sure})
		entries = append(entries, e)
	}
	return entries, err
}

// questionEntries are what conform server asks, with the duties that the answers show.
func questionEntries() ([]*entry, error) {
	questions, err := specs.Questions()
	var entries []*entry
	for _, q := range questions {
		e := &entry{Kind: kindQuestion, ID: q.ID, Title: q.Title, Origin: "specs/server/questions.yaml"}
		var expected []string
		for _, step := range q.Steps {
			for _, want := range step.Expect {
				e.related = append(e.related, want.Duty)
				expected = append(expected, want.Duty+": "+want.Be)
			}
		}
		e.Sections = []paragraph{{"level", string(q.Level)}}
		if q.Wires != nil {
			e.Sections = append(e.Sections, paragraph{"asked on", strings.Join(q.Wires, ", ")})
		}
		if expected != nil {
			e.Sections = append(e.Sections, paragraph{"the answer should be", strings.Join(expected, "\n")})
		}
		e.Sections = append(e.Sections, paragraph{"also judged", "every answer, by the duties that a reply shows"},
			paragraph{"ask it alone", "conform server URL --wire WIRE --model MODEL --filter '^" + q.ID + "$'"})
		entries = append(entries, e)
	}
	return entries, err
}

// confidenceWords are the marks of the column "sure" in full.
var confidenceWords = strings.NewReplacer("rec", "recorded", "doc", "documented", "iss", "reported in issues", "inf", "inferred")

// cellParagraph turns one cell of the page into a part of an explanation.
func cellParagraph(c specs.Cell) paragraph {
	switch c.Column {
	case "sure":
		return paragraph{"how it is known", confidenceWords.Replace(c.Text)}
	case "so we":
		return paragraph{"what this project does", c.Text}
	}
	return paragraph{c.Column, c.Text}
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
func wireSectionEntries() ([]*entry, error) {
	var entries []*entry
	for _, s := range specs.WireSections() {
		entries = append(entries, &entry{Kind: kindSection, ID: "§" + s.Number, Aliases: []string{s.Number}, Title: s.Title,
			Origin: "specs/wire-rules.md", Sections: []paragraph{{"", s.Text}}})
	}
	return entries, nil
}

// simulatorRules states the simulator's rules by id.
func simulatorRules() (enforced, accepted map[string][]string) {
	enforced, accepted = map[string][]string{}, map[string][]string{}
	for _, provider := range simulator.Providers() {
		for _, r := range simulator.Rules(provider) {
			enforced[r.ID] = append(enforced[r.ID], fmt.Sprintf("%s, level %s: %s (%s)", provider, r.Least, r.Demand, r.Source))
		}
		for _, r := range simulator.Accepted(provider) {
			accepted[r.ID] = append(accepted[r.ID], fmt.Sprintf("%s: %s (%s)", provider, r.Demand, r.Source))
		}
	}
	return enforced, accepted
}

// consequenceEntries are the words for what a breach leads to.
func consequenceEntries() ([]*entry, error) {
	var entries []*entry
	all := append(slices.Clone(specs.Consequences), specs.None)
	for _, c := range specs.ServerConsequences {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, c := range all {
		verdict := decide.Breach(c, decide.AnswerNone, false)
		if c == specs.None {
			verdict, _ = decide.Decide(decide.Facts{Inapplicable: c.Meaning()})
		}
		entries = append(entries, &entry{Kind: kindConsequence, ID: string(c), Title: c.Meaning(),
			Sections: []paragraph{{"verdict", string(verdict)}}})
	}
	return entries, nil
}

func verdictEntries() ([]*entry, error) {
	var entries []*entry
	for _, v := range report.Verdicts {
		entries = append(entries, &entry{Kind: kindVerdict, ID: string(v), Title: v.Meaning(),
			Sections: []paragraph{{"exit code of a run with this verdict", fmt.Sprintf("conform:%d", v.Exit())}}})
	}
	return entries, nil
}
