package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/scenario"
	"github.com/meerkat-go/conformance/suites/filter"
	"github.com/meerkat-go/conformance/suites/play"
)

// Outcome is what a run found.
type Outcome struct {
	Results []report.Result
	// Requirements are the ids that were to be seen: those that a selected play
	// was written for, and those of which every spec was selected.
	Requirements []string
	// Interrupted is set when the run ended before its last spec.
	Interrupted bool
}

// ErrNothing is wrapped by Run when no spec is selected.
var ErrNothing = errors.New("selects nothing; use ids, areas, levels, providers and scenario names that exist")

// house is held by the one program that has Ginkgo's tree of specs.
var house sync.Mutex

// Run registers specs by register, performs the plays of those that are
// selected and judges them. t, which may be nil, is told whether any is red. An
// error together with an Outcome is a fault of the harness. Run never ends the process and writes nothing to standard output.
func (p *Program) Run(ctx context.Context, t ginkgo.GinkgoTestingT, register func(*Program)) (Outcome, error) {
	house.Lock()
	defer house.Unlock()
	defer redirect(p.cfg.Log)()
	globals.Reset()
	gomega.RegisterFailHandler(ginkgo.Fail)
	register(p)
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.LabelFilter = cmp.Or(p.cfg.Filter, flagFilter())
	reporter.NoColor, reporter.Succinct = true, true
	preview := ginkgo.PreviewSpecs(title, suite, reporter)
	if err := p.choose(preview.SpecReports); err != nil {
		return Outcome{}, fmt.Errorf("filter %q %w", suite.LabelFilter, err)
	}
	if t == nil {
		t = unheard{}
	}
	return p.play(ctx, t, suite, reporter)
}

const title = "conform"

// flagFilter is what go test was given as -ginkgo.label-filter. Ginkgo keeps
// the filter of a run as its own, so it is read before the first.
var flagFilter = sync.OnceValue(func() string {
	suite, _ := ginkgo.GinkgoConfiguration()
	return suite.LabelFilter
})

// unheard stands for a testing.T that nobody asks.
type unheard struct{}

// Fail does nothing.
func (unheard) Fail() {}

// redirect sends Ginkgo's output to w until the returned function is called.
func redirect(w io.Writer) func() {
	was := formatter.ColorableStdOut
	formatter.ColorableStdOut = w
	return func() { formatter.ColorableStdOut = was }
}

// choose keeps the plays and requirements of the specs that will run.
func (p *Program) choose(specs types.SpecReports) error {
	needed, wanted, partly := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range specs {
		name := s.ContainerHierarchyTexts[len(s.ContainerHierarchyTexts)-1]
		id, _, _ := strings.Cut(s.LeafNodeText, "/")
		switch about := slices.Contains(s.Labels(), harness); {
		case s.State.Is(types.SpecStateSkipped):
			partly[id] = partly[id] || !about
		case about:
			p.total++
		default:
			p.total++
			needed[name] = true
			wanted[id] = wanted[id] || p.claims[name+" "+id]
		}
	}
	if p.total == 0 {
		return ErrNothing
	}
	for id, claimed := range wanted {
		if claimed || !partly[id] {
			p.outcome.Requirements = append(p.outcome.Requirements, id)
		}
	}
	slices.Sort(p.outcome.Requirements)
	p.plays = slices.DeleteFunc(p.plays, func(pl scenario.Play) bool { return !needed[pl.Name()] })
	return nil
}

func (p *Program) play(ctx context.Context, t ginkgo.GinkgoTestingT, suite types.SuiteConfig, reporter types.ReporterConfig) (Outcome, error) {
	stage, err := play.NewStage(p.cfg.Subject)
	if err != nil {
		return Outcome{}, err
	}
	defer stage.Close()
	ctx, cancel := context.WithCancel(ctx)
	p.ahead = start(ctx, p.plays, p.cfg.Workers, func(ctx context.Context, pl scenario.Play) play.Performance {
		return stage.Perform(ctx, pl, p.cfg.Tapes)
	})
	defer p.ahead.stop()
	defer cancel()
	ginkgo.RunSpecs(t, title, suite, reporter)
	p.outcome.Interrupted = p.done < p.total
	return p.outcome, errors.Join(p.faults...)
}

// FilterError is a filter that cannot be read.
type FilterError struct{ err error }

// Error quotes the filter and says what is wrong with it.
func (e *FilterError) Error() string { return e.err.Error() }

// Unwrap returns the reader's error.
func (e *FilterError) Unwrap() error { return e.err }

// checkFilter reads a filter before Ginkgo does, which would end the process.
func checkFilter(expression string) error {
	if _, err := filter.Parse(expression); err != nil {
		return &FilterError{err}
	}
	return nil
}
