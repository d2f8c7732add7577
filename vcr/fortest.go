package vcr

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// The variable that overrules what ForTest does by itself, and its values, which are those of
// recorder run --mode.
const (
	modeVariable      = "VCR_MODE"
	modeRecord        = "record"
	modeRecordMissing = "record-missing"
	modeReplay        = "replay"
	modePass          = "pass"
)

// keyVariables hold the providers' keys. With one of them a test records.
var keyVariables = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY",
	"GOOGLE_API_KEY"}

// ForTest returns a recorder for the cassette name.yaml that ends with the test.
//
// With a provider's key in the environment it replays what the cassette has and
// records what it lacks. In CI (the variable CI is set) and without a key it replays,
// and a request that was not recorded fails the test, which names the request, the
// nearest recorded one and the command that records it. VCR_MODE overrules this:
// record replaces the cassette when the test passes, record-missing, replay, and pass,
// which asks the service and keeps nothing.
//
// Requests are compared by method, URL and body; credentials and the order of JSON
// members do not count. Replies do not wait; see [Recorder.SkipRequestLatency].
func ForTest(t testing.TB, name string) *Recorder {
	t.Helper()
	r, err := newForTest(t, name, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.endTest(t) })
	return r
}

func newForTest(t testing.TB, name string, getenv func(string) string) (*Recorder, error) {
	t.Helper()
	mode, why, err := testMode(getenv)
	if err != nil {
		return nil, err
	}
	r, err := NewAsMode(name, goVCRModes[mode], nil)
	if os.IsNotExist(statError(name+".yaml")) && mode == modeReplay && err != nil {
		return nil, fmt.Errorf("%s.yaml: does not exist, and %s; record it with: %s", name, why,
			testCommand(t, modeRecord))
	}
	if err != nil {
		return nil, err
	}
	r.test, r.matcher, r.SkipRequestLatency = t, nil, true
	r.replace, r.wholeOnly = mode == modeRecord, true
	return r, nil
}

func statError(path string) error {
	_, err := os.Stat(path)
	return err
}

var goVCRModes = map[string]Mode{modeRecord: ModeRecording, modeRecordMissing: ModeReplayingOrRecording,
	modeReplay: ModeReplaying, modePass: ModeDisabled}

// testMode returns the mode of a test, and why it is that.
func testMode(getenv func(string) string) (mode, why string, err error) {
	mode = getenv(modeVariable)
	if _, known := goVCRModes[mode]; known {
		return mode, modeVariable + " is " + mode, nil
	}
	hasKey := slices.ContainsFunc(keyVariables, func(name string) bool { return getenv(name) != "" })
	switch {
	case mode != "":
		return "", "", fmt.Errorf("%s=%s: unknown; use record, record-missing, replay or pass%s", modeVariable, mode,
			spelling.Hint(mode, []string{"record", "record-missing", "replay", "pass"}))
	case !slices.Contains([]string{"", "0", "false"}, strings.ToLower(getenv("CI"))):
		return modeReplay, "CI does not record", nil
	case !hasKey:
		return modeReplay, "none of " + strings.Join(keyVariables, ", ") + " is set", nil
	}
	return modeRecordMissing, "a key is set", nil
}

// testCommand returns the command that runs the test in a mode.
func testCommand(t testing.TB, mode string) string {
	t.Helper()
	return fmt.Sprintf("%s=%s go test -run '^%s$'", modeVariable, mode, strings.ReplaceAll(t.Name(), "/", "$/^"))
}

// recordCommand returns the command that records what is missing, "" without [ForTest].
func (r *Recorder) recordCommand() string {
	if r.test == nil {
		return ""
	}
	return testCommand(r.test, modeRecordMissing)
}

// endTest ends the recording and reports what was missing.
func (r *Recorder) endTest(t testing.TB) {
	t.Helper()
	k := &r.recording
	k.settle()
	for _, sentence := range r.cut.list() {
		t.Errorf("%s: %s", r.file(), sentence)
	}
	if list := r.missing.list(); len(list) > 0 {
		t.Errorf("requests without a recorded answer:\n%s", strings.Join(list, "\n"))
	}
	isOldKept := r.keepsOld() // asked before Stop, which may create the file
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	switch {
	case k.saved > 0 && isOldKept:
		t.Logf("%s: stays as it was, because the test failed", r.file())
	case k.saved > 0:
		t.Logf("%s: %s recorded", r.file(), countInteractions(k.saved))
	}
	if r.replayer != nil {
		for _, unused := range r.replayer.Receipt().UnusedInteractions {
			t.Logf("%s: interaction %d was not asked for: %s %s", r.file(), unused.Interaction, unused.Method,
				unused.URL)
		}
	}
}

func countInteractions(n int) string {
	if n == 1 {
		return "1 interaction"
	}
	return fmt.Sprintf("%d interactions", n)
}
