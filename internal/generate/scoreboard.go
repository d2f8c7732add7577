package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
)

// scoreboardHead explains the table.
const scoreboardHead = `# Scoreboard

What released agents do against the strict simulator, by ` + "`make subjects scoreboard`" + `. A cell names the
requirements that failed or are known to fail, and those that warned, else how many passed.
It links to the report of the run, in which hashes stand for content, where that page has
no more than 300 KB. A cell without a run, or in which nothing was seen, is empty.
[bugs](bugs) holds minimal reproductions of what was found.

`

// maxPage is how many bytes a page may have that is kept in the repository.
const maxPage = 300_000

// writeScoreboard makes docs/scoreboard.md and .json of the JSON reports in a folder, and
// keeps the shared page beside each report, NAME.html for NAME.json, in docs/scoreboard,
// where it is small enough.
func writeScoreboard(reports, docs string) error {
	files, err := filepath.Glob(filepath.Join(reports, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: holds no report; make them with: make subjects", reports)
	}
	pages := filepath.Join(docs, "scoreboard")
	if err := os.RemoveAll(pages); err != nil {
		return err
	}
	var runs []*report.Run
	links := map[*report.Run]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		run, err := report.ReadRun(file, data)
		if err != nil {
			return err
		}
		runs = append(runs, run)
		if links[run], err = keepPage(file, pages); err != nil {
			return err
		}
	}
	board := report.NewScoreboard(runs, runtime.GOOS+"/"+runtime.GOARCH, func(r *report.Run) string { return links[r] })
	return writeBoard(board, filepath.Join(docs, "scoreboard"))
}

// keepPage copies the page beside a report and returns the link to it, "" where there is
// none or it has more than maxPage bytes.
func keepPage(file, pages string) (link string, err error) {
	page := strings.TrimSuffix(file, ".json") + ".html"
	data, err := os.ReadFile(page)
	if os.IsNotExist(err) || len(data) > maxPage {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(pages, 0o755); err != nil { //nolint:gosec // a folder of the repository
		return "", err
	}
	name := filepath.Base(page)
	return "scoreboard/" + name, os.WriteFile(filepath.Join(pages, name), data, 0o644) //nolint:gosec // is committed and holds hashes only
}

// writeBoard writes both forms.
func writeBoard(board report.Scoreboard, path string) error {
	data, err := json.MarshalIndent(board, "", " ")
	if err != nil {
		return err
	}
	text := bytes.NewBufferString(scoreboardHead)
	if err := board.WriteMarkdown(text); err != nil {
		return err
	}
	for name, content := range map[string][]byte{path + ".json": append(data, '\n'), path + ".md": text.Bytes()} {
		if err := os.WriteFile(name, content, 0o644); err != nil { //nolint:gosec // is committed
			return err
		}
	}
	return nil
}
