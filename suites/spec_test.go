package suites

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/subject/acp"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/specs"
)

// One container an area, one spec for each of its requirements and each case.
var _ = Describe("Conformance", func() {
	if *serverFlag != "" {
		return
	}
	all, err := specs.Requirements()
	Expect(err).NotTo(HaveOccurred())
	for _, area := range specs.Areas {
		Context(specs.AreaName(area), Label(area), func() {
			eachCase(func(its caseSpecs) {
				for _, r := range all {
					if r.Area() == area && r.Status != specs.Withdrawn {
						its.holds(r)
					}
				}
			})
		})
	}
})

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
	return slices.DeleteFunc(list,
		func(p harness.Permutation) bool { return p.UnsupportedReason(subject.About()) != "" })
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

// holds declares that the agent keeps to a requirement in this case. Cases that the
// requirement does not apply to get no spec; cases that do not show it are skipped.
func (its caseSpecs) holds(requirement specs.Requirement) {
	id := requirement.ID
	if !requirement.Applies.To(its.Target.Provider, string(its.source)) {
		return
	}
	It(id+" "+requirement.Title, Label(harness.Labels(its.Case, requirement)...), func(ctx SpecContext) {
		results := slices.DeleteFunc(slices.Clone(its.run(ctx).Results),
			func(r report.Result) bool { return r.Requirement != id })
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
	Results []report.Result
	// Evidence is only of cases that a cassette answers: a spec compares it.
	Evidence *evidence.Evidence
}

// finishedCases are the cases of which this process knows the results, by their files.
var finishedCases = map[string]finishedCase{}

// run returns what the case brought home. The first process that asks runs it;
// the others read its results.
func (its caseSpecs) run(ctx context.Context) finishedCase {
	done, known := finishedCases[its.resultPath()]
	if !known {
		var err error
		done, err = its.runOnce(ctx)
		Expect(err).NotTo(HaveOccurred())
		finishedCases[its.resultPath()] = done
	}
	if err := openRunner().Tripped(); err != nil {
		AbortSuite(err.Error())
	}
	return done
}

// resultPath is the file through which processes pass the results of the case on.
func (its caseSpecs) resultPath() string {
	return filepath.Join(shared.Dir, strings.ReplaceAll(its.Name(), "/", "-")+"-"+string(its.source)+".json")
}

// runOnce runs the case unless somebody has, or waits for who does. It may be called
// concurrently.
func (its caseSpecs) runOnce(ctx context.Context) (done finishedCase, err error) {
	lock, err := os.OpenFile(its.resultPath()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return done, err
	}
	defer func() { _ = fileutil.CloseLocked(lock) }()
	if err := fileutil.Lock(lock); err != nil {
		return done, err
	}
	if data, err := os.ReadFile(its.resultPath()); err == nil {
		return done, json.Unmarshal(data, &done)
	}
	caseRun := openRunner().Run(ctx, harness.Permutation{Case: its.Case, Source: its.source})
	if its.source == evidence.SourceCassette {
		done.Evidence = caseRun.Evidence
	}
	for _, r := range harness.Judge(caseRun, its.rules) {
		done.Results = append(done.Results, r)
	}
	if ctx.Err() != nil {
		return done, ctx.Err()
	}
	data, err := json.Marshal(done)
	if err != nil {
		return done, err
	}
	return done, os.WriteFile(its.resultPath(), data, 0o600)
}

// runAhead runs all cases, as many at once as there are processors. Specs run one after
// the other: without it, each first one would wait for its case alone. The function
// that it returns ends the runs. A fault is reported by the spec that asks for the case.
func runAhead() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	rules, err := harness.Rules()
	Expect(err).NotTo(HaveOccurred())
	all, done := permutations(), make(chan struct{})
	go func() {
		defer close(done)
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for _, p := range all {
			group.Go(func() error {
				if ctx.Err() == nil {
					_, _ = caseSpecs{p.Case, p.Source, rules}.runOnce(ctx)
				}
				return nil
			})
		}
		_ = group.Wait()
	}()
	return func() { cancel(); <-done }
}

// openRunner returns the runner of this process.
var openRunner = sync.OnceValue(func() *harness.Runner {
	made, err := harness.NewRunner(harness.Config{Subject: harness.Executable(shared.Rkat, "", acp.InProcess),
		Tools: []string{shared.Conform, "tools"}, Live: liveConfig()})
	Expect(err).NotTo(HaveOccurred())
	return made
})

func closeRunner() {
	if stopRunningAhead != nil {
		stopRunningAhead()
	}
	if spent := openRunner().Spent(); spent != nil {
		AddReportEntry("spent", spent.String())
	}
	openRunner().Close()
}
