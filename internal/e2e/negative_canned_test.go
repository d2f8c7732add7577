package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// cannedRecording is what the canned agent sends, whatever it is asked and answered.
const cannedRecording = "anthropic/signature/thinking-tool-loop.yaml"

// sendCanned is an agent that plays the requests of a recording and reads no reply.
func sendCanned() int {
	recording, err := cassette.OpenFS(cassettes.FS, cannedRecording)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for in, err := range recording.All() {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		req, err := http.NewRequest(in.Request.Method, in.Request.URL,
			bytes.NewReader(in.Request.Body)) //nolint:noctx // ends with its process
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		req.Header = in.Request.Header.Clone()
		req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	fmt.Println("The tool said heron.")
	return 0
}

// TestCannedSubject holds that an agent which repeats a good recording is not passed:
// the tokens of each run are its own.
func TestCannedSubject(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := judge(t, t.TempDir(), "--filter", "thinking-tool-loop && anthropic", "--", "env", served+"=canned", self,
		"{prompt}")
	if exit := run.Summary.Exit; exit != report.ExitFailure {
		t.Errorf("exit %d\n%s", exit, describeFailures(run))
	}
	for _, r := range run.Results {
		if r.Requirement == "SIG-001" && r.Verdict != report.Fail {
			t.Errorf("SIG-001: %s: %s", r.Verdict, r.Reason)
		}
	}
}
