package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
)

// scoreboardHead explains the table.
const scoreboardHead = `# Scoreboard

What released agents do against the strict simulator, by ` + "`make subjects scoreboard`" + `: a line for
each provider and each way in. A cell names the requirements that failed, are known to
fail, or warned, else how many passed, and leads to this part of the agent's report. In
these reports hashes stand for content, and they hold the exchanges only of cases in which
something was found. They open from a checkout: GitHub shows their source. A cell without
a run, or in which nothing was seen, is empty. [bugs](bugs) holds minimal reproductions of
what was found. SDKs are judged by the short loops of [subjects](../subjects).

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
	runs, err := readReports(files)
	if err != nil {
		return err
	}
	pages := filepath.Join(docs, "scoreboard")
	if err := os.RemoveAll(pages); err != nil {
		return err
	}
	links := map[*report.Run]string{}
	for i, file := range files {
		if links[runs[i]], err = keepPage(file, pages); err != nil {
			return err
		}
	}
	board := newScoreboard(runs, runtime.GOOS+"/"+runtime.GOARCH, func(r *report.Run) string { return links[r] })
	return writeBoard(board, filepath.Join(docs, "scoreboard"))
}

// keepPage keeps the page beside a report, condensed, and returns the link to it, "" where
// there is none. A page that holds content is an error.
func keepPage(file, pages string) (link string, err error) {
	from := strings.TrimSuffix(file, ".json") + ".html"
	data, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	page, err := inspector.Read(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	if !page.Shared {
		return "", fmt.Errorf("%s: holds content, which is not published; write it with --share", from)
	}
	if err := os.MkdirAll(pages, 0o755); err != nil { //nolint:gosec // a folder of the repository
		return "", err
	}
	var short bytes.Buffer
	if err := inspector.Write(&short, page.Condense()); err != nil {
		return "", err
	}
	name := filepath.Base(from)
	return "scoreboard/" + name, os.WriteFile(filepath.Join(pages, name), short.Bytes(), 0o644) //nolint:gosec // is committed and holds hashes only
}

// daysOf are the days on which the entries of a scoreboard were made.
func daysOf(board scoreboard) (days []string) {
	for _, entry := range board.Runs {
		days = append(days, entry.Date)
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// writeBoard writes both forms.
func writeBoard(board scoreboard, path string) error {
	data, err := json.MarshalIndent(board, "", " ")
	if err != nil {
		return err
	}
	text := bytes.NewBufferString(scoreboardHead + "Made on " + strings.Join(daysOf(board), ", ") + ".\n\n")
	if err := board.writeMarkdown(text); err != nil {
		return err
	}
	for name, content := range map[string][]byte{path + ".json": append(data, '\n'), path + ".md": text.Bytes()} {
		if err := os.WriteFile(name, content, 0o644); err != nil { //nolint:gosec // is committed
			return err
		}
	}
	return nil
}
