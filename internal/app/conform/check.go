package conform

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

func (a *app) checkCommand() *cobra.Command {
	asJSON := false
	var flags policyFlags
	var session sessionFlags
	var reports reportFlags
	var team teamFlags
	var part partFlags
	side, level := sideAgent, ""
	cmd := &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Judge traffic that any tool recorded",
		Long: `Judge traffic that any tool recorded: our cassettes, go-vcr v2 to v4, vcrpy, VCR for
Ruby, nock, HAR (also of Polly.js), each also gzipped, or a folder of NN.request.json,
NN.response.json and NN.response.body. Directories are searched; files in them that are
not recordings are named as passed over, and not-testable with --strict. What is not a
call of a known provider is listed as skipped.

Our recorder notes which process sent a request. Of other recordings, --resume-at and
--in-order say where a process resumed the session, so that resumption is judged too.
--set models= says which models the agent may ask for. --foreign declares that the
providers' own hosts gave the replies: a finding about a request that they accepted
is then contradicted instead of a failure. --host says which provider a gateway passes
requests on to: its rules hold there too.

--side server judges the replies instead, whoever sent the requests: each duty of a server
or gateway that a reply shows, by SV- and GW- ids that conform explain knows. What crashes a
client, or makes it go on with something else, is a failure there. Without it, findings about
the source of the replies are warnings beside the verdict of the agent.

Many recordings are judged one after the other; memory does not grow with their number.
--journal FILE keeps each one when it is judged, and the same command goes on with the
file after a kill. --shard 2/4 judges the second of four parts, which conform matrix puts
together.

Exits 1 when something failed, 3 when something could not be read, showed nothing
or holds no call that was accepted, 2 when there was nothing to judge. --report
ndjson=FILE writes each recording as a line while the check goes on, as in the list
"recordings" of --json. --json prints ` + report.CheckedSchema + `.`,
		Example: `  conform check recording.har
  conform check --strict --require SIG,ORD-001 cassettes > report.txt
  conform check --side server gateway.har
  conform check --rules our-rules.yaml recording.har
  conform check --in-order before.har after.har --set models=gpt-5.5
  conform check --shard 1/2 --journal 1.ndjson cassettes
  conform check --json cassettes | jq .summary`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("check: no recording named; give files or directories")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if side != sideAgent && side != sideServer {
				return cli.Usage("--side: %q is not known; use %s or %s", side, sideAgent, sideServer)
			}
			if level != "" && (side != sideServer || !slices.Contains(specs.DutyLevels, specs.DutyLevel(level))) {
				return cli.Usage("--level %s: give core, agent or faithful, beside --side %s", level, sideServer)
			}
			own, err := team.readFiles()
			if err != nil {
				return err
			}
			policy, err := flags.policy(own)
			if err != nil {
				return err
			}
			return a.check(cmd.Context(), checkRequest{args, cmd.Flags(), policy, session, reports, part, own, side,
				specs.DutyLevel(level), asJSON})
		},
	}
	flags.addTo(cmd)
	session.addTo(cmd)
	reports.addTo(cmd)
	team.addTo(cmd)
	part.addTo(cmd)
	cmd.Flags().StringVar(&side, "side", side,
		"whose fault counts: agent judges the requests, server the replies by what servers owe their clients")
	cmd.Flags().StringVar(&level, "level", "",
		"with --side server, judge no more than this level: core, agent or faithful (default: all)")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// The sides that are judged.
const (
	sideAgent  = "agent"
	sideServer = specs.JudgesServer
)

// checkRequest is what conform check is asked for.
type checkRequest struct {
	paths   []string
	flags   *pflag.FlagSet
	policy  report.Policy
	session sessionFlags
	reports reportFlags
	part    partFlags
	own     []report.Rule // of the team
	side    string
	level   specs.DutyLevel
	asJSON  bool
}

func (a *app) check(ctx context.Context, q checkRequest) error {
	if err := q.session.resolve(); err != nil {
		return err
	}
	files, err := a.parseReportFlags(q.reports.reports, q.asJSON)
	if err != nil {
		return err
	}
	page, err := a.newInspection(q.reports, files)
	if err != nil {
		return err
	}
	rules, err := harness.Rules()
	if err != nil {
		return err
	}
	checked := report.BeginChecked(tool(), q.policy)
	switch q.side {
	case sideServer:
		isAbove := func(r report.Rule) bool {
			return q.level != "" && slices.Index(specs.DutyLevels,
				specs.FindDuty(r.Requirement.ID).Level) > slices.Index(specs.DutyLevels, q.level)
		}
		rules, checked.Side = slices.DeleteFunc(report.ServerRules(), isAbove), sideServer
	default:
		rules = append(append(rules, report.SourceRules()...), q.own...)
	}
	head := checked.CheckedHead
	if err := q.part.addParts(&head, q.paths, q.flags, rules); err != nil {
		return err
	}
	found, err := findRecordings(q.paths)
	if err != nil {
		return err
	}
	if found, err = q.session.group(found); err != nil {
		return err
	}
	if head.Shard != nil {
		checked.CheckedHead = head
	}
	found = slices.DeleteFunc(found, func(f evidence.Found) bool {
		return isSamePath(f.Path, q.part.journal) || head.Shard != nil && !head.Shard.Holds(f.Path)
	})
	slices.SortFunc(found, func(f, g evidence.Found) int { return strings.Compare(f.Path, g.Path) })
	judge := judging{rules: rules, policy: q.policy, session: q.session, page: page}
	if q.part.journal != "" {
		if judge.journal, err = openCheckJournal(q.part.journal, head); err != nil {
			return err
		}
		defer judge.journal.closeFile()
		if known := judge.journal.known.Len(); known > 0 {
			a.Note("%s: goes on after %d of %s", q.part.journal, known, cli.Count(len(found), "file", "files"))
		}
	}
	return a.reportRecordings(checked, files, q.asJSON, func(add func(*report.Recording)) error {
		if err := a.judgeAll(ctx, judge, found, checked, add); err != nil {
			return err
		}
		if checked.Count() == 0 && head.Shard == nil {
			what := "holds no recording"
			if len(checked.PassedOver) > 0 {
				what += ", " + checked.PassedOver[0] + " is none"
			}
			return cli.Usage("%s: %s; give cassettes, or files of go-vcr, vcrpy, VCR or nock, or HAR files",
				q.paths[0], what)
		}
		for _, note := range q.session.hosts.notes(q.side) {
			a.Note("%s", note)
		}
		if judge.journal != nil {
			return judge.journal.end()
		}
		return nil
	})
}

// isSamePath reports whether two names lead to one place; an empty one leads nowhere.
func isSamePath(a, b string) bool {
	first, errA := filepath.Abs(a)
	second, errB := filepath.Abs(b)
	return a != "" && b != "" && errors.Join(errA, errB) == nil && first == second
}

// reportRecordings writes all reports of recordings, which each gives to add in the order of their
// paths. It keeps none of them.
func (a *app) reportRecordings(checked *report.Checked, files reportFiles, asJSON bool,
	each func(add func(*report.Recording)) error) error {
	if asJSON {
		files = append(files, reportFile{kind: "json", path: toStdout})
	}
	defer func() { _ = files.closeStreams(nil) }()
	if err := a.openStreams(files, checked.CheckedHead); err != nil {
		return err
	}
	err := each(func(r *report.Recording) {
		checked.Add(r)
		for i := range files {
			if file := &files[i]; file.stream != nil && file.fault == nil {
				file.fault = file.stream.Add(r)
			}
		}
	})
	if err != nil {
		return err
	}
	checked.Finish()
	err = files.closeStreams(checked)
	if checked.Shard == nil {
		for _, line := range checked.UnseenTeamRules() {
			a.Say("%s", line)
		}
	}
	return a.deliverReport(checked, func(t *report.Terminal) { t.Checked(checked) }, checked.Summary.Exit, files,
		false, err)
}

// partFlags say which part of the recordings is judged, and where what was judged is kept.
type partFlags struct{ shard, journal string }

func (f *partFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.shard, "shard", "",
		"judge a part of the recordings: 2/4 is the second of four; conform matrix puts the parts together")
	flags.StringVar(&f.journal, "journal", "",
		"keep each recording in `FILE` as it is judged; a check that was interrupted goes on with it")
	cli.CommandLineOnly(flags, "journal") // of the recordings that are named beside it
}

// addParts adds to the head of a report what tells it from other checks: the shard, the rules and
// the arguments on which verdicts depend, with a digest of the files that they name.
func (f *partFlags) addParts(head *report.CheckedHead, paths []string, flags *pflag.FlagSet,
	rules []report.Rule) error {
	if f.shard != "" {
		shard, err := report.ParseShard(f.shard)
		if err != nil {
			return cli.Usage("--shard: %w", err)
		}
		if flags.Changed("in-order") {
			return cli.Usage("--shard: --in-order makes one session of all recordings, which has no parts; leave one out")
		}
		head.Shard = &shard
	}
	head.Rules, head.Arguments = report.RuleNames(rules), slices.Clone(paths)
	for _, name := range []string{"resume-at", "in-order", "foreign", "side", "level", "set", "prices", "rules"} {
		flag := flags.Lookup(name)
		if !flag.Changed {
			continue
		}
		argument := "--" + name + "=" + flag.Value.String()
		for _, file := range strings.Split(strings.Trim(flag.Value.String(), "[]"), ",") {
			if data, err := os.ReadFile(strings.TrimPrefix(file, "models=")); err == nil {
				argument += fmt.Sprintf(" (%.4x)", sha256.Sum256(data))
			}
		}
		head.Arguments = append(head.Arguments, argument)
	}
	return nil
}

func tool() report.Tool { return report.Tool{Name: program.Name, Version: cli.Version()} }

// findRecordings lists the recordings below paths, each once.
func findRecordings(paths []string) ([]evidence.Found, error) {
	var all []evidence.Found
	seen := map[string]bool{}
	for _, p := range paths {
		found, err := evidence.Find(p)
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		for _, f := range found {
			if !seen[f.Path] {
				seen[f.Path] = true
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// judging is what a recording is judged with.
type judging struct {
	rules   []report.Rule
	policy  report.Policy
	session sessionFlags
	journal *checkJournal // nil for none
	page    *inspection   // nil for none
}

// judgeAll reads and judges on every processor, and gives the recordings to add in their order.
// Files below a directory that are not recordings are passed over; by a strict policy, they are
// not testable.
func (a *app) judgeAll(ctx context.Context, j judging, found []evidence.Found, checked *report.Checked,
	add func(*report.Recording)) error {
	bar := a.StartProgress("checked")
	defer bar.Done()
	judge := func(i int) (*judgedFile, error) {
		defer bar.Step(len(found))
		a.Log().Info("reading", "file", found[i].Path)
		found[i].Named = found[i].Named || j.policy.Strict
		return j.judgeFile(found[i])
	}
	ballast := make([]byte,
		32<<20) // never touched: the garbage collector, which expects the heap to double, runs less often
	defer runtime.KeepAlive(ballast)
	return eachInOrder(ctx, len(found), judge, func(i int, file *judgedFile) {
		if file.judged == nil {
			checked.PassOver(found[i].Path)
			return
		}
		add(file.judged)

		// The page reads the recording again: many recordings would fill the memory.
		if j.page != nil {
			j.page.builder.Learn(&file.recording.Evidence)
			file.recording = evidence.Recording{}
			j.page.files = append(j.page.files, file)
		}
	})
}

// judgedFile is a file with what became of it.
type judgedFile struct {
	recording evidence.Recording // for a page only
	judged    *report.Recording  // nil for a file that is not a recording
	// readAgain returns the recording, empty where it cannot be read.
	readAgain func() evidence.Recording
}

// judgeFile judges a file, unless the journal knows it. A page needs the recording itself.
func (j judging) judgeFile(f evidence.Found) (*judgedFile, error) {
	if j.journal != nil && j.page == nil {
		if r, isKnown, err := j.journal.known.Recording(f.Path); isKnown || err != nil {
			return &judgedFile{judged: r}, err
		}
	}
	recording, judged := judgeRecording(j.rules, f, j.session)
	if judged != nil {
		judged.Apply(j.policy)
	}
	if j.page == nil {
		recording = evidence.Recording{}
	}
	file := &judgedFile{recording, judged, func() evidence.Recording {
		again, _ := j.session.read(f) // what is wrong with it was said when it was judged
		return again
	}}
	if j.journal == nil {
		return file, nil
	}
	return file, j.journal.keep(f.Path, judged)
}

// maxAhead is how many results may wait for one before them.
const maxAhead = 256

// eachInOrder calls work for each ordinal on every processor, and use with what it returns, in
// order and one at a time. It holds few results at once.
func eachInOrder[T any](ctx context.Context, count int, work func(i int) (T, error), use func(i int, value T)) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	queue := make(chan chan T, maxAhead)
	go func() {
		defer close(queue)
		for i := 0; i < count && inner.Err() == nil; i++ {
			result := make(chan T, 1)
			queue <- result
			group.Go(func() error {
				value, err := work(i)
				result <- value
				return err
			})
		}
	}()
	i := 0
	for result := range queue {
		if value := <-result; inner.Err() == nil {
			use(i, value)
		}
		i++
	}
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return cli.Fail(report.ExitInterrupted, "interrupted; no verdict was reached")
}

// judgeRecording returns nil for a file that is not a recording, unless the caller
// named it.
func judgeRecording(rules []report.Rule, f evidence.Found, session sessionFlags) (evidence.Recording,
	*report.Recording) {
	rec, err := session.read(f)
	var judged report.Recording
	switch {
	case err == nil:
		judged = report.JudgeRecording(rules, rec)
	case errors.Is(err, evidence.ErrNotRecording) && !f.Named:
		return rec, nil
	default:
		judged = report.Unreadable(f.Path, err)
	}
	return rec, &judged
}
