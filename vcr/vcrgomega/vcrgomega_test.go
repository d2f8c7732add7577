package vcrgomega_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/vcr"
	"github.com/meerkat-go/conformance/vcr/vcrgomega"
)

// TestConform holds that the matcher says what the referee says.
func TestConform(t *testing.T) {
	for conversation, want := range map[string]string{
		`{"role":"user","content":"How long is an owl?"}`: "",
		`{"role":"user","content":"How long is an owl?"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"measure","input":{}}]},{"role":"user","content":"Go on."}`: "ORD-001",
	} {
		rec, err := vcr.NewAsMode(filepath.Join(t.TempDir(), "loop"), vcr.ModeRecording,
			simulator.Transport(simulator.New(simulator.Config{})))
		if err != nil {
			t.Fatal(err)
		}
		ask(t, rec, `{"role":"user","content":"How long is a heron?"}`)
		ask(t, rec, conversation)
		failed := ""
		g := gomega.NewGomega(func(message string, _ ...int) { failed += message })
		g.Expect(rec).To(vcrgomega.Conform())
		if (failed == "") != (want == "") || !strings.Contains(failed, want) {
			t.Errorf("%s: failed with %q, want %q", conversation, failed, want)
		}
		failed = ""
		g.Expect(rec).NotTo(vcrgomega.Conform())
		if (failed == "") != (want != "") {
			t.Errorf("%s: negated, it failed with %q", conversation, failed)
		}
	}
	if _, err := vcrgomega.Conform().Match("text"); err == nil ||
		!strings.Contains(err.Error(), "got a string; give it the *vcr.Recorder") {
		t.Errorf("a string: %v", err)
	}
}

func ask(t *testing.T, rec *vcr.Recorder, conversation string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages",
		strings.NewReader(`{"model":"claude-opus-4-5","max_tokens":99,"messages":[`+conversation+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"made-up"},
		"Anthropic-Version": {"2023-06-01"}}
	resp, err := (&http.Client{Transport: rec}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
