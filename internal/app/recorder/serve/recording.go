package serve

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
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
	writer, err := cassette.Create(path, k.Meta(k.origin, k.flags.allowIncomplete), cassette.CreateOptions{Force: force})
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
	a.Tell(report)
	if report.Saved > 0 && report.Answered == 0 && isThere(r.path) {
		return r.keepOld(a)
	}
	r.writer.Lose(recorderenv.LossOf(report))
	err := r.writer.Close()
	switch {
	case err == nil:
		a.Say("%s: %s saved%s", r.path, recorderenv.Interactions(report.Saved), asMarked(recorderenv.LossOf(report)))
	case errors.Is(err, cassette.ErrEmpty) && len(report.Refused)+len(report.Lost)+report.Withheld == 0:
		a.Say("%v; %s", err, a.unasked())
	default:
		a.Say("%s", cli.OneLine(err))
	}
	return outcome{recorded: report.Saved, exit: recorderenv.ExitOfRecording(report, err)}
}

// keepOld leaves the cassette that was to be replaced alone: a provider that was
// down is no reason to lose what it said before.
func (r *recording) keepOld(a *app) outcome {
	if err := r.writer.Discard(); err != nil {
		a.Say("%v", err)
	}
	a.Say("%s: nothing was answered, so it stays as it was", r.path)
	return outcome{exit: recorderenv.ExitIncomplete}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// asMarked says that the cassette tells of a loss.
func asMarked(loss cassette.Loss) string {
	if loss.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("; %d lost, as the cassette says now: recorder verify fails it", loss.Lost)
}

func (r *recording) abandon() {
	r.drain()
	_ = r.writer.Discard()
}
