package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// recordHandler handles one cassette in record mode.
type recordHandler struct {
	*record.Recorder
	closeRecorder func() record.Report // closes the recorder once, and returns its report
	path          string
	writer        *cassette.Writer
	scrubs        replay.Scrubs
	isDeclared    bool // by --allow-incomplete
}

func (k *modeEnv) openRecording(path string, force bool) (*recordHandler, error) {
	writer, err := cassette.Create(path, k.Meta(k.provenance, k.flags.allowIncomplete, k.scrubs...),
		cassette.CreateOptions{Force: force})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	rec, err := k.newRecorder(writer, nil)
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	return &recordHandler{rec, sync.OnceValue(rec.Close), path, writer, k.scrubs, k.flags.allowIncomplete}, nil
}

// drainRecording waits until all that was recorded is in the file.
func (r *recordHandler) drainRecording() { r.closeRecorder() }

func (r *recordHandler) finishRecording(a *app, _ bool) outcome {
	done := a.ShowElapsed("saving " + r.path)
	report := r.closeRecorder()
	done()
	a.SayReport(report)
	defer a.sayUnmatched(r.path, r.scrubs, nil)
	if report.Answered == 0 && report.Saved+report.Withheld > 0 {
		// Save nothing, so that an older cassette stays and the next try is not refused.
		if err := r.writer.Discard(); err != nil {
			a.Say("%v", err)
		}
		if isThere(r.path) {
			a.Say("%s: nothing was answered, so it stays as it was", r.path)
		} else {
			a.Say("%s: nothing was answered, so nothing is saved", r.path)
		}
		return outcome{exit: ExitIncomplete}
	}
	r.writer.Lose(LossOf(report))
	done = a.ShowElapsed("checking " + r.path)
	err := r.writer.Close()
	done()
	switch {
	case err == nil:
		a.Note("%s: %s saved%s", r.path, Interactions(report.Saved), r.lossNote(LossOf(report)))
	case errors.Is(err, cassette.ErrEmpty) && len(report.Refused)+len(report.Lost)+report.Withheld == 0:
		a.Say("%v; %s", err, a.nothingAskedReason())
	default:
		a.Say("%s", cli.OneLine(err))
	}
	return outcome{recorded: report.Saved, exit: ExitOfRecording(report, err)}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lossNote returns what is added to a report when the cassette states a loss.
func (r *recordHandler) lossNote(loss cassette.Loss) string {
	if loss.Lost == 0 {
		return ""
	}
	does := "fails it"
	if r.isDeclared {
		does = "warns of it"
	}
	return fmt.Sprintf("; %d lost, as the cassette says now: recorder verify %s", loss.Lost, does)
}

func (r *recordHandler) discardStart() {
	r.drainRecording()
	_ = r.writer.Discard()
}

// passthrough passes requests on in pass mode: a recorder without a cassette.
type passthrough struct {
	rec *record.Recorder
	n   atomic.Int64
}

func (k *modeEnv) openPassthrough() (*passthrough, error) {
	rec, err := k.newRecorder(nil, nil)
	if err != nil {
		return nil, err
	}
	return &passthrough{rec: rec}, nil
}

// ServeHTTP passes one request on.
func (p *passthrough) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.n.Add(1)
	p.rec.ServeHTTP(w, r)
}

func (p *passthrough) finishRecording(a *app, _ bool) outcome {
	p.rec.Close()
	a.Note("%s passed on, nothing kept", cli.Count(int(p.n.Load()), "request", "requests"))
	return outcome{}
}

func (p *passthrough) discardStart() { p.rec.Close() }

// recordMissing handles one cassette in record-missing mode: it answers what the cassette has,
// and records the rest into it.
type recordMissing struct {
	*replay.Replayer
	closeRecorder func() record.Report // closes the recorder once, and returns its report
	path          string
	writer        *cassette.Writer
	scrubs        replay.Scrubs
}

// openRecordMissing opens the cassette path to replay and extend it. When it does not exist, all
// is recorded.
func (k *modeEnv) openRecordMissing(path string) (modeHandler, error) {
	recording, err := cassette.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k.openRecording(path, false)
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	writer, err := cassette.Extend(path, k.Meta(k.provenance, k.flags.allowIncomplete, k.scrubs...))
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	rec, err := k.newRecorder(writer, recording)
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	k.SayLoss(recording)
	replayer, err := k.newReplayer(recording, rec)
	if err != nil {
		rec.Close()
		return nil, errors.Join(err, writer.Discard())
	}
	return &recordMissing{replayer, sync.OnceValue(rec.Close), path, writer, k.scrubs}, nil
}

// drainRecording waits until all that was recorded is in the file.
func (c *recordMissing) drainRecording() { c.closeRecorder() }

func (c *recordMissing) finishRecording(a *app, _ bool) outcome {
	report, served := c.closeRecorder(), c.Receipt()
	a.SayReport(report)
	var err error
	if report.Saved == 0 {
		err = c.writer.Discard() // the cassette is what it was
	} else {
		c.writer.Lose(LossOf(report))
		err = c.writer.Close()
	}
	if err != nil {
		a.Say("%v", err)
	}
	out := outcome{served: served.Served, recorded: report.Saved, missed: served.Missed,
		exit: ExitOfRecording(report, err)}
	a.Note("%s: %d served, %d recorded", c.path, out.served, out.recorded)
	a.sayUnmatched(c.path, c.scrubs, served.Relaxed)
	switch {
	case out.served+out.recorded+out.missed == 0 && out.exit == ExitOK:
		a.Say("%s: %s", c.path, a.nothingAskedReason())
		out.exit = ExitGate
	case out.missed > 0:
		out.exit = worseExit(out.exit, ExitGate)
	}
	return out
}

func (c *recordMissing) discardStart() {
	c.drainRecording()
	_ = c.writer.Discard()
}
