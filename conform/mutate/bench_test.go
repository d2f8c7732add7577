package mutate

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
)

var (
	benchSeed = flag.Uint64("bench.seed", 20261122, "choose recordings and places by this number")
	tableFile = flag.String("table", "", "write what the referee finds of each fault to this `file`")
)

// floors are rates in percent that the referee reaches: raise them when it finds more. In 5
// recordings of each provider it gives no alarm, in 25 as many as knownAlarms: most of these
// variations break another rule in that recording.
var floors = struct{ all, parameters, refusals float64 }{98, 97, 100}

const knownAlarms = 10

// maxExchanges leaves out recordings that would take most of the time.
const maxExchanges = 40

//go:embed testdata/faults.yaml testdata/legal.yaml testdata/answers.yaml
var benchTables embed.FS

// fault is a change of evidence that the referee must find, or a legal variation about which it
// must be silent: a row of testdata/faults.yaml, which explains its members.
type fault struct {
	Name, Rule, On, At    string
	For, Some, When, Item string
	Prepare               string
	Do                    stepLines
	Lossy                 bool
	OfVerdict             bool `yaml:"of_verdict"`
	OnFailing             bool `yaml:"on_failing"`

	group                   string
	prepared                *fault
	always, some, when, fit condition
	steps                   map[string]step
}

func (f *fault) isLegal() bool { return f.group == "legal" }

// benchProviders are those whose traffic is changed.
var benchProviders = []string{evidence.Anthropic, evidence.OpenAI, evidence.Gemini, chat}

func (f *fault) providers() []string {
	if f.On == "" {
		return benchProviders
	}
	return strings.Fields(f.On)
}

// answers are the tables of answers.yaml.
type answers struct {
	Refusals map[string][]answer
	Failures map[string]map[string]answer
	Replies  map[string]struct {
		Document string
		Events   []string
	}
}

// findAnswer returns a failure, or the refusal by a rule.
func (a *answers) findAnswer(name, provider string) answer {
	i := slices.IndexFunc(a.Refusals[provider], func(a answer) bool { return a.Rule == name })
	if i >= 0 {
		return a.Refusals[provider][i]
	}
	return a.Failures[name][provider]
}

var readAnswers = sync.OnceValue(func() *answers {
	a := &answers{}
	mustRead("answers", a)
	return a
})

func mustRead(name string, into any) {
	data, err := benchTables.ReadFile("testdata/" + name + ".yaml")
	if err == nil {
		dec := yaml.NewDecoder(bytes.NewReader(data))
		dec.KnownFields(true)
		err = dec.Decode(into)
	}
	if err != nil {
		panic(name + ".yaml: " + err.Error())
	}
}

// groupedFaults are faults by their group, in the order of the file.
type groupedFaults []*fault

func (g *groupedFaults) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		var rows []*fault
		if err := n.Content[i+1].Decode(&rows); err != nil {
			return err
		}
		for _, f := range rows {
			f.group = n.Content[i].Value
		}
		*g = append(*g, rows...)
	}
	return nil
}

// readFaults reads the tables; each refusal of answers.yaml is a fault as well.
var readFaults = sync.OnceValue(func() (list groupedFaults) {
	var legal groupedFaults
	mustRead("faults", &list)
	mustRead("legal", &legal)
	list = append(list, legal...)
	for _, provider := range benchProviders {
		for _, r := range readAnswers().Refusals[provider] {
			f := &fault{Name: "refused-" + r.Rule, Rule: strings.TrimRight(r.Rule, "b"), On: provider, At: "last",
				group: "refusals"}
			f.Do = stepLines{"": {"refuse " + r.Rule}}
			list = append(list, f)
		}
	}
	ways := map[string]*fault{}
	for _, f := range list {
		if f.compileSteps(); f.group == "prepare" {
			ways[f.Name] = f
		}
	}
	for _, f := range list {
		if f.Prepare != "" {
			f.findWay(ways)
		}
	}
	return slices.DeleteFunc(list, func(f *fault) bool { return f.group == "prepare" })
})

// findWay finds the row that prepares evidence for a fault: NAME [ARGUMENT [without MEMBERS]].
func (f *fault) findWay(ways map[string]*fault) {
	way, members, _ := strings.Cut(f.Prepare, " without ")
	name, argument, _ := strings.Cut(way, " ")
	row := *ways[name]
	row.Do = stepLines{}
	for provider, lines := range ways[name].Do {
		for _, line := range lines {
			row.Do[provider] = append(row.Do[provider], strings.ReplaceAll(line, "ARGUMENT", argument))
		}
	}
	for _, member := range strings.Fields(members) {
		row.For += " !/" + member
	}
	row.compileSteps()
	f.prepared = &row
}

var repeated = regexp.MustCompile(`\$\{([^${}]*(?:\{[^{}]*\})?[^${}]*)\*(\d+)\}`)

func (f *fault) compileSteps() {
	l, errs := benchLanguage(), []error{}
	parse := func(text string) condition {
		c, err := l.parseConditions(text)
		errs = append(errs, err)
		return c
	}
	f.always, f.some, f.when, f.fit, f.steps = parse(f.For), parse(f.Some), parse(f.When), parse(f.Item),
		map[string]step{}
	for provider, lines := range f.Do {
		for i, line := range lines { // ${TEXT*COUNT} is a text many times
			lines[i] = repeated.ReplaceAllStringFunc(line, func(hole string) string {
				parts := repeated.FindStringSubmatch(hole)
				count, _ := strconv.Atoi(parts[2])
				return strings.Repeat(parts[1], count)
			})
		}
		s, err := l.parseSteps(lines)
		f.steps[provider], errs = s, append(errs, err)
	}
	if err := cmp.Or(errs...); err != nil {
		panic(f.Name + ": " + err.Error())
	}
}

// changeDraft makes the fault in a draft.
func (f *fault) changeDraft(d *draft) bool {
	do := f.steps[d.provider]
	if do == nil {
		do = f.steps[""]
	}
	isSome := f.Some == ""
	for _, k := range d.accepted {
		if !f.always(d.viewCall(k, -1)) {
			return false
		}
		isSome = isSome || f.some(d.viewCall(k, -1))
	}
	switch {
	case !isSome || do == nil:
		return false
	case f.At == "border":
		return d.atBorder(f.when, do)
	case f.At == "issuer" && f.Item == "":
		return d.onIssuers(nil, do)
	case f.At == "issuer":
		return d.onIssuers(f.fit, do)
	case f.At == "":
		return d.onItem(f.fit, do)
	}
	return d.onCalls(f.At, f.when, do)
}

// applyTo returns the evidence to compare with, which is what it was before the fault, and the
// evidence with it.
func (f *fault) applyTo(s *scene, dice *rand.Rand) (before evidence.Evidence, d *draft, ok bool) {
	before = s.ev
	if f.prepared != nil {
		d = newDraft(s, newDice(0))
		d.isPrepared = true
		if !f.prepared.changeDraft(d) {
			return before, d, false
		}
		before = d.ev
		if s = newScene(&before); s == nil {
			return before, d, false
		}
	}
	d = newDraft(s, dice)
	return before, d, f.changeDraft(d)
}

// benchRow counts what happened with one fault and one provider.
type benchRow struct {
	*fault
	provider                    string
	applied, fail, warn, missed int
	notes, lines                []string
}

// subject is a recording that faults are applied to.
type subject struct {
	path  string
	scene *scene
	once  sync.Once
	base  judgement
}

// judgement is what the referee says of evidence, with a finding for each place.
type judgement struct {
	verdict  report.Verdict
	findings []report.Finding
}

func judgeFaulty(path string, ev evidence.Evidence, rules []report.Rule) judgement {
	r := report.JudgeRecording(rules, evidence.Recording{Path: path, Format: evidence.FormatCorpus, Evidence: ev})
	j := judgement{verdict: r.Verdict}
	for _, f := range r.Findings {
		if f.Verdict == report.Contradicted {
			continue
		}
		j.findings = append(j.findings, f)
		for _, p := range f.Places {
			again := f
			again.Exchange, again.Path = p.Exchange, p.Path
			j.findings = append(j.findings, again)
		}
	}
	return j
}

func isFailure(f report.Finding) bool { return f.Verdict == report.Fail }

func nameSeed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return h.Sum64()
}

// applyOnce applies the fault to one recording and counts what the referee finds of it.
func (row *benchRow) applyOnce(sub *subject, rules []report.Rule) {
	before, d, ok := row.applyTo(sub.scene, newDice(*benchSeed^nameSeed(row.Name+sub.path)))
	if !ok {
		return
	}
	sub.once.Do(func() { sub.base = judgeFaulty(sub.path, sub.scene.ev, rules) })
	base := sub.base
	if row.prepared != nil {
		base = judgeFaulty(sub.path, before, rules)
	}
	if slices.ContainsFunc(base.findings, isFailure) && !row.OnFailing || row.isLegal() && len(base.findings) > 0 {
		return
	}
	n, path := firstChange(before.Exchanges, d.ev.Exchanges)
	path, at := cmp.Or(d.path, path), d.ev.Exchanges[max(n, 0)].Index
	result := judgeFaulty(sub.path, d.ev, rules)
	row.applied++
	input := fmt.Sprintf("%s %s %s\t", row.Name, row.provider, filepath.Base(sub.path))
	note := func(format string, args ...any) { row.lines = append(row.lines, input+fmt.Sprintf(format, args...)) }
	note("verdict at exchange %d %s: %s becomes %s", at, path, base.verdict, result.verdict)
	fails, warns, found := 0, 0, []string{}
	for _, f := range newFindings(base.findings, result.findings, at, path) {
		note("finding %s exchange %d %s: %s, rule %s", f.Check, f.Exchange, f.Path, f.Verdict, cmp.Or(f.Rule, "-"))
		switch {
		case !row.isLegal() && f.Exchange >= 0 && int(f.Exchange) < at, row.Lossy && !isFailure(f):
			continue
		case isFailure(f):
			fails++
		default:
			warns++
		}
		found = append(found, f.Requirement+": "+f.Message)
	}
	if row.OfVerdict && base.verdict != result.verdict && result.verdict != report.Pass &&
		result.verdict != report.Warn {
		fails++
	}
	switch {
	case fails > 0:
		row.fail++
	case warns > 0:
		row.warn++
	default:
		row.missed++
	}
	if (fails+warns > 0) == row.isLegal() {
		row.notes = append(row.notes, fmt.Sprintf("%s exchange %d %s: %s", sub.path, at, path,
			append(found, "missed")[0]))
	}
}

// newFindings lists the findings of after that before does not have, place by place. At the
// changed place a different message is a different finding.
func newFindings(before, after []report.Finding, at int, path string) (fresh []report.Finding) {
	key := func(f report.Finding) string {
		if int(f.Exchange) == at && path != "" && strings.HasPrefix(f.Path, path) {
			return f.Check + f.Message
		}
		return string(f.Verdict) + "|" + f.Requirement + "|" + f.Check + "|" + f.Path + "|" +
			strconv.Itoa(int(f.Exchange))
	}
	had := map[string]int{}
	for _, f := range before {
		had[key(f)]++
	}
	for _, f := range after {
		if had[key(f)]--; had[key(f)] < 0 {
			fresh = append(fresh, f)
		}
	}
	return fresh
}

// runBench applies every fault to some recordings of each provider. Where the provenance of
// a recording says that the provider answered, its acceptance excuses the changed request as
// well: recordings are given without provenance.
func runBench(faults []*fault, subjects map[string][]*subject, rules []report.Rule, most int) []*benchRow {
	var rows []*benchRow
	for _, f := range faults {
		for _, provider := range f.providers() {
			rows = append(rows, &benchRow{fault: f, provider: provider})
		}
	}
	next := make(chan *benchRow)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for row := range next {
				list := subjects[row.provider]
				for _, i := range newDice(*benchSeed ^ nameSeed(row.Name)).Perm(len(list)) {
					if row.applied < most {
						row.applyOnce(list[i], rules)
					}
				}
			}
		})
	}
	for _, row := range rows {
		next <- row
	}
	close(next)
	workers.Wait()
	return rows
}

// benchSum counts the rows of a group together, of all groups for "".
func benchSum(rows []*benchRow, group string) (applied, found, alarms int, rate float64) {
	for _, r := range rows {
		switch {
		case group != "" && r.group != group:
		case r.isLegal():
			alarms += r.fail + r.warn
		default:
			applied, found = applied+r.applied, found+r.fail+r.warn
		}
	}
	return applied, found, alarms, 100 * float64(found) / float64(max(applied, 1))
}

func benchText(rows []*benchRow) string {
	var out strings.Builder
	groups := []string{}
	for _, r := range rows {
		if !slices.Contains(groups, r.group) {
			groups = append(groups, r.group)
		}
	}
	for _, g := range append(groups, "") {
		applied, found, alarms, rate := benchSum(rows, g)
		fmt.Fprintf(&out, "%-12s %4d decidable, %4d found, %3d missed: %.2f %%, %d alarms\n",
			cmp.Or(g, "all"), applied, found, applied-found, rate, alarms)
	}
	for _, r := range rows {
		fmt.Fprintf(&out, "%-11s %-38s %-9s applied %2d, fail %2d, warn %2d, neither %2d  %s\n",
			r.group, r.Name, r.provider, r.applied, r.fail, r.warn, r.missed, r.Rule)
		for _, n := range r.notes {
			fmt.Fprintf(&out, "    %s\n", n)
		}
	}
	return out.String()
}

// TestBench applies the faults and holds the referee to the floors.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("applies every fault to many recordings")
	}
	most, allowed := 5, 0
	if corpus.Whole() {
		most, allowed = 25, knownAlarms
	}
	rows := runBench(readFaults(), readSubjects(t), rules(t), most)
	if *tableFile != "" {
		if err := os.WriteFile(*tableFile, []byte(benchText(rows)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, alarms, all := benchSum(rows, "")
	_, _, _, parameters := benchSum(rows, "parameters")
	_, _, _, refusals := benchSum(rows, "refusals")
	t.Logf("seed %d: all %.2f %%, parameters %.2f %%, refusals %.2f %%, %d alarms", *benchSeed, all, parameters,
		refusals, alarms)
	if *ledgerFile != "" {
		var lines []string
		for _, row := range rows {
			lines = append(lines, row.lines...)
		}
		if err := os.WriteFile(*ledgerFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := corpus.Find(); !ok {
		t.Skip("without the corpus the floors say nothing")
	}
	if all < floors.all || parameters < floors.parameters || refusals < floors.refusals || alarms > allowed {
		t.Errorf("below the floors %+v, or more than %d alarms:\n%s", floors, allowed, benchText(rows))
	}
}

// readSubjects reads the cassettes and, where it is, the corpus, by provider. Places are chosen
// by the name of a recording, which does not say where the corpus lies.
func readSubjects(tb testing.TB) map[string][]*subject {
	tb.Helper()
	found := evidence.FindFS(cassettes.FS, "cassettes")
	dir, ok := corpus.Find()
	if ok {
		for _, folder := range []string{dir, corpus.ChatDir(tb)} {
			list, err := evidence.Find(filepath.Join(folder, "data"))
			if err != nil {
				tb.Fatal(err)
			}
			found = append(found, list...)
		}
	}
	out := map[string][]*subject{}
	for _, f := range found {
		r, err := f.Read()
		if err != nil {
			continue
		}
		if s := newScene(&r.Evidence); s != nil && len(r.Evidence.Exchanges) <= maxExchanges {
			out[s.provider] = append(out[s.provider],
				&subject{path: strings.TrimPrefix(strings.TrimPrefix(r.Path, dir), "/"), scene: s})
		}
	}
	return out
}

// TestFaultsApply holds of every fault that its name is unique, that it finds a place with each
// provider it names, changes something there, does so again for the same seed, and leaves its
// input alone.
func TestFaultsApply(t *testing.T) {
	_, hasCorpus := corpus.Find()
	subjects, seen, legal := readSubjects(t), map[string]bool{}, 0
	for _, f := range readFaults() {
		if f.isLegal() {
			legal++
		}
		for _, provider := range f.providers() {
			if seen[f.Name+provider] || f.Rule == "" {
				t.Errorf("%s: twice, or without a rule", f.Name)
			}
			seen[f.Name+provider] = true
			if !f.changesOne(t, subjects[provider]) && hasCorpus {
				t.Errorf("%s: no recording of %s has a place for it", f.Name, provider)
			}
		}
	}
	if len(readFaults())-legal < 500 || legal < 150 {
		t.Errorf("%d faults and %d legal variations", len(readFaults())-legal, legal)
	}
}

// changesOne applies f to the first recording that fits.
func (f *fault) changesOne(t *testing.T, subjects []*subject) bool {
	t.Helper()
	for _, sub := range subjects {
		if len(sub.scene.ev.Exchanges) > 8 {
			continue
		}
		was := digestOf(t, sub.scene.ev)
		before, d, ok := f.applyTo(sub.scene, newDice(7))
		if !ok {
			continue
		}
		_, again, _ := f.applyTo(sub.scene, newDice(7))
		if digestOf(t, before) == digestOf(t, d.ev) || digestOf(t, again.ev) != digestOf(t, d.ev) ||
			digestOf(t, sub.scene.ev) != was {
			t.Errorf("%s changes nothing in %s, changes its input or is not the same twice", f.Name, sub.path)
		}
		return true
	}
	return false
}

func digestOf(t *testing.T, ev evidence.Evidence) string {
	t.Helper()
	text, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
