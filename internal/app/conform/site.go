package conform

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// writeSite adds the agents of reports to the site in a folder, or makes one.
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
	a.Print("%s: %s, %s read\n", filepath.Join(dir, "index.html"), cli.Count(len(site.Agents), "agent", "agents"), cli.Count(len(paths), "report", "reports"))
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
// verdicts and to no bytes. issues are the addresses that the baseline of a report names.
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
		return page, nil, cli.Usage("%w", err)
	}
	for _, used := range ran.Baseline {
		if used.Verdict == report.KnownFail {
			issues = append(issues, used.Issue)
		}
	}
	beside := strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	if _, err := os.Stat(beside); err == nil && beside != path {
		if page, _, err = a.sitePage(beside); err == nil && !page.Started.Equal(ran.Started) {
			err = cli.Usage("%s: is the page of another run than %s; write both with one conform run --report", beside, path)
		}
		return page, issues, err
	}
	builder := inspector.NewBuilder(inspector.Options{Redactor: newPageRedactor(a.Environ), Share: true})
	builder.Judge(ran.Results, ran.Cases)
	return builder.Page(inspector.RunHead(ran)), issues, nil
}
