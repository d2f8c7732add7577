package specs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

// areas are the first parts of requirement ids with their names, in the order reports show them.
const areas = `
ORD order of turns
SIG signatures
MOD models
RES resumed sessions
STR streams
TOOL tools
ERR errors
PAR parameters
TSC tool schemas
MED media
REC recovery
CMP compaction
NSP tool search
SRV server tools
BET betas
CAC prompt caches
WSK continued responses
BUD budgets
OPS sub-agents
MCP MCP tools
CAS cassettes
RED redaction
HYG message form
` + TeamArea + ` your rules`

// dutyAreas are the ids of duties without their numbers, with their names, in the order a site shows them.
const dutyAreas = `
GW passing on
SV replies
SV-H form of replies
SV-B what clients ask for
SV-E errors
SV-A Messages
SV-O Responses
SV-G generate Content
SV-C Chat Completions`

// Areas are the first parts of requirement ids, in the order reports show them. DutyAreas are those of duties.
var Areas, DutyAreas = idsOf(areas), idsOf(dutyAreas)

func idsOf(table string) (ids []string) {
	for line := range strings.SplitSeq(table[1:], "\n") {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	return ids
}

// AreaName says in a word or two what an area is about, "" for an area that is not known.
func AreaName(area string) string {
	_, rest, _ := strings.Cut(areas+dutyAreas+"\n", "\n"+area+" ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

var (
	kebab  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	idForm = regexp.MustCompile(`^([A-Z]+)-[0-9]{3}$`)
)

// rules are those that the tags of this package name.
var rules = map[string]datafile.Rule{
	"provider":    func(path, text string) error { return datafile.OneOf(wires.Names()...)(path, text) },
	"source":      datafile.OneOf("cassette", "simulator", "live", "recording"),
	"document":    datafile.OneOf("wire rules"), // specs/wire-rules.md
	"consequence": datafile.OneOf(namesOf(Consequences)...),
	"effect":      datafile.OneOf(namesOf(append(slices.Clone(Consequences), None))...),
	"duty": datafile.Matching(regexp.MustCompile(`^(SV-[AOGHEBC]|GW-)[0-9]+$`),
		"SV- with a letter and a number, or GW- with a number"),
	"harm":  datafile.OneOf(namesOf(ServerConsequences)...),
	"kebab": datafile.Matching(kebab, "lower case with dashes"),
	"title": datafile.Matching(regexp.MustCompile(`^[A-Z].{0,69}$`),
		"a duty of at most 70 characters such as \"Return thinking blocks unchanged\""),
	"day":   dateRule("2006-01-02", "a day written yyyy-mm-dd"),
	"month": dateRule("2006-01", "a month written yyyy-mm"),
	"id": func(_, text string) error {
		if _, ok := areaOf(text); ok {
			return nil
		}
		area, _, _ := strings.Cut(text, "-")
		return fmt.Errorf("%q is not AREA-NNN with one of the areas %s%s", text, strings.Join(Areas, ", "),
			spelling.Hint(area, Areas))
	},
}

func namesOf[T ~string](list []T) (names []string) {
	for _, c := range list {
		names = append(names, string(c))
	}
	return names
}

func dateRule(layout, form string) datafile.Rule {
	return func(_, text string) error {
		if _, err := time.Parse(layout, text); err != nil {
			return fmt.Errorf("%q is not %s", text, form)
		}
		return nil
	}
}

// areaOf returns the area of an id of the form AREA-NNN with a known area.
func areaOf(id string) (string, bool) {
	m := idForm.FindStringSubmatch(id)
	if m == nil || !slices.Contains(Areas, m[1]) {
		return "", false
	}
	return m[1], true
}

// checkEntry finds what tags cannot say of the entry at a path of the file named stem.yaml.
func (r Requirement) checkEntry(f *datafile.File, entry, stem string) {
	at := func(key string) string { return datafile.Join(entry, key) }
	area := r.Area()
	f.AddUnless(area != TeamArea, at("id"), "area %s is for the rules of teams", TeamArea)
	f.AddUnless(area == "" || strings.EqualFold(area, stem), at("id"), "stands in %s.yaml; move it to %s.yaml", stem,
		strings.ToLower(area))
	checkRange(f, entry, r.Since, r.Until)
	for i, w := range r.Where {
		row := at(fmt.Sprintf("where[%d]", i))
		checkRange(f, row, w.Since, w.Until)
		for _, check := range w.Checks {
			f.AddUnless(slices.Contains(r.Checks, check), row+".checks", "%q is not a check of %s: %s", check, r.ID,
				strings.Join(r.Checks, ", "))
		}
		matchesAll := len(w.Provider)+len(w.Checks) == 0 && w.Models.IsZero() && w.Host == "" && w.Since == "" &&
			w.Until == ""
		f.AddUnless(!matchesAll, row, "matches everything; write its consequence as that of the requirement")
	}
	for i, row := range r.Fixes {
		path := at(fmt.Sprintf("fixes[%d]", i))
		for _, check := range row.Checks {
			f.AddUnless(slices.Contains(r.Checks, check), path+".checks", "%q is not a check of %s: %s", check, r.ID,
				strings.Join(r.Checks, ", "))
		}
		f.AddUnless(len(row.Checks)+len(row.Rules) > 0 || row.Says != "", path,
			"matches everything; write its fix as that of the requirement")
	}
	isPublic := false
	for i, s := range r.Sources {
		source := at(fmt.Sprintf("source[%d]", i))
		f.AddUnless(s.URL == "" || s.Doc == "", source, "needs either url or doc")
		f.AddUnless(s.URL != "" || s.Doc != "" || s.Unverified, source, "needs url, doc, or unverified with a reason")
		f.AddUnless(s.URL == "" || s.Retrieved != "", source, "has a url and needs the day on which it was retrieved")
		f.AddUnless(s.Unverified == (s.Reason != ""), source,
			"unverified and reason stand together; say what is relied on instead of a public page")
		isPublic = isPublic || s.URL != "" || s.Unverified
	}
	f.AddUnless(isPublic, at("source"), "has no public source; cite a url, or say unverified: true with a reason")
	for _, check := range r.Checks {
		aspect, ok := strings.CutPrefix(check, r.ID+"/")
		f.AddUnless(ok && kebab.MatchString(aspect), at("checks"), "%q is not %s/aspect in lower case with dashes",
			check, r.ID)
	}
	if r.Status == Withdrawn {
		return
	}
	f.AddUnless(len(r.Checks) > 0, at("checks"), "has no check; name at least one")
	f.AddUnless(len(r.Mutants) > 0, at("mutants"), "has no mutant; a check that nothing must trip proves nothing")
	f.AddUnless(!r.Examples.IsZero(), entry, "has no examples; write a failing and a passing one")
	r.Examples.Failing.checkProcesses(f, at("examples.failing"))
	r.Examples.Passing.checkProcesses(f, at("examples.passing"))
}

// checkRange checks the days between which something holds.
func checkRange(f *datafile.File, path, since, until string) {
	f.AddUnless(since == "" || until == "" || since < until, path, "since %s is not before until %s", since, until)
}

func (e Example) checkProcesses(f *datafile.File, path string) {
	f.AddUnless(len(e.Exchanges)+len(e.Processes) > 0, path, "has no exchange; write one")
	for i, x := range e.Exchanges {
		f.AddUnless(x.Process == 0 || x.Process < len(e.Processes), fmt.Sprintf("%s.exchanges[%d].process", path, i),
			"%d is not among its processes", x.Process)
	}
}
