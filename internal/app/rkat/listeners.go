package rkat

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/observe"
)

// answerFile is the file of --output-last-message. It is emptied before the run, so
// that it never holds the answer of an earlier one.
type answerFile struct{ file *os.File }

func createAnswerFile(path string) (answerFile, error) {
	if path == "" {
		return answerFile{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return answerFile{}, cli.Usage("--output-last-message: %v", err)
	}
	return answerFile{f}, nil
}

// writeAnswer writes the answer if the run succeeded, and closes the file.
func (a answerFile) writeAnswer(text string, failure error) error {
	if a.file == nil {
		return nil
	}
	var err error
	if failure == nil {
		_, err = a.file.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	if err = errors.Join(err, a.file.Close()); err != nil {
		return fmt.Errorf("--output-last-message: %w", err)
	}
	return nil
}

// eventListener returns a listener that passes events to all outputs of the run.
func (a *app) eventListener(w *preparedRun) func(meerkat.Event) {
	listeners := []observe.Listener{a.handleEvent}
	if w.listen != nil {
		listeners[0] = w.listen
	}
	if a.streaming = w.options.stream && a.format == formatText; a.streaming {
		listeners = append(listeners, a.followOnStderr)
	}
	if a.Verbose {
		listeners = append(listeners, observe.Log(a.Log()))
	}
	for _, e := range w.exporters {
		listeners = append(listeners, e.listen)
	}
	all := observe.All(listeners...)
	return func(e agent.Event) { all(e) }
}
