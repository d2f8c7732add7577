package conform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/spelling"
)

// reportDocument is what every form of a report can be made of: a [report.Run], a
// [report.Checked].
type reportDocument interface {
	WriteMarkdown(w io.Writer) error
	WriteAnnotations(w io.Writer) error
	WriteJUnit(w io.Writer) error
}

// reportWriters are the forms of a report, by the KIND of --report KIND=FILE.
var reportWriters = map[string]func(io.Writer, reportDocument) error{
	"json":     func(w io.Writer, d reportDocument) error { return report.WriteJSON(w, d) },
	"junit":    func(w io.Writer, d reportDocument) error { return d.WriteJUnit(w) },
	"markdown": func(w io.Writer, d reportDocument) error { return d.WriteMarkdown(w) },
	githubKind: func(w io.Writer, d reportDocument) error { return d.WriteAnnotations(w) },
	ndjsonKind: writeNDJSON,
}

const (
	githubKind = "github"
	ndjsonKind = "ndjson"
)

// writeNDJSON writes a run in the form of a journal.
func writeNDJSON(w io.Writer, d reportDocument) error {
	ran, ok := d.(*report.Run)
	if !ok {
		return errors.New("only a run has the form of a journal") // a check writes a stream
	}
	return ran.WriteJournal(w)
}

// toStdout is the FILE that stands for stdout.
const toStdout = "-"

// reportFile is one report to write.
type reportFile struct {
	kind, path string
	// write is nil for a page until [app.newInspection] sets it.
	write func(io.Writer, reportDocument) error
	// stream is what a check writes while it goes on, nil for a report that is written at its end.
	stream io.WriteCloser
}

func (f reportFile) isStdout() bool { return f.path == toStdout }

// reportFiles are the reports beside the terminal's.
type reportFiles []reportFile

const reportHelp = "write reports, each as `KIND=FILE`; - is stdout: json, ndjson (a line a case or recording), junit, markdown, github (annotations; also writes the step summary), html (one page), inspector (its data)"

// parseReportFlags reads KIND=FILE. asJSON is set when --json takes stdout already.
func (a *app) parseReportFlags(list []string, asJSON bool) (reportFiles, error) {
	var files reportFiles
	kinds := slices.Concat(slices.Collect(maps.Keys(reportWriters)), slices.Collect(maps.Keys(pageWriters)))
	slices.Sort(kinds)
	onStdout := asJSON
	for _, entry := range list {
		kind, path, ok := strings.Cut(entry, "=")
		file := reportFile{kind: kind, path: path, write: reportWriters[kind]}
		switch {
		case !ok || path == "":
			return nil, cli.Usage("--report: %q is not KIND=FILE; write for example json=report.json", entry)
		case file.write == nil && pageWriters[kind] == nil:
			return nil, cli.Usage("--report: there is no form %q; use %s%s", kind, strings.Join(kinds, ", "), spelling.Hint(kind, kinds))
		case file.isStdout() && kind != githubKind && onStdout:
			return nil, cli.Usage("--report %s: stdout has another report already; name a file", entry)
		}
		onStdout = onStdout || file.isStdout() && kind != githubKind
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, cli.Usage("%s: is a directory; name a file", path)
		}
		if !file.isStdout() && files.holdPath(path) {
			return nil, cli.Usage("--report %s: another report goes to this file already; name another file", entry)
		}
		files = append(files, file)
	}
	return files, nil
}

// holdPath reports whether a report goes to the file at path.
func (files reportFiles) holdPath(path string) bool {
	return slices.ContainsFunc(files, func(f reportFile) bool { return f.path != os.DevNull && filepath.Clean(f.path) == filepath.Clean(path) })
}

// openStreams opens the files of NDJSON, of which a check writes each line when it knows it.
func (files reportFiles) openStreams(stdout io.Writer) error {
	for i := range files {
		file := &files[i]
		if file.kind != ndjsonKind {
			continue
		}
		if file.isStdout() {
			file.stream = struct {
				io.Writer
				io.Closer
			}{stdout, io.NopCloser(nil)}
			continue
		}
		err := os.MkdirAll(filepath.Dir(file.path), 0o750)
		if err == nil {
			file.stream, err = os.OpenFile(file.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		}
		if err != nil {
			return cli.Usage("%s: the ndjson report cannot be written: %w; name another file", file.path, fileutil.Reason(err))
		}
	}
	return nil
}

// takesStdout reports whether a report other than annotations goes to stdout, so that
// the one for people does not.
func (files reportFiles) takesStdout() bool {
	return slices.ContainsFunc(files, func(f reportFile) bool { return f.isStdout() && f.kind != githubKind })
}

// save writes all reports. What cannot be written does not keep the others back.
func (a *app) save(files reportFiles, doc reportDocument) error {
	var errs []error
	for _, file := range files {
		if file.stream != nil {
			continue
		}
		if err := a.saveOne(file, doc); err != nil {
			errs = append(errs, fmt.Errorf("%s: the %s report cannot be written: %w", file.path, file.kind, fileutil.Reason(err)))
		}
	}
	return errors.Join(errs...)
}

// warnUnwritable says before a run which of its reports cannot be written after it. What
// is in the way may be gone by then, and the verdicts are worth having without them.
func (a *app) warnUnwritable(files reportFiles) {
	for _, file := range files {
		if file.isStdout() {
			continue
		}
		if err := tryFolder(file.path); err != nil {
			a.Say("%s: the %s report cannot be written: %v; the verdicts are printed all the same", file.path, file.kind, fileutil.Reason(err))
		}
	}
}

// tryFolder writes a temporary file where a file is to be, or in the nearest folder above
// it that exists.
func tryFolder(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	file, err := os.CreateTemp(dir, ".conform-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, 4096)) // a disk that is full refuses it
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// saveOne writes the whole report or nothing: a report cut in half would read as a
// shorter run.
func (a *app) saveOne(file reportFile, doc reportDocument) error {
	var text bytes.Buffer
	if err := file.write(&text, doc); err != nil {
		return err
	}
	if file.kind == githubKind {
		if err := a.appendStepSummary(doc); err != nil {
			return err
		}
	}
	if file.isStdout() {
		_, err := a.reportWriter(file.kind).Write(text.Bytes())
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file.path), 0o750); err != nil {
		return err
	}
	return fileutil.WriteFile(file.path, text.Bytes(), 0o600)
}

// reportWriter returns stdout for a form of report.
func (a *app) reportWriter(kind string) io.Writer {
	switch kind {
	case "json", "ndjson", "inspector":
		return a.JSON()
	case "html":
		return a.Data()
	default:
		return a.Stdout
	}
}

// appendStepSummary adds the Markdown report to the summary of a step of GitHub Actions,
// where the environment names its file.
func (a *app) appendStepSummary(doc reportDocument) (err error) {
	path := a.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", fileutil.Reason(err))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return doc.WriteMarkdown(file)
}
