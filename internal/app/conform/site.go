package conform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// writeSite adds the agents, gateways and servers of reports to the site in a folder, or makes one.
func (a *app) writeSite(dir string, paths []string, asJSON bool) error {
	site, err := readSite(dir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, path := range paths {
		page, issues, err := a.sitePage(path)
		if err != nil {
			return err
		}
		agent, page, err := site.Put(page, issues)
		if err != nil {
			return cli.Usage("%s: %w", path, err)
		}
		name := filepath.Join("agents", agent.ID+".html")
		if files[name] != nil {
			return cli.Usage("%s: %s has a report already; name one report of each agent", path, agent.Name)
		}
		var text bytes.Buffer
		if err := inspector.Write(&text, page); err != nil {
			return err
		}
		files[name], files[filepath.Join("badges", agent.ID+".svg")] = text.Bytes(), agent.Badge()
	}
	var index bytes.Buffer
	if err := site.WriteHTML(&index); err != nil {
		return err
	}
	files["index.html"], files["site.json"] = index.Bytes(), site.JSON()
	for name, data := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // is published
		if err == nil {
			err = fileutil.WriteFile(path, data, 0o644)
		}
		if err != nil {
			return cli.Usage("%s: cannot be written: %w; name another folder with --site", path, fileutil.Reason(err))
		}
	}
	if asJSON {
		return report.WriteJSON(a.JSON(), site)
	}
	a.Print("%s: %s, %s read\n", filepath.Join(dir, "index.html"), site.Count(),
		cli.Count(len(paths), "report", "reports"))
	return nil
}

// readSite reads the site of a folder, without the agents whose page was deleted.
func readSite(dir string) (*inspector.Site, error) {
	path := filepath.Join(dir, "site.json")
	data, err := readFileAtMost(path, maxReportBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &inspector.Site{Schema: inspector.SiteSchema}, nil
	}
	if err != nil {
		return nil, err
	}
	site, err := inspector.ReadSite(data)
	if err != nil {
		return nil, cli.Usage("%s: %w", path, err)
	}
	site.Agents = slices.DeleteFunc(site.Agents, func(agent *inspector.SiteAgent) bool {
		_, err := os.Stat(filepath.Join(dir, "agents", agent.ID+".html"))
		return err != nil
	})
	return site, nil
}

// sitePage reads a page, or a JSON report with the page beside it. A report without a page leads to
// verdicts and to no bytes. issues are the addresses that the report and its baseline name.
func (a *app) sitePage(path string) (page inspector.Page, issues []string, err error) {
	data, err := readFileAtMost(path, maxReportBytes)
	if err != nil {
		return page, nil, err
	}
	if page, err = inspector.Read(data); err == nil {
		return page, nil, nil
	}
	if !errors.Is(err, inspector.ErrNotPage) {
		return page, nil, cli.Usage("%s: %w", path, err)
	}
	ran, err := report.ReadRun(path, data)
	if err != nil {
		return page, nil, asUsage(err)
	}
	issues = slices.Clone(ran.Issues)
	for _, used := range ran.Baseline {
		if used.Verdict == report.KnownFail {
			issues = append(issues, used.Issue)
		}
	}
	beside := strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	if _, err := os.Stat(beside); err == nil && beside != path {
		if page, _, err = a.sitePage(beside); err == nil && !page.Started.Equal(ran.Started) {
			err = cli.Usage("%s: is the page of another run than %s; write both with one conform run --report",
				beside, path)
		}
		page.Only = ran.Selection() // pages of the first release lack it
		return page, issues, err
	}
	builder := a.newBuilder(true)
	builder.Judge(ran.Results, ran.Cases)
	return builder.Page(inspector.RunHead(ran)), issues, nil
}

// pageWriters write the kinds of reports that show what was on the wire.
var pageWriters = map[string]func(io.Writer, inspector.Page) error{
	"html":      inspector.Write,
	"inspector": inspector.WriteJSON,
}

// inspection collects what pages show, in a file or live. The methods of a nil
// inspection do nothing.
type inspection struct {
	builder *inspector.Builder
	mu      sync.Mutex // of builder
	adding  sync.WaitGroup
	// feed and server are nil unless the page is shown live; the feed then has the
	// builder.
	feed   *inspector.Feed
	server *pageServer
	files  []*judgedFile // of a check
}

// newInspection makes pages of files write what it collects. It returns nil where there
// are none and none is shown live.
func (a *app) newInspection(f reportFlags, files reportFiles) (*inspection, error) {
	n := &inspection{builder: a.newBuilder(f.share)}
	isWanted := f.serve != ""
	for i := range files {
		if write := pageWriters[files[i].kind]; write != nil {
			isWanted = true
			files[i].write = func(w io.Writer, d reportDocument) error { return write(w, n.makePage(d)) }
		}
	}
	if !isWanted {
		return nil, nil //nolint:nilnil // a nil inspection is one that does nothing
	}
	if f.serve == "" {
		return n, nil
	}
	n.feed = inspector.NewFeed(n.builder, inspector.Head{Kind: "run", Tool: tool()})
	var err error
	if n.server, err = startServer(f.serve, []inspector.NamedFeed{{Name: "run", Feed: n.feed}}); err != nil {
		return nil, err
	}
	fmt.Fprintln(a.Stderr, "conform: this run is shown at", n.server.pages.URL())
	return n, nil
}

// beginLive says what the live page is about.
func (n *inspection) beginLive(head inspector.Head) {
	if n != nil && n.feed != nil {
		n.feed.Refresh(head)
	}
}

// observeCase adds a case that ended. It does not keep the run waiting.
func (n *inspection) observeCase(run harness.CaseRun, results []report.Result) {
	if n == nil {
		return
	}
	n.adding.Go(func() {
		o := inspector.Observation{
			Name: run.Name, Scenario: run.Case.Scenario.Name, Provider: run.Case.Target.Provider,
			Source: string(run.Source), Ingress: run.Ingress,
			Took: run.Took, Evidence: run.Evidence, Results: results, Deviations: run.Deviations,
		}
		if run.Err != nil {
			o.Reason = run.Err.Error()
		}
		for _, host := range run.Hosts() {
			o.Hosts = append(o.Hosts, host.Name)
		}
		if n.feed != nil {
			n.feed.Add(o)
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.builder.Add(o)
	})
}

// finishLive shows the finished report, which is nil for a run without one, and lets browsers
// read it.
func (n *inspection) finishLive(ran *report.Run) {
	if n == nil || n.server == nil {
		return
	}
	n.adding.Wait()
	if ran != nil {
		n.feed.Finish(inspector.RunHead(ran), ran.Results, ran.Cases)
	}
	n.server.stopServing()
}

// makePage is the page of a finished report.
func (n *inspection) makePage(doc reportDocument) inspector.Page {
	n.adding.Wait()
	switch d := doc.(type) {
	case *report.Run:
		n.builder.Judge(d.Results, d.Cases)
		return n.builder.Page(inspector.RunHead(d))
	case *report.Checked:
		// A secret that one recording tells is taken out of all.
		for _, file := range n.files {
			recording := file.readAgain()
			recording.Path = file.judged.Path // of one that could not be read
			n.builder.Add(observationOfRecording(recording, *file.judged))
		}
		n.files = nil
		return n.builder.Page(inspector.CheckHead(d))
	}
	return inspector.Page{}
}

// newBuilder returns a builder of pages without secrets. With share, hashes stand in the place of content.
func (a *app) newBuilder(share bool) *inspector.Builder {
	return inspector.NewBuilder(inspector.Options{Redactor: newPageRedactor(a.Environ), Share: share})
}

// pageRedactor removes secrets from what a page shows: those that the recorder's
// redactor finds by where they stand, and well-known keys wherever they stand.
type pageRedactor struct{ *redact.Redactor }

var secretVariable = regexp.MustCompile(`(?i)(key|token|secret|password|credentials?)$`)

// newPageRedactor returns a redactor that knows the secrets of an environment.
func newPageRedactor(env []string) pageRedactor {
	r := pageRedactor{redact.New(nil)}
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); secretVariable.MatchString(name) {
			r.Learn(value)
		}
	}
	return r
}

// Interaction returns a copy of in without secrets.
func (r pageRedactor) Interaction(in cassette.Interaction) cassette.Interaction {
	in = r.Redactor.Interaction(in)
	in.Request.URL = string(gate.Blank([]byte(in.Request.URL)))
	in.Request.Body, in.Response.Body = gate.Blank(in.Request.Body), gate.Blank(in.Response.Body)
	blankHeader(in.Request.Header, nil) // which the redactor has copied
	blankHeader(in.Response.Header, nil)
	return in
}

// Text returns text without secrets.
func (r pageRedactor) Text(text string) string { return gate.Mask(r.Redactor.Text(text)) }
