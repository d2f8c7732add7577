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

// recordHandler is a session's work in record mode.
type recordHandler struct {
	*record.Recorder
	closeRecorder func() record.Report // of the recorder, which it closes
	path          string
	writer        *cassette.Writer
}

func (k *modeEnv) openRecording(path string, force bool) (*recordHandler, error) {
	writer, err := cassette.Create(path, k.Meta(k.provenance, k.flags.allowIncomplete), cassette.CreateOptions{Force: force})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return k.openRecordingTo(path, writer)
}

func (k *modeEnv) openRecordingTo(path string, writer *cassette.Writer) (*recordHandler, error) {
	rec, err := k.newRecorder(writer, nil)
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	return &recordHandler{rec, sync.OnceValue(rec.Close), path, writer}, nil
}

// drainRecording waits until all that was recorded is in the file.
func (r *recordHandler) drainRecording() { r.closeRecorder() }

func (r *recordHandler) finishRecording(a *app, _ bool) outcome {
	report := r.closeRecorder()
	a.SayReport(report)
	if report.Saved > 0 && report.Answered == 0 && isThere(r.path) {
		return r.keepOld(a)
	}
	r.writer.Lose(recorderenv.LossOf(report))
	err := r.writer.Close()
	switch {
	case err == nil:
		a.Note("%s: %s saved%s", r.path, recorderenv.Interactions(report.Saved), asMarked(recorderenv.LossOf(report)))
	case errors.Is(err, cassette.ErrEmpty) && len(report.Refused)+len(report.Lost)+report.Withheld == 0:
		a.Say("%v; %s", err, a.nothingAskedReason())
	default:
		a.Say("%s", cli.OneLine(err))
	}
	return outcome{recorded: report.Saved, exit: recorderenv.ExitOfRecording(report, err)}
}

// keepOld leaves the cassette that was to be replaced alone: a provider that was
// down is no reason to lose what it said before.
func (r *recordHandler) keepOld(a *app) outcome {
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

func (r *recordHandler) discardStart() {
	r.drainRecording()
	_ = r.writer.Discard()
}
