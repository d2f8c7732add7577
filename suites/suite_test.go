package suites

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/wires"
)

var sourceFlag = flag.String("conform.source", "cassette,simulator",
	"what answers the agent: cassette, simulator or both, or live")

// sources are the values of -conform.source.
func sources() (list []evidence.Source) {
	for _, name := range strings.Split(*sourceFlag, ",") {
		list = append(list, evidence.Source(name))
	}
	return list
}

// workshop is what all parallel processes of one run share. The first process
// makes it.
type workshop struct {
	Dir     string // holds the programs, and the results of cases by their names
	Rkat    string // path of the agent under test
	Conform string // path of the program whose verdicts the suites must give
}

var shared workshop

func TestSuites(t *testing.T) {
	if _, err := harness.EnvironmentKeys(os.Getenv); err != nil && slices.Contains(sources(), evidence.SourceLive) {
		t.Fatalf("-conform.source=live: %v", err)
	}
	RegisterFailHandler(Fail)
	if *serverFlag != "" {
		if wires.Find(*wireFlag) == nil || *modelFlag == "" {
			t.Fatalf("-conform.server: needs -conform.model, and -conform.wire of %s", wires.List(wires.Names()))
		}
		c, r := GinkgoConfiguration()
		c.LabelFilter = strings.TrimPrefix(c.LabelFilter+" && "+serverLabel, " && ")
		RunSpecs(t, "Conformance of "+*modelFlag, c, r)
		return
	}
	RunSpecs(t, "Conformance of rkat")
	if GinkgoParallelProcess() == 1 { // it ends last
		_ = os.RemoveAll(shared.Dir)
	}
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	if *serverFlag != "" {
		return []byte("{}") // no agent is built
	}
	dir, err := os.MkdirTemp("", "suites-")
	Expect(err).NotTo(HaveOccurred())
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "../cmd/rkat", "../cmd/conform")
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	made, err := json.Marshal(workshop{Dir: dir, Rkat: filepath.Join(dir, "rkat"),
		Conform: filepath.Join(dir, "conform")})
	Expect(err).NotTo(HaveOccurred())
	return made
}, func(made []byte) {
	Expect(json.Unmarshal(made, &shared)).To(Succeed())
	c, _ := GinkgoConfiguration()
	isLive := slices.Contains(sources(), evidence.SourceLive) || *serverFlag != ""
	if c.ParallelTotal == 1 && c.LabelFilter == "" && !isFocused(c) && !c.DryRun && !isLive {
		stopRunningAhead = runAhead()
	}
})

// stopRunningAhead ends the runs of cases whose specs have not come; nil if there are none.
var stopRunningAhead func()

// isFocused reports whether the command line selects specs otherwise than by labels.
func isFocused(c types.SuiteConfig) bool {
	return len(c.FocusStrings)+len(c.SkipStrings)+len(c.FocusFiles)+len(c.SkipFiles) > 0
}

var _ = SynchronizedAfterSuite(closeRunner, func() {})

// The suites and conform run must never disagree. Providers are not asked twice.
var _ = ReportAfterSuite("the verdicts are those of conform run", func(ctx SpecContext, ran Report) {
	ours := verdictsOf(ran)
	c := ran.SuiteConfig
	focused := isFocused(c) || ran.SuiteHasProgrammaticFocus
	isLive := slices.Contains(sources(), evidence.SourceLive)
	if len(ours) == 0 || isLive || focused || c.DryRun || c.FailFast || len(ran.SpecialSuiteFailureReasons) > 0 {
		return // not all specs ran
	}
	args := []string{"run", "--json", "--source", *sourceFlag, "--filter", c.LabelFilter}
	if !corpus.Whole() {
		args = append(args, "--seed=1", fmt.Sprintf("--shard=%d/4", 1+ran.SuiteConfig.RandomSeed%4))
	}
	out, err := exec.CommandContext(ctx, shared.Conform, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > report.ExitIncomplete {
		Fail(fmt.Sprintf("conform run: %v\n%s", err, exit.Stderr))
	}
	var run report.Run
	Expect(json.Unmarshal(out, &run)).To(Succeed(), string(out))
	theirs, cases := map[string]report.Verdict{}, map[string]bool{}
	for _, r := range run.Results {
		cases[r.Case] = true
		key := r.Case + " " + r.Requirement
		theirs[key] = report.Worst(append(slices.Clip(verdictList(theirs, key)), r.Verdict)...)
		if r.Verdict.Exit() == report.Fail.Exit() {
			GinkgoWriter.Printf("conform run: %s: %s %s %v\n", key, r.Verdict, r.Reason, r.Findings)
		}
	}
	maps.DeleteFunc(ours, func(key string, _ report.Verdict) bool { return !cases[strings.Fields(key)[0]] })
	Expect(differences(ours, theirs)).To(BeEmpty())
})

// differences lists the verdicts that the suites and conform run do not share.
func differences(ours, theirs map[string]report.Verdict) (lines []string) {
	for key := range theirs {
		if _, known := ours[key]; !known {
			lines = append(lines, fmt.Sprintf("%s: no spec, conform run says %s", key, theirs[key]))
		}
	}
	for key, verdict := range ours {
		if theirs[key] != verdict {
			lines = append(lines, fmt.Sprintf("%s: %s, conform run says %s", key, verdict,
				cmp.Or(theirs[key], "nothing")))
		}
	}
	slices.Sort(lines)
	return lines
}

// verdictList is the verdict that is known so far, if any.
func verdictList(known map[string]report.Verdict, key string) []report.Verdict {
	if v, ok := known[key]; ok {
		return []report.Verdict{v}
	}
	return nil
}

// verdictsOf reads the verdicts that the specs left in the report, by case and
// requirement.
func verdictsOf(ran Report) map[string]report.Verdict {
	verdicts := map[string]report.Verdict{}
	for _, spec := range ran.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name == verdictEntry {
				key, verdict, _ := strings.Cut(entry.StringRepresentation(), ": ")
				verdicts[key] = report.Verdict(verdict)
			}
		}
	}
	return verdicts
}
