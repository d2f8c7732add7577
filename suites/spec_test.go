package suites

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// declaredSentences are the requirements that the suites hold, by id.
var declaredSentences = map[string]string{}

// caseSpecs declares the specs of one case with one source.
type caseSpecs struct {
	harness.Case
	source evidence.Source
	rules  []report.Rule
}

// permutations are those of conform run with the same sources.
func permutations() (list []harness.Permutation) {
	if slices.Contains(sources(), evidence.SourceLive) {
		for _, c := range liveCases() {
			list = append(list, harness.Permutation{Case: c, Source: evidence.SourceLive})
		}
		return list
	}
	subject := harness.Executable("", "", acp.InProcess)
	list, err := harness.Options{Config: harness.Config{Subject: subject}, Sources: sources()}.Permutations()
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(list, func(p harness.Permutation) bool { return p.UnplayableReason(subject.About()) != "" })
}

// eachCase makes a container for every case with every source, in which declare
// declares the specs. The specs of one container run in one process.
func eachCase(declare func(its caseSpecs)) {
	rules, err := harness.Rules()
	Expect(err).NotTo(HaveOccurred())
	for _, p := range permutations() {
		Context(p.Case.Name()+" with the "+string(p.Source), Ordered, ContinueOnFailure, func() {
			declare(caseSpecs{p.Case, p.Source, rules})
		})
	}
}

// holds declares that the agent keeps to a requirement in this case. The sentence
// is the id and the title of the requirement. Cases that the requirement does not
// apply to get no spec; cases that do not show it are skipped.
func (its caseSpecs) holds(sentence string) {
	id, title, _ := strings.Cut(sentence, " ")
	declaredSentences[id] = title
	at := slices.IndexFunc(its.rules, func(r report.Rule) bool { return r.Requirement.ID == id })
	if at < 0 {
		Fail(id + ": no such requirement")
	}
	requirement := its.rules[at].Requirement
	if !requirement.Applies.To(its.Target.Provider, string(its.source)) {
		return
	}
	It(sentence, Label(harness.Labels(its.Case, requirement)...), func(ctx SpecContext) {
		results := slices.DeleteFunc(its.run(ctx).Results, func(r report.Result) bool { return r.Requirement != id })
		if len(results) == 0 {
			Skip("this case does not show it")
		}
		recordVerdict(results)
		Expect(results).To(Hold())
	})
}

// verdictEntry is the name of the report entries that carry a verdict.
const verdictEntry = "verdict"

// recordVerdict keeps the verdict on one requirement for the comparison with
// conform run.
func recordVerdict(results []report.Result) {
	var all []report.Verdict
	for _, r := range results {
		all = append(all, r.Verdict)
	}
	text := results[0].Case + " " + results[0].Requirement + ": " + string(report.Worst(all...))
	AddReportEntry(verdictEntry, text, ReportEntryVisibilityNever)
}

// finishedCase is what a case brought home, as the processes pass it on.
type finishedCase struct {
	Results  []report.Result
	Evidence *evidence.Evidence
}

// run returns what the case brought home. The first process that asks runs it;
// the others read its results.
func (its caseSpecs) run(ctx SpecContext) finishedCase {
	path := filepath.Join(shared.Dir, strings.ReplaceAll(its.Name(), "/", "-")+"-"+string(its.source))
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = lock.Close() }() // and with it the lock
	Expect(fileutil.Lock(lock)).To(Succeed())
	var done finishedCase
	if data, err := os.ReadFile(path + ".json"); err == nil {
		Expect(json.Unmarshal(data, &done)).To(Succeed())
		return done
	}
	caseRun := openRunner().Run(ctx, harness.Permutation{Case: its.Case, Source: its.source})
	if err := openRunner().Tripped(); err != nil {
		AbortSuite(err.Error())
	}
	done.Evidence = caseRun.Evidence
	for _, r := range harness.Judge(caseRun, its.rules) {
		done.Results = append(done.Results, r)
	}
	data, err := json.Marshal(done)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(path+".json", data, 0o600)).To(Succeed())
	return done
}

// runner is the one of this process. Specs of one process run one after the
// other.
var runner *harness.Runner

func openRunner() *harness.Runner {
	if runner == nil {
		var err error
		runner, err = harness.NewRunner(harness.Config{Subject: harness.Executable(shared.Rkat, "", acp.InProcess), Live: liveConfig()})
		Expect(err).NotTo(HaveOccurred())
	}
	return runner
}

func closeRunner() {
	if runner != nil {
		if spent := runner.Spent(); spent != nil {
			AddReportEntry("spent", spent.String())
		}
		runner.Close()
	}
}
