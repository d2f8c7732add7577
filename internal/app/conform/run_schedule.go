package conform

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// scheduleFlags say which cases run when, what is known of them already, and which
// failures are known.
type scheduleFlags struct {
	jobs, repeat int
	caseTimeout  time.Duration
	shard        string
	rerunFailed  string
	journal      string
	baseline     string
	prior        *report.Run // what rerunFailed names, once it is read
}

func (f *scheduleFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.jobs, "jobs", 0,
		"how many cases run at once (default: as many as there are processors, four times that for rkat)")
	flags.IntVar(&f.repeat, "repeat", 1, "run each case `N` times, to find results that differ: they are flaky")
	flags.DurationVar(&f.caseTimeout, "case-timeout", harness.DefaultCaseTimeout, "how long one case may take")
	flags.StringVar(&f.shard, "shard", "", "run a part of the cases: 2/4 is the second of four")
	flags.StringVar(&f.rerunFailed, "rerun-failed", "",
		"run only what failed, was not testable or has no result in a JSON report or journal `FILE`, and merge the results")
	flags.StringVar(&f.journal, "journal", "",
		"keep each case in `FILE` as it ends; a run that was interrupted goes on with it")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of breaches that are known: see conform baseline")
	cli.CommandLineOnly(flags, "rerun-failed") // a file of one run
}

// Bounds of what one run may do.
const (
	maxJobs   = 1024
	maxRepeat = 1000
)

// check refuses values that mean nothing.
func (f scheduleFlags) check() error {
	switch {
	case f.jobs < 0 || f.jobs > maxJobs:
		return cli.Usage("--jobs: %d cases at once; use 1 to %d", f.jobs, maxJobs)
	case f.repeat < 1 || f.repeat > maxRepeat:
		return cli.Usage("--repeat: %d runs of each case; use 1 to %d", f.repeat, maxRepeat)
	case f.caseTimeout <= 0:
		return cli.Usage("--case-timeout: %s is not a time; use for example 90s", f.caseTimeout)
	case f.rerunFailed != "" && f.journal != "":
		return cli.Usage("--rerun-failed: cannot be used with --journal, which goes on with an interrupted run by itself; leave one out")
	}
	return nil
}

// adoptRerun reads the report of --rerun-failed and takes over what selected its cases, for
// each flag that is not given. One that is given and differs is refused later.
func (f *runFlags) adoptRerun() (err error) {
	if f.rerunFailed == "" {
		return nil
	}
	if f.prior, err = readReport(f.rerunFailed); err != nil {
		return err
	}
	if f.sources == nil && !hasOneSourceEach(f.prior) {
		f.sources = f.prior.Source
	}
	if f.ingress == nil {
		f.ingress = f.prior.Ingress
	}
	f.filter = cmp.Or(f.filter, f.prior.Filter)
	if f.set == specs.CurrentSet {
		f.set = cmp.Or(f.prior.Set.Name, f.set)
	}
	if f.shard == "" && f.prior.Shard != nil {
		f.shard = f.prior.Shard.String()
	}
	f.strict = f.strict || f.prior.Policy.Strict
	return nil
}

// hasOneSourceEach reports whether a run took the cassettes, and the simulator for the cases
// without one, as it does when no source is named.
func hasOneSourceEach(r *report.Run) bool {
	names := map[string]bool{}
	for _, c := range r.Cases {
		names[c.Name] = true
	}
	for name := range names {
		if recorded, ok := strings.CutSuffix(name, "@simulator"); ok && names[recorded] {
			return false
		}
	}
	return len(r.Source) > 1
}

// schedule decides which cases run, and keeps what becomes of them. [harness.Run] calls
// choose once, then observe for each case, never concurrently.
type schedule struct {
	flags    scheduleFlags
	setName  string
	workdir  string
	baseline []report.Excuse
	file     *journalFile
	known    report.Journal // what the report is made of
	fault    error          // of writing the journal
	note     func(format string, args ...any)
}

// newSchedule reads the files that the flags name. header says which run this is; a run
// that goes on takes the seed of the one before.
func (a *app) newSchedule(f scheduleFlags, setName string, header report.JournalHeader) (_ *schedule, err error) {
	s := &schedule{flags: f, setName: setName, known: report.Journal{Header: header}, note: a.Note}
	h := &s.known.Header
	h.Journal = report.JournalSchema
	if f.repeat > 1 {
		h.Repeat = f.repeat
	}
	if f.shard != "" {
		shard, err := report.ParseShard(f.shard)
		if err != nil {
			return nil, cli.Usage("--shard: %w", err)
		}
		h.Shard = &shard
	}
	if s.baseline, err = readBaseline(f.baseline); err != nil {
		return nil, err
	}
	if f.journal != "" {
		if s.file, err = openJournal(f.journal); err != nil {
			return nil, err
		}
	}
	if err := s.setSeed(); err != nil {
		s.closeJournal()
		return nil, err
	}
	return s, nil
}

// setSeed makes the seed of the run, unless it is given or goes on with another run's.
func (s *schedule) setSeed() error {
	h := &s.known.Header
	onlyCassettes := !slices.ContainsFunc(h.Source, func(source string) bool { return source != "cassette" })
	switch {
	case onlyCassettes:
		h.Seed = ""
	case h.Seed != "":
	case s.flags.prior != nil:
		h.Seed = s.flags.prior.Seed
	case s.file != nil && s.file.goesOn():
		h.Seed = s.file.found.Header.Seed
	case h.Shard != nil && h.Shard.Of > 1:
		return cli.Usage("--shard %s: the parts of a run need one seed; give all of them the same --seed, for example the number of the CI run", h.Shard)
	default:
		random := make([]byte, 8)
		_, _ = rand.Read(random) // never fails
		h.Seed = hex.EncodeToString(random)
	}
	return nil
}

// chooseRuns says how often each case is run.
func (s *schedule) chooseRuns(plan harness.Plan) (func(string) int, error) {
	h := &s.known.Header
	var shard report.Shard
	if h.Shard != nil {
		shard = *h.Shard
	}
	h.Set = report.NewSet(s.setName, plan.Requirements)
	h.Plan, h.Expected = plan.Summaries(shard.Holds), plan.Expected(shard.Holds)
	settled := map[string]bool{}
	if s.flags.prior != nil {
		if why := s.flags.prior.DiffersFrom(*h); why != "" {
			return nil, cli.Usage("%s: %s; leave out the flags that differ", s.flags.rerunFailed, why)
		}
		settled = s.flags.prior.Settled()
		again := 0
		for _, c := range h.Plan {
			if c.Reason == "" && !settled[c.Name] {
				again++
			}
		}
		s.note("%s: %s settled, %d run again", s.flags.rerunFailed,
			cli.Count(len(h.Plan)-again, "case is", "cases are"), again)
	}
	done := map[string]int{}
	if s.file != nil {
		if err := s.file.beginJournal(&s.known); err != nil {
			return nil, err
		}
		if done = s.known.Counts(); len(done) > 0 {
			s.note("%s: goes on after %d of %s", s.flags.journal, len(done), cli.Count(len(h.Plan), "case", "cases"))
		}
	}
	return func(name string) int {
		if !shard.Holds(name) || settled[name] {
			return 0
		}
		return max(0, s.flags.repeat-done[name])
	}, nil
}

// keepCase keeps a case that ended.
func (s *schedule) keepCase(run harness.CaseRun, results []report.Result) {
	entry := report.JournalEntry{Case: run.Summary(results), Results: results, Hosts: run.Hosts()}
	entry.Case.Line = ownLine(s.workdir, run.Evidence)
	if entry.Results == nil {
		entry.Results = []report.Result{}
	}
	if run.Case.HasTraffic() {
		entry.Calls = &run.Calls
	}
	s.known.Entries = append(s.known.Entries, entry)
	if s.file == nil || s.fault != nil {
		return
	}
	s.fault = s.file.appendLine(entry.Line())
}

// makeReport makes the report. end is nil where the run was interrupted. The error is that
// of the journal, which may lack the last cases.
func (s *schedule) makeReport(end *report.JournalEnd) (*report.Run, error) {
	s.known.End = end
	if end != nil && s.file != nil && s.fault == nil {
		s.fault = s.file.appendLine(end.Line())
	}
	ran := s.known.Run(s.baseline)
	if s.flags.prior != nil {
		ran = s.flags.prior.WithRerun(&s.known, s.baseline)
	}
	if s.fault != nil {
		return ran, fmt.Errorf("%s: the journal is incomplete: %w", s.flags.journal, s.fault)
	}
	return ran, nil
}

func (s *schedule) closeJournal() {
	if s.file != nil {
		s.file.closeFile()
	}
}

// priceFlag names the file with the user's prices.
type priceFlag struct{ file string }

func (f *priceFlag) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "prices", "",
		"YAML `file` with your prices per million tokens, by which a lost cache and a live run are counted in money; none are built in")
}

// read returns the prices, nil where no file is named.
func (f priceFlag) read() (*specs.Prices, error) {
	if f.file == "" {
		return nil, nil //nolint:nilnil // nothing is counted in money
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, cli.Unreadable("--prices "+f.file, err)
	}
	prices, err := specs.ParsePrices(f.file, data)
	if err != nil {
		return nil, cli.Usage("--prices %w", err)
	}
	return prices, nil
}
