package serve

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/replay"
)

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
		c.writer.Lose(recorderenv.LossOf(report))
		err = c.writer.Close()
	}
	if err != nil {
		a.Say("%v", err)
	}
	out := outcome{served: served.Served, recorded: report.Saved, missed: served.Missed, exit: recorderenv.ExitOfRecording(report, err)}
	a.Note("%s: %d served, %d recorded", c.path, out.served, out.recorded)
	a.sayUnmatched(c.path, c.scrubs, served.Relaxed)
	switch {
	case out.served+out.recorded+out.missed == 0 && out.exit == recorderenv.ExitOK:
		a.Say("%s: %s", c.path, a.nothingAskedReason())
		out.exit = recorderenv.ExitGate
	case out.missed > 0:
		out.exit = worseExit(out.exit, recorderenv.ExitGate)
	}
	return out
}

func (c *recordMissing) discardStart() {
	c.drainRecording()
	_ = c.writer.Discard()
}
