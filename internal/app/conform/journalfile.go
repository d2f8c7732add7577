package conform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// journalFile is a journal that a run appends to. One run at a time holds it.
type journalFile struct {
	path  string
	file  *os.File
	found *report.Journal // what stood in it; nil where it was empty
}

// openJournal opens or creates the journal of a run.
func openJournal(path string) (*journalFile, error) {
	j := &journalFile{path: path}
	if err := j.openFile(); err != nil {
		return nil, err
	}
	if err := j.read(); err != nil {
		j.closeFile()
		return nil, err
	}
	return j, nil
}

func (j *journalFile) openFile() (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return cli.Usage("%s: the journal cannot be opened: %w", j.path, fileutil.Reason(err))
	}
	if err := fileutil.TryLock(j.file); err != nil {
		j.closeFile()
		return cli.Usage("%s: another run writes to this journal; name another file", j.path)
	}
	return nil
}

func (j *journalFile) read() error {
	data, err := readAtMost(j.file, maxReportBytes)
	switch {
	case err != nil:
		return cli.Usage("%s: cannot be read: %w", j.path, fileutil.Reason(err))
	case len(data) == 0 || report.IsJournal(data) && !bytes.Contains(data, []byte("\n")):
		return nil // a run that was killed at once
	case !report.IsJournal(data):
		return cli.Usage("%s: is not a journal, so it is left alone; name another file", j.path)
	}
	if j.found, err = report.ParseJournal(j.path, data); err != nil {
		return cli.Usage("%w; name another file", err)
	}
	return nil
}

// goesOn reports whether the journal is that of a run which did not get to its end.
func (j *journalFile) goesOn() bool { return j.found != nil && j.found.End == nil }

// beginJournal takes over what an interrupted run left and keeps its time of start. A journal
// that is complete begins again.
func (j *journalFile) beginJournal(known *report.Journal) error {
	if !j.goesOn() {
		if err := j.cutAt(0); err != nil {
			return err
		}
		if err := j.appendLine(known.Header.Line()); err != nil {
			return j.writeError(err)
		}
		return nil
	}
	if why := j.found.Header.Differs(known.Header); why != "" {
		return cli.Usage("%s: is the journal of another run that was interrupted (%s); name another file or delete it",
			j.path, why)
	}
	known.Entries, known.Header.Started = j.found.Entries, j.found.Header.Started
	return j.cutAt(j.found.Whole)
}

// cutAt drops what follows a byte and goes on there.
func (j *journalFile) cutAt(offset int64) error {
	err := j.file.Truncate(offset)
	if err == nil {
		_, err = j.file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return j.writeError(err)
	}
	return nil
}

func (j *journalFile) writeError(err error) error {
	return fmt.Errorf("%s: the journal cannot be written: %w", j.path, fileutil.Reason(err))
}

// appendLine writes a line and waits until the disk has it. err is that of making the line.
func (j *journalFile) appendLine(line []byte, err error) error {
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err == nil {
		err = j.file.Sync()
	}
	return fileutil.Reason(err)
}

func (j *journalFile) closeFile() { _ = fileutil.CloseLocked(j.file) }

// checkJournal keeps what conform check has judged. It may be used from any goroutine.
type checkJournal struct {
	journalFile
	mu    sync.Mutex
	known *report.CheckedFile
}

// openCheckJournal opens or creates the journal of the check that head describes. It goes on with
// what a check that did not get to its end has left; any other journal of a check begins again.
func openCheckJournal(path string, head report.CheckedHead) (_ *checkJournal, err error) {
	j := &checkJournal{journalFile: journalFile{path: path}}
	if err := j.openFile(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.closeFile()
		}
	}()
	info, err := j.file.Stat()
	if err != nil {
		return nil, cli.Usage("%s: cannot be read: %w", path, fileutil.Reason(err))
	}
	begin := make([]byte, min(info.Size(), int64(len(report.JournalBegin))))
	if _, err := j.file.ReadAt(begin, 0); err != nil || !strings.HasPrefix(report.JournalBegin, string(begin)) {
		return nil, cli.Usage("%s: is not a journal, so it is left alone; name another file", path)
	}
	if j.known, err = report.ReadCheckJournal(path, j.file, info.Size()); err != nil {
		return nil, cli.Usage("%w; name another file", err)
	}
	if j.known.Whole > 0 && !j.known.Ended {
		if why := j.known.Head.Differs(head); why != "" {
			return nil,
				cli.Usage("%s: is the journal of another check that was interrupted (%s); name another file or delete it", path, why)
		}
		return j, j.cutAt(j.known.Whole)
	}
	var line []byte
	if j.known, line, err = report.BeginCheckJournal(head); err == nil {
		err = j.cutAt(0)
	}
	if err == nil {
		err = j.keepLine(line, nil)
	}
	return j, err
}

// keep adds a recording, or a file that is none. A kill of this process does not lose it.
func (j *checkJournal) keep(path string, r *report.Recording) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.keepLine(j.known.Line(path, r))
}

// end says that the check got to its end.
func (j *checkJournal) end() error { return errors.Join(j.keepLine(j.known.EndLine()), j.file.Sync()) }

func (j *checkJournal) keepLine(line []byte, err error) error {
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err != nil {
		return j.writeError(err)
	}
	return nil
}

// maxReportBytes bounds a report or journal that is read.
const maxReportBytes = 256 << 20

// readAtMost reads everything and refuses what is longer than a limit.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("is longer than %d MiB", limit>>20)
	}
	return data, err
}

// readFileAtMost reads a file that the command line names.
func readFileAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, cli.Unreadable(path, err)
	}
	defer func() { _ = file.Close() }()
	data, err := readAtMost(file, limit)
	if err != nil {
		return nil, cli.Usage("%s: cannot be read: %w", path, fileutil.Reason(err))
	}
	return data, nil
}

// readBaseline reads a file of breaches that are known; none for no file.
func readBaseline(path string) ([]report.Excuse, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readFileAtMost(path, report.MaxBaselineBytes)
	if err != nil {
		return nil, err
	}
	list, err := report.ParseBaseline(path, data)
	return list, asUsage(err)
}

// readReport reads a JSON report of conform run or the journal of a run, which may be
// cut off.
func readReport(path string) (*report.Run, error) {
	data, err := readFileAtMost(path, maxReportBytes)
	if err != nil {
		return nil, err
	}
	ran, err := report.ReadRun(path, data)
	return ran, asUsage(err)
}

// sourceFile matches the name of a file that people write, by its ending.
const sourceFile = `[^\s"'()]+\.(?:[cm]?[jt]sx?|py|go|rb|php|java|kt|rs|cs|sh)`

var (
	isSource = regexp.MustCompile(`^` + sourceFile + `$`)
	// stackFrame matches a frame as Node, Python, Go and Ruby print it.
	stackFrame = regexp.MustCompile(`(` + sourceFile + `)"?(:|, line )(\d+)`)
)

const maxFrames = 100

// ownFile returns the path below this folder of a file that stands here or in the agent's folder,
// where the agent may know it by another one; "" for a file of others.
func ownFile(workdir, path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	if slices.Contains(parts, "node_modules") || slices.Contains(parts, "site-packages") {
		return ""
	}
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for i := range parts {
		full, err := filepath.Abs(filepath.Join(workdir, filepath.FromSlash(strings.Join(parts[i:], "/"))))
		below, errRel := filepath.Rel(here, full)
		if info, errStat := os.Stat(full); err == nil && errRel == nil && errStat == nil && info.Mode().IsRegular() &&
			filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
	}
	return ""
}

// agentFile is the file of this folder that the agent's command line names, "" where it names none.
func (f *runFlags) agentFile() string {
	words := f.command
	if _, argv, err := splitConversation(f.name); err == nil && argv != nil {
		words = argv
	} else if profile, err := f.chosenProfile(); err == nil && profile != nil {
		_, argv := profile.Command()
		words = nil
		for _, word := range argv {
			words = append(words, strings.ReplaceAll(string(word), "{profile_dir}", profile.Dir()))
		}
	}
	for _, word := range words {
		if file := ownFile(f.workdir, word); file != "" && isSource.MatchString(file) {
			return file
		}
	}
	return ""
}

// ownLine is the line of a file of this folder, as FILE:LINE, that the agent's last stack names; ""
// without a stack. The innermost frame stands first in all languages but Python.
func ownLine(workdir string, ev *evidence.Evidence) (line string) {
	if ev == nil {
		return ""
	}
	for _, p := range ev.Process {
		of := ""
		for _, m := range stackFrame.FindAllSubmatch(p.Stderr, maxFrames) {
			if isPython := string(m[2]) != ":"; of != "" && !isPython {
				break
			}
			if file := ownFile(workdir, string(m[1])); file != "" {
				of = file + ":" + string(m[3])
			}
		}
		if of != "" {
			line = of
		}
	}
	return line
}

// workflowFile is the file of the workflow that GITHUB_WORKFLOW_REF names:
// owner/repository/.github/workflows/x.yml@refs/heads/main.
func workflowFile(ref string) string {
	path, _, _ := strings.Cut(ref, "@")
	if parts := strings.SplitN(path, "/", 3); len(parts) == 3 {
		return parts[2]
	}
	return ""
}
