package recorder

import (
	"errors"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// recording is a session's work in record mode.
type recording struct {
	*record.Recorder
	path   string
	writer *cassette.Writer
}

func (k *kit) recording(path string, force bool) (*recording, error) {
	writer, err := cassette.Create(path, k.meta(), cassette.CreateOptions{Force: force})
	if err != nil {
		return nil, usage("%w", err)
	}
	return k.recordingTo(path, writer)
}

func (k *kit) recordingTo(path string, writer *cassette.Writer) (*recording, error) {
	rec, err := k.recorder(writer)
	if err != nil {
		return nil, errors.Join(err, writer.Discard())
	}
	return &recording{rec, path, writer}, nil
}

func (r *recording) finish(a *app, _ bool) outcome {
	report := r.Close()
	tell(a, report)
	err := r.writer.Close()
	if err != nil {
		a.say("%v", err)
	} else {
		a.say("%s: %s saved", r.path, interactions(report.Saved))
	}
	return outcome{recorded: report.Saved, exit: exitOfRecording(report, err)}
}

// tell says what did not go well.
func tell(a *app, report record.Report) {
	for _, line := range report.Refused {
		a.say("not saved: %s", line)
	}
	for _, line := range report.Lost {
		a.say("lost: %s", line)
	}
	for _, line := range report.Cut {
		a.say("cut short: %s", line)
	}
}

// exitOfRecording is the exit code for what became of the interactions and of
// their file.
func exitOfRecording(report record.Report, err error) int {
	switch {
	case len(report.Refused) > 0:
		return exitGate
	case err != nil && !errors.Is(err, cassette.ErrEmpty):
		return exitInternal
	case err != nil || len(report.Lost)+len(report.Cut) > 0:
		return exitIncomplete
	}
	return exitOK
}

func (r *recording) abandon() {
	r.Close()
	_ = r.writer.Discard()
}
