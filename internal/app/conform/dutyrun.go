package conform

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

// dutyFlags are those of the commands that judge servers and gateways.
type dutyFlags struct {
	reportFlags
	filter, baseline string
	strict           bool
	failOn           string
	asJSON           bool
}

func (f *dutyFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.filter, "filter", "", "only cases whose name matches a `REGEXP`")
	flags.StringVar(&f.baseline, "baseline", "", "`FILE` of breaches that are known: see conform baseline")
	flags.BoolVar(&f.strict, "strict", false, "make failures of warnings")
	flags.StringVar(&f.failOn, "fail-on", "fail", "what exits 1: fail, or warn for warnings as well")
	f.reportFlags.addTo(cmd)
	cli.AddJSONFlag(cmd, &f.asJSON)
}

// dutyRun makes the report of a server or a gateway.
type dutyRun struct {
	subject  report.Subject
	source   evidence.Source
	wire     string
	began    time.Time
	policy   report.Policy
	baseline []report.Excuse
	files    reportFiles
	page     *inspection
	asJSON   bool
}

// newDutyRun reads what the flags name, before anything is asked.
func (a *app) newDutyRun(f dutyFlags, wire string, source evidence.Source) (d *dutyRun, err error) {
	d = &dutyRun{wire: wire, source: source, began: time.Now(), asJSON: f.asJSON}
	if d.files, err = a.parseReportFlags(f.reports, f.asJSON); err != nil {
		return nil, err
	}
	if d.policy, err = (policyFlags{strict: f.strict, failOn: f.failOn}).policy(nil); err != nil {
		return nil, err
	}
	if f.baseline != "" {
		if d.baseline, err = readBaseline(f.baseline); err != nil {
			return nil, err
		}
	}
	a.warnUnwritable(d.files)
	d.page, err = a.newInspection(f.reportFlags, d.files)
	return d, err
}

// deliverDuties writes the reports of the cases.
func (d *dutyRun) deliverDuties(a *app, cases []*report.DutyCase, took []time.Duration, isInterrupted bool) error {
	run := report.Run{
		Tool: tool(), Subject: d.subject, Policy: d.policy, Source: []string{string(d.source)}, Ingress: []string{"base-url"},
		Started: d.began.UTC(), DurationMS: time.Since(d.began).Milliseconds(), Calls: &report.Calls{}, Interrupted: isInterrupted,
	}
	var results []report.Result
	var ids []string
	for i, c := range cases {
		*run.Calls = run.Calls.Add(c.Calls)
		run.Cases = append(run.Cases, report.CaseSummary{Name: c.Name, Provider: c.Provider, Source: string(d.source), DurationMS: took[i].Milliseconds()})
		for _, r := range c.Results() {
			r.DurationMS = took[i].Milliseconds()
			results, ids = append(results, r), append(ids, r.Requirement)
		}
	}
	run.Set = report.NewSet(d.subject.Kind, ids)
	for _, e := range d.baseline {
		run.Baseline = append(run.Baseline, report.UsedExcuse{Excuse: e})
	}
	ran := report.NewRun(run, results)
	byCase := map[string][]report.Result{}
	for _, r := range ran.Results {
		byCase[r.Case] = append(byCase[r.Case], r)
	}
	for i, c := range cases {
		n, o := d.page, inspector.Observation{
			Name: c.Name, Scenario: strings.Split(c.Name, "/")[0], Provider: d.wire, Source: string(d.source), Ingress: "base-url", Took: took[i],
			Results: byCase[c.Name], Evidence: &evidence.Evidence{Source: d.source, Case: c.Name, Exchanges: c.Exchanges},
		}
		if n != nil {
			n.builder.Add(o)
		}
	}
	return a.deliverRun(ran, d.files, d.asJSON, nil)
}
