package recorder

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// recording is a session's work in record mode.
type recording struct {
	*record.Recorder
	report func() record.Report // of the recorder, which it closes
	path   string
	writer *cassette.Writer
}

func (k *kit) recording(path string, force bool) (*recording, error) {
	writer, err := cassette.Create(path, k.meta(), cassette.CreateOptions{Force: force})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return k.recordingTo(path, writer)
}

func (k *kit) recordingTo(path string, writer *cassette.Writer) (*recording, error) {
	rec, err := k.recorder(writer)
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	return &recording{rec, sync.OnceValue(rec.Close), path, writer}, nil
}

// drain waits until all that was recorded is in the file.
func (r *recording) drain() { r.report() }

func (r *recording) finish(a *app, _ bool) outcome {
	report := r.report()
	tell(a, report)
	if report.Saved > 0 && report.Answered == 0 && isThere(r.path) {
		return r.keepOld(a)
	}
	r.writer.Lose(lossOf(report))
	err := r.writer.Close()
	switch {
	case err == nil:
		a.Say("%s: %s saved%s", r.path, interactions(report.Saved), asMarked(lossOf(report)))
	case errors.Is(err, cassette.ErrEmpty) && len(report.Refused)+len(report.Lost)+report.Withheld == 0:
		a.Say("%v; %s", err, a.unasked())
	default:
		a.Say("%s", cli.OneLine(err))
	}
	return outcome{recorded: report.Saved, exit: exitOfRecording(report, err)}
}

// keepOld leaves the cassette that was to be replaced alone: a provider that was
// down is no reason to lose what it said before.
func (r *recording) keepOld(a *app) outcome {
	if err := r.writer.Discard(); err != nil {
		a.Say("%v", err)
	}
	a.Say("%s: nothing was answered, so it stays as it was", r.path)
	return outcome{exit: exitIncomplete}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lossOf is what the cassette will say was lost. What was withheld was not: the
// next run asks for it.
func lossOf(report record.Report) cassette.Loss {
	return cassette.Loss{Lost: len(report.Lost) + len(report.Refused)}
}

// asMarked says that the cassette tells of a loss.
func asMarked(loss cassette.Loss) string {
	if loss.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("; %d lost, as the cassette says now: recorder verify fails it", loss.Lost)
}

// tell says what did not go well.
func tell(a *app, report record.Report) {
	a.list("not saved", report.Refused)
	a.list("lost", report.Lost)
	a.list("cut short", report.Cut)
	if n := report.Withheld; n > 0 {
		a.Say("%s not kept, so that the next run asks again; --allow-incomplete keeps such", cli.Count(n, "of them is", "of them are"))
	}
	if n := report.Declared; n > 0 {
		a.Say("%d of them cut short, as --allow-incomplete declares", n)
	}
}

// listed is how many lines of a kind are worth reading.
const listed = 10

// list says what befell interactions, the first of them one by one.
func (a *app) list(what string, lines []string) {
	for _, line := range lines[:min(len(lines), listed)] {
		a.Say("%s: %s", what, line)
	}
	if more := len(lines) - listed; more > 0 {
		a.Say("%s: and %d more", what, more)
	}
}

// exitOfRecording is the exit code for what became of the interactions and of
// their file: what package cassette has words for, a full disk for one, leaves
// the recording incomplete.
func exitOfRecording(report record.Report, err error) int {
	switch {
	case len(report.Refused) > 0 || isSecret(err):
		return exitGate
	case err != nil && !errors.As(err, new(*cassette.Error)):
		return exitInternal
	case err != nil || len(report.Lost)+len(report.Cut) > 0:
		return exitIncomplete
	}
	return exitOK
}

func (r *recording) abandon() {
	r.drain()
	_ = r.writer.Discard()
}
