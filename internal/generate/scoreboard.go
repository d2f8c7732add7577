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
requirements that failed, else those that warned, else how many passed; it links to the
report of the run, in which hashes stand for content. A cell without a run, or in which
nothing was seen, is empty. [bugs](bugs) holds minimal reproductions of what was found.

`

// writeScoreboard makes docs/scoreboard.md and .json of the JSON reports in a folder, and
// keeps the shared page beside each report, NAME.html for NAME.json, in docs/scoreboard.
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

// keepPage copies the page beside a report, if there is one, and returns the link to it.
func keepPage(file, pages string) (link string, err error) {
	page := strings.TrimSuffix(file, ".json") + ".html"
	data, err := os.ReadFile(page)
	if os.IsNotExist(err) {
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
