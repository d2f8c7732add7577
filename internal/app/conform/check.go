package conform

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

func (a *app) checkCommand() *cobra.Command {
	asJSON := false
	var flags policyFlags
	var session sessionFlags
	var reports reportFlags
	var team teamFlags
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
is then contradicted instead of a failure.

Exits 1 when something failed, 3 when something could not be read, showed nothing
or holds no call that was accepted, 2 when there was nothing to judge. --report
ndjson=FILE writes each recording as a line when it is judged, as in the list
"recordings" of --json. --json prints ` + report.CheckedSchema + `.`,
		Example: `  conform check recording.har
  conform check --strict --require SIG,ORD-001 cassettes > report.txt
  conform check --rules our-rules.yaml recording.har
  conform check --in-order before.har after.har --set models=gpt-5.5
  conform check --json cassettes | jq .summary`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("check: no recording named; give files or directories")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := team.readFiles()
			if err != nil {
				return err
			}
			policy, err := flags.policy(own)
			if err != nil {
				return err
			}
			return a.check(cmd.Context(), args, policy, session, reports, own, asJSON)
		},
	}
	flags.addTo(cmd)
	session.addTo(cmd)
	reports.addTo(cmd)
	team.addTo(cmd)
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) check(ctx context.Context, paths []string, policy report.Policy, session sessionFlags, reports reportFlags, own []report.Rule, asJSON bool) error {
	if err := session.resolve(); err != nil {
		return err
	}
	files, err := a.parseReportFlags(reports.reports, asJSON)
	if err != nil {
		return err
	}
	page, err := a.newInspection(reports, files)
	if err != nil {
		return err
	}
	rules, err := harness.Rules()
	if err != nil {
		return err
	}
	rules = append(rules, own...)
	found, err := findRecordings(paths)
	if err != nil {
		return err
	}
	if found, err = session.group(found); err != nil {
		return err
	}
	if err := files.openStreams(a.JSON()); err != nil {
		return err
	}
	recordings, passedOver, err := a.judgeAll(ctx, rules, found, session, page, policy, files)
	for _, file := range files {
		if file.stream != nil {
			err = errors.Join(err, file.stream.Close())
		}
	}
	if err != nil {
		return err
	}
	if len(recordings) == 0 {
		what := "holds no recording"
		if len(passedOver) > 0 {
			what += ", " + passedOver[0] + " is none"
		}
		return cli.Usage("%s: %s; give cassettes, or files of go-vcr, vcrpy, VCR or nock, or HAR files", paths[0], what)
	}
	checked := report.NewChecked(tool(), policy, recordings)
	for _, line := range checked.UnseenTeamRules() {
		a.Say("%s", line)
	}
	checked.PassedOver = passedOver
	return a.deliverReport(checked, func(t *report.Terminal) { t.Checked(checked) }, checked.Summary.Exit, files, asJSON, nil)
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

// judgeAll reads and judges on every processor. Files below a directory that are not
// recordings come back as passed over; by a strict policy, they are not testable.
func (a *app) judgeAll(
	ctx context.Context, rules []report.Rule, found []evidence.Found, session sessionFlags, page *inspection,
	policy report.Policy, files reportFiles,
) (list []report.Recording, passedOver []string, err error) {
	bar := a.StartProgress("checked")
	defer bar.Done()
	out := make([]*report.Recording, len(found))
	read := make([]evidence.Recording, len(found)) // kept for a page only
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var streaming sync.Mutex
	for i, f := range found {
		group.Go(func() error {
			if ctx.Err() != nil {
				return cli.Fail(report.ExitInterrupted, "interrupted; no verdict was reached")
			}
			defer bar.Step(len(found))
			a.Log().Info("reading", "file", f.Path)
			f.Named = f.Named || policy.Strict
			rec, judged := judgeRecording(rules, f, session)
			if out[i] = judged; page != nil {
				read[i] = rec
			}
			streaming.Lock()
			defer streaming.Unlock()
			for _, file := range files {
				if file.stream == nil || judged == nil {
					continue
				}
				if err := judged.WriteLine(file.stream, policy); err != nil {
					return fmt.Errorf("%s: the ndjson report cannot be written: %w", file.path, fileutil.Reason(err))
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i, r := range out {
		if r == nil {
			passedOver = append(passedOver, found[i].Path)
		} else {
			list = append(list, *r)
		}
	}
	page.keepRecordings(read)
	return list, slices.Clip(passedOver), nil
}

// judgeRecording returns nil for a file that is not a recording, unless the caller
// named it.
func judgeRecording(rules []report.Rule, f evidence.Found, session sessionFlags) (evidence.Recording, *report.Recording) {
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
