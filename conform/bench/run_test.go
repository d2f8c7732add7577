package bench

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
)

// maxExchanges leaves out recordings that would take most of the time.
const maxExchanges = 40

// Faults returns every kind of fault. The slice is the caller's.
func Faults() []Kind {
	var out []Kind
	add := func(group string, kinds []Kind) {
		for _, k := range kinds {
			k.Group = group
			out = append(out, k)
		}
	}
	add("history", historyFaults)
	add("tokens", tokenFaults)
	add("pairs", pairFaults)
	add("form", formFaults)
	add("parameters", providerOf(anthropicParams, anthropic))
	add("parameters", providerOf(openAIParams, openAI))
	add("parameters", providerOf(geminiParams, gemini))
	add("replies", replyFaults)
	add("resume", resumeFaults)
	add("media", mediaFaults)
	add("carried", carriedFaults)
	add("recovery", recoveryFaults)
	add("refusals", refusalFaults())
	add("redaction", redactionFaults)
	add("hygiene", hygieneFaults)
	add("tools", toolFaults)
	add("cache", cacheFaults)
	add("continuation", continuationFaults)
	return out
}

// Legal returns every legal variation. The slice is the caller's.
func Legal() []Kind {
	var out []Kind
	for _, k := range slices.Concat(legalTraffic, legalForms, legalParams(), legalHygiene, legalTools, legalCarried) {
		k.Group, k.Legal = "legal", true
		out = append(out, k)
	}
	return out
}

// Row counts what happened with one kind and one provider.
type Row struct {
	Kind     Kind
	Provider string
	// Applied counts the recordings in which the kind found a place. Fail and Warn
	// count those in which the referee reported it, Missed the others.
	Applied, Fail, Warn, Missed int
	// Cited counts the finds that name the kind's own rule.
	Cited int
	// Notes say where the misses and alarms are.
	Notes []string
	// Outcomes are lines of a ledger: where the kind was applied, and what is found there.
	Outcomes []string
}

// Table is the result of a run, a row for each kind and provider.
type Table struct{ Rows []Row }

// subject is a recording that the kinds are applied to.
type subject struct {
	path  string
	scene *scene
	once  sync.Once
	base  verdict
}

// verdict is what the referee says of evidence.
type verdict struct {
	of       report.Verdict
	findings []report.Finding
}

// Run applies every kind to up to perProvider recordings of each provider that
// it fits, and judges the results by rules. Where the provenance of a recording says
// that the provider answered, the provider's acceptance excuses the altered request
// as well: give Run recordings without provenance. It uses all processors.
func Run(rules []report.Rule, recordings []evidence.Recording, seed uint64, perProvider int) Table {
	subjects := readSubjects(recordings)
	var jobs []Row
	for _, k := range slices.Concat(Faults(), Legal()) {
		for _, provider := range k.Providers {
			jobs = append(jobs, Row{Kind: k, Provider: provider})
		}
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range next {
				jobs[i].applyToMany(rules, subjects[jobs[i].Provider], seed, perProvider)
			}
		}()
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	workers.Wait()
	return Table{Rows: jobs}
}

// readSubjects sorts the recordings that the bench can use by provider.
func readSubjects(recordings []evidence.Recording) map[string][]*subject {
	out := map[string][]*subject{}
	for i := range recordings {
		r := &recordings[i]
		if s := newScene(&r.Evidence); s != nil && len(r.Evidence.Exchanges) <= maxExchanges {
			out[s.provider] = append(out[s.provider], &subject{path: r.Path, scene: s})
		}
	}
	return out
}

// judgeEvidence returns the failures and warnings, one for each place.
func judgeEvidence(rules []report.Rule, path string, ev evidence.Evidence) verdict {
	r := report.JudgeRecording(rules, evidence.Recording{Path: path, Format: evidence.FormatCorpus, Evidence: ev})
	v := verdict{of: r.Verdict}
	for _, f := range r.Findings {
		if f.Verdict == report.Contradicted {
			continue
		}
		v.findings = append(v.findings, f)
		for _, p := range f.Places {
			again := f
			again.Exchange, again.Path = p.Exchange, p.Path
			v.findings = append(v.findings, again)
		}
	}
	return v
}

func isFailure(f report.Finding) bool { return f.Verdict == report.Fail }

func (v verdict) hasFailure() bool { return slices.ContainsFunc(v.findings, isFailure) }

// applyToMany applies the kind of row to subjects in an order that the seed decides.
func (row *Row) applyToMany(rules []report.Rule, subjects []*subject, seed uint64, perProvider int) {
	order := newRand(seed ^ nameSeed(row.Kind.Name)).Perm(len(subjects))
	for _, i := range order {
		if row.Applied >= perProvider {
			return
		}
		row.applyToOne(rules, subjects[i], seed^nameSeed(row.Kind.Name+subjects[i].path))
	}
}

func nameSeed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return h.Sum64()
}

func (row *Row) applyToOne(rules []report.Rule, sub *subject, seed uint64) {
	before, after, place, ok := row.Kind.apply(sub.scene, newRand(seed))
	if !ok {
		return
	}
	sub.once.Do(func() { sub.base = judgeEvidence(rules, sub.path, sub.scene.ev) })
	base := sub.base
	if row.Kind.prepare != nil {
		base = judgeEvidence(rules, sub.path, before)
	}
	if base.hasFailure() && !row.Kind.onFailing || row.Kind.Legal && len(base.findings) > 0 {
		return
	}
	row.Applied++
	result := judgeEvidence(rules, sub.path, after)
	fresh := newFindings(base.findings, result.findings, place)
	row.addOutcomes(sub.path, place, base.of, result.of, fresh)
	row.countFaults(sub.path, place, result, fresh, base.of != result.of)
}

func (row *Row) addOutcomes(path string, place Place, before, after report.Verdict, fresh []report.Finding) {
	input := fmt.Sprintf("%s %s %s\t", row.Kind.Name, row.Provider, filepath.Base(path))
	row.Outcomes = append(row.Outcomes, fmt.Sprintf("%sverdict at exchange %d %s: %s becomes %s", input, place.Exchange, place.Path, before, after))
	for _, f := range fresh {
		row.Outcomes = append(row.Outcomes, fmt.Sprintf("%sfinding %s exchange %d %s: %s, rule %s", input, f.Check, f.Exchange, f.Path, f.Verdict, cmp.Or(f.Rule, "-")))
	}
}

// newFindings lists the findings of after that before does not have, place by place. At
// the altered place a different message is a different finding.
func newFindings(before, after []report.Finding, altered Place) []report.Finding {
	key := func(f report.Finding) string {
		if int(f.Exchange) == altered.Exchange && altered.Path != "" && strings.HasPrefix(f.Path, altered.Path) {
			return f.Check + f.Message
		}
		return string(f.Verdict) + "|" + f.Requirement + "|" + f.Check + "|" + f.Path + "|" + strconv.Itoa(int(f.Exchange))
	}
	had := map[string]int{}
	for _, f := range before {
		had[key(f)]++
	}
	var out []report.Finding
	for _, f := range after {
		if had[key(f)] > 0 {
			had[key(f)]--
			continue
		}
		out = append(out, f)
	}
	return out
}

func (row *Row) countFaults(path string, place Place, result verdict, fresh []report.Finding, verdictChanged bool) {
	if row.Kind.Legal {
		row.countAlarm(path, place, fresh)
		return
	}
	fails, warns, cited := 0, 0, false
	for _, f := range fresh {
		if f.Exchange >= 0 && int(f.Exchange) < place.Exchange {
			continue
		}
		if isFailure(f) {
			fails++
		} else {
			warns++
		}
		cited = cited || f.Rule != "" && strings.Contains(row.Kind.Rule, f.Rule)
	}
	if row.Kind.ofVerdict && verdictChanged && result.of != report.Pass && result.of != report.Warn {
		fails++
	}
	switch {
	case fails > 0:
		row.Fail++
	case warns > 0:
		row.Warn++
	default:
		row.Missed++
		row.addNote(path, place, "missed")
	}
	if cited {
		row.Cited++
	}
}

func (row *Row) countAlarm(path string, place Place, fresh []report.Finding) {
	if row.Kind.lossy {
		fresh = slices.DeleteFunc(fresh, func(f report.Finding) bool { return !isFailure(f) })
	}
	if len(fresh) == 0 {
		return
	}
	fails := 0
	var ids []string
	for _, f := range fresh {
		if isFailure(f) {
			fails++
		}
		if !slices.Contains(ids, f.Requirement) {
			ids = append(ids, f.Requirement)
		}
	}
	if fails > 0 {
		row.Fail++
	} else {
		row.Warn++
	}
	row.addNote(path, place, strings.Join(ids, " ")+": "+fresh[0].Message)
}

func (row *Row) addNote(path string, place Place, what string) {
	at := fmt.Sprintf("%s exchange %d %s", path, place.Exchange, place.Path)
	row.Notes = append(row.Notes, at+": "+what)
}
