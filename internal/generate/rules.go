package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// rulesHead explains the table.
const rulesHead = `# Which rules are enforced

Generated: ` + "`go run ./internal/generate rules`" + `. All rules of section 5 of [the wire
rules](../specs/wire-rules.md): whether [the simulator](simulator-rules.md) refuses a request
that breaks one, and which requirements of the referee cite it. Where one side is missing,
the last column says why. ERR-001 reports every request that a provider refuses for its form,
whichever rule it broke, so an empty cell under *referee* means: not seen before the provider
says so. *Accepted* rules forbid a refusal; the simulator accepts, and no requirement is needed.

`

// coveredRule is one rule of the wire rules and who knows it.
type coveredRule struct {
	specs.WireRule
	Enforced, Accepted bool     // by the simulator
	Requirements       []string // that cite it
	Reason             string   // why a side is missing
}

// rulesByReason says of the rules that are not on both sides why not.
var rulesByReason = map[string][]string{
	"a key is not part of the request's form":                                 {"A-2", "O-1", "G-1", "C-87"},
	"the simulator refuses it as a case of another rule":                      {"C-2", "C-22", "C-32", "C-53"},
	"recordings contradict it for models of today":                            {"C-6"},
	"which models exist depends on the account; MOD-001 judges the allowlist": {"A-3", "O-2", "G-2"},
	"limits and overload do not depend on the request's form":                 {"O-31", "G-30"},
	"depends on the organisation":                                             {"O-28"},
	"describes what the provider does with a request, not what it must be":    {"ANT-B4", "ANT-B6", "ANT-B7"},
	"the limit is not known as a number":                                      {"OAI-L1"},
	"SIG-001 finds the changed text where the reply was seen":                 {"ANT-T6"},
	"SIG-017 finds the part that came back without its signature":             {"GEM-S9"},
	"the simulator refuses it as O-3, a missing parameter":                    {"OAI-R1"},
	"reports differ on whether the Developer API refuses it":                  {"G-33"},
}

// coverRules lists the rules of section 5 with who knows each.
func coverRules() ([]coveredRule, error) {
	rules, err := specs.WireRules()
	if err != nil {
		return nil, err
	}
	requirements, err := specs.Requirements()
	if err != nil {
		return nil, err
	}
	enforced, accepted := map[string]bool{}, map[string]bool{}
	for _, provider := range simulator.Providers() {
		for _, r := range simulator.Rules(provider) {
			enforced[r.ID] = true
		}
		for _, r := range simulator.Accepted(provider) {
			accepted[r.ID] = true
		}
	}
	cited, reasons := citedRules(requirements), reasonsByRule()
	var all []coveredRule
	for _, rule := range rules {
		if !strings.HasPrefix(rule.Section, "5.") {
			continue
		}
		c := coveredRule{WireRule: rule, Accepted: strings.HasPrefix(rule.Title(), "*accepted")}
		for _, id := range rule.IDs {
			c.Enforced = c.Enforced || enforced[id]
			c.Accepted = c.Accepted || accepted[id] && !c.Enforced
			c.Requirements = append(c.Requirements, cited[id]...)
			c.Reason += reasons[id]
		}
		slices.Sort(c.Requirements)
		c.Requirements = slices.Compact(c.Requirements)
		all = append(all, c)
	}
	return all, nil
}

var ruleName = regexp.MustCompile(`\b(?:[AOGC]|ANT|OAI|GEM)-[A-Z]?\d+\b`)

// citedRules maps rules to the requirements whose sources name them.
func citedRules(requirements []specs.Requirement) map[string][]string {
	cited := map[string][]string{}
	for _, r := range requirements {
		for _, s := range r.Sources {
			for _, id := range ruleName.FindAllString(s.Section, -1) {
				cited[id] = append(cited[id], r.ID)
			}
		}
	}
	return cited
}

func reasonsByRule() map[string]string {
	reasons := map[string]string{}
	for reason, ids := range rulesByReason {
		for _, id := range ids {
			reasons[id] = reason
		}
	}
	return reasons
}

// needsReason reports whether a side is missing that could be there.
func (c coveredRule) needsReason() bool {
	return !c.Accepted && (!c.Enforced || len(c.Requirements) == 0)
}

// writeRules writes docs/rule-coverage.md.
func writeRules(docs string) error {
	rules, err := coverRules()
	if err != nil {
		return err
	}
	duties, err := specs.Duties()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(docs, "rule-coverage.md"), rulesPage(rules), 0o644), //nolint:gosec // is committed
		os.WriteFile(filepath.Join(docs, dutiesFile), dutiesPage(duties), 0o644))       //nolint:gosec // is committed
}

const dutiesFile = "server-duties.md"

// dutiesHead explains the table of duties.
const dutiesHead = `# What servers and gateways owe their clients

Generated: ` + "`go run ./internal/generate rules`" + ` from the files below specs/duties. SV- are duties of every
server that speaks Messages, Responses or generateContent, GW- those of gateways. *core* duties are
those that every client needs, *agent* ones those that some well-known agent needs, *faithful* ones
those of a server that behaves exactly as the provider does. *crash* ends a client, *wrong* makes a client go on
with something else than the model said. A duty that is judged by *reply* is seen in any recording, by
` + "`conform check --side server`" + `. A duty that is judged by *answer* is seen by ` + "`conform server`" + `
and ` + "`conform gateway`" + ` only: recordings may lack what shows it.
` + "`conform explain SV-A7`" + ` names the sources of a duty.

| duty | demand | level | a breach is | breaks | judged by |
|---|---|---|---|---|---|
`

// dutiesPage is the text of docs/server-duties.md.
func dutiesPage(duties []specs.Duty) []byte {
	judged := map[string]bool{}
	for _, r := range rule.ReplyRules() {
		judged[r.Duty] = true
	}
	out := bytes.NewBufferString(dutiesHead)
	for _, d := range duties {
		by := "question"
		switch {
		case d.Live:
			by = "answer"
		case judged[d.ID]:
			by = "reply"
		case strings.HasPrefix(d.ID, "GW-"):
			by = "both sides"
		}
		cells := []string{d.ID, d.Demand, string(d.Level), string(d.Consequence), strings.Join(d.Clients(), ", "), by}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	return out.Bytes()
}

// rulesPage is the text of docs/rule-coverage.md.
func rulesPage(rules []coveredRule) []byte {
	counts := map[string]int{}
	table := new(bytes.Buffer)
	section := ""
	for _, c := range rules {
		if c.Section != section {
			section = c.Section
			fmt.Fprintf(table,
				"\n## %s\n\n| rule | demand | simulator | referee | why not both |\n|---|---|---|---|---|\n", section)
		}
		simulated := ""
		switch {
		case c.Accepted:
			simulated = "accepts"
		case c.Enforced:
			simulated = "refuses"
		}
		counts[c.side()]++
		cells := []string{strings.Join(c.IDs, " · "), c.Title(), simulated,
			strings.Join(c.Requirements, ", "), c.Reason}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(table, "| %s |\n", strings.Join(cells, " | "))
	}
	out := bytes.NewBufferString(rulesHead)
	fmt.Fprintf(out,
		"%d rules: %d on both sides, %d of the simulator only, %d of the referee only, %d of neither, %d accepted.\n",
		len(rules), counts["both"], counts["simulator"], counts["referee"], counts["neither"], counts["accepted"])
	return append(out.Bytes(), table.Bytes()...)
}

// side says who knows a rule.
func (c coveredRule) side() string {
	isJudged := len(c.Requirements) > 0
	switch {
	case c.Accepted:
		return "accepted"
	case c.Enforced && isJudged:
		return "both"
	case c.Enforced:
		return "simulator"
	case isJudged:
		return "referee"
	}
	return "neither"
}
