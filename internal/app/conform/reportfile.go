package conform

import (
	"bytes"
	"cmp"
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
	WriteAnnotations(w io.Writer, elsewhere string) error
}

// reportWriters are the forms of a report, by the KIND of --report KIND=FILE.
var reportWriters = map[string]func(io.Writer, reportDocument) error{
	"json":     func(w io.Writer, d reportDocument) error { return report.WriteJSON(w, d) },
	"junit":    ofRun((*report.Run).WriteJUnit),
	"markdown": func(w io.Writer, d reportDocument) error { return d.WriteMarkdown(w) },
	githubKind: func(w io.Writer, d reportDocument) error { return d.WriteAnnotations(w, "") },
	ndjsonKind: ofRun((*report.Run).WriteJournal),
}

const (
	githubKind = "github"
	ndjsonKind = "ndjson"
)

// ofRun is a form that only a run has: a check writes it as a stream.
func ofRun(write func(*report.Run, io.Writer) error) func(io.Writer, reportDocument) error {
	return func(w io.Writer, d reportDocument) error { return write(d.(*report.Run), w) }
}

// toStdout is the FILE that stands for stdout.
const toStdout = "-"

// reportFile is one report to write.
type reportFile struct {
	kind, path string
	// write is nil for a page until [app.newInspection] sets it.
	write func(io.Writer, reportDocument) error
	// stream writes a report of recordings while they are judged, nil for a report that is written
	// at the end. close makes its file take its place, or leaves nothing behind.
	stream report.CheckedWriter
	close  func(isWhole bool) error
	fault  error // of the stream, which then gets nothing more
}

func (f reportFile) isStdout() bool { return f.path == toStdout }

func (f reportFile) writeError(err error) error {
	return fmt.Errorf("%s: the %s report cannot be written: %w", f.path, f.kind, fileutil.Reason(err))
}

// reportFiles are the reports beside the terminal's.
type reportFiles []reportFile

const reportHelp = "write reports, each as `KIND=FILE`; - is stdout: json, ndjson (a line a case or recording), junit, markdown, github (annotations; also writes the step summary), html (one page), inspector (its data)"

// parseReportFlags reads KIND=FILE. asJSON is set when --json takes stdout already.
func (a *app) parseReportFlags(list []string, asJSON bool) (reportFiles, error) {
	var files reportFiles
	kinds := reportKinds()
	onStdout := asJSON
	for _, entry := range list {
		kind, path, ok := strings.Cut(entry, "=")
		file := reportFile{kind: kind, path: path, write: reportWriters[kind]}
		if kind == githubKind {
			file.write = func(w io.Writer, d reportDocument) error {
				return d.WriteAnnotations(w, workflowFile(a.Getenv("GITHUB_WORKFLOW_REF")))
			}
		}
		switch {
		case !ok || path == "":
			return nil, cli.Usage("--report: %q is not KIND=FILE; write for example json=report.json", entry)
		case file.write == nil && pageWriters[kind] == nil:
			return nil, cli.Usage("--report: there is no form %q; use %s%s", kind, strings.Join(kinds, ", "),
				spelling.Hint(kind, kinds))
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

// reportKinds are the forms of reports.
func reportKinds() []string {
	kinds := slices.AppendSeq(slices.Collect(maps.Keys(reportWriters)), maps.Keys(pageWriters))
	slices.Sort(kinds)
	return kinds
}

// holdPath reports whether a report goes to the file at path.
func (files reportFiles) holdPath(path string) bool {
	return slices.ContainsFunc(files,
		func(f reportFile) bool { return f.path != os.DevNull && filepath.Clean(f.path) == filepath.Clean(path) })
}

// openStreams opens the reports that are written while recordings are judged. NDJSON is in its
// file at once; others get their names when they are whole. closeStreams must be called.
func (a *app) openStreams(files reportFiles, head report.CheckedHead) error {
	for i := range files {
		file := &files[i]
		begin := streamWriters[file.kind]
		if begin == nil {
			continue
		}
		w, err := file.openStream(a.reportWriter(file.kind))
		if err == nil {
			file.stream, err = begin(w, head)
		}
		if err != nil {
			return cli.Usage("%w; name another file", file.writeError(err))
		}
	}
	return nil
}

// streamWriters are the forms that are written recording by recording.
var streamWriters = map[string]func(io.Writer, report.CheckedHead) (report.CheckedWriter, error){
	"json":  report.NewDocumentWriter,
	"junit": func(w io.Writer, _ report.CheckedHead) (report.CheckedWriter, error) { return report.NewJUnitWriter(w) },
	ndjsonKind: func(w io.Writer, _ report.CheckedHead) (report.CheckedWriter, error) {
		return report.NewLineWriter(w), nil
	},
}

func (f *reportFile) openStream(stdout io.Writer) (io.Writer, error) {
	if f.isStdout() {
		f.close = func(bool) error { return nil }
		return stdout, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o750); err != nil {
		return nil, err
	}
	if f.kind == ndjsonKind {
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		f.close = func(bool) error { return file.Close() }
		return file, err
	}
	draft, err := fileutil.NewDraft(f.path)
	if err == nil {
		f.close = draft.Close
	}
	return draft, err
}

// closeStreams ends all streams; checked is nil where the report did not get to its end.
func (files reportFiles) closeStreams(checked *report.Checked) error {
	var errs []error
	for i := range files {
		file := &files[i]
		if file.close == nil {
			continue
		}
		if checked != nil && file.stream != nil && file.fault == nil {
			file.fault = file.stream.Finish(checked)
		}
		err := file.close(checked != nil && file.fault == nil)
		if err = cmp.Or(file.fault, err); err != nil {
			errs = append(errs, file.writeError(err))
		}
		file.close = nil
	}
	return errors.Join(errs...)
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
			errs = append(errs, file.writeError(err))
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
			a.Say("%v; the verdicts are printed all the same", file.writeError(err))
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
