package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/simulator"
)

// curlCommand asks Anthropic's API one question and prints every byte of the stream.
const curlCommand = `curl -sSN -H content-type:application/json -H anthropic-version:2023-06-01 -H x-api-key:$ANTHROPIC_API_KEY -d '{"model":"claude-opus-4-5","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":"Name one bird."}]}' ${ANTHROPIC_BASE_URL:-https://api.anthropic.com}/v1/messages`

// TestClientsGetTheirRecordingBack holds that curl and a Go program get from a
// recording, byte for byte, what they got when it was made, by the way in that it was
// made by and by the other one.
func TestClientsGetTheirRecordingBack(t *testing.T) {
	server, err := simulator.Start("", simulator.New(simulator.Config{Seed: "clients"}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	upstream := filepath.Join(dir, "upstream.pem")
	if err := os.WriteFile(upstream, server.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(dir, "small")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", small,
		"../../subjects/small.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, command := range map[string]string{"curl": curlCommand, "go": small + " 'Name one bird.'"} {
		for _, ingress := range []string{"mitm", "base-url"} {
			t.Run(name+"-"+ingress, func(t *testing.T) {
				if _, err := exec.LookPath(name); err != nil && name == "curl" {
					t.Skip("curl is not installed")
				}
				cassette := filepath.Join(t.TempDir(), "client.yaml")
				recorded := recordClient(t, command, "--cassette", cassette, "--ingress", ingress, "--upstream-ca",
					upstream, "--upstream", "anthropic="+server.URL)
				if len(recorded) == 0 {
					t.Fatal("the client printed nothing")
				}
				for _, again := range []string{"mitm", "base-url"} {
					if got := recordClient(t, command, "--mode", "replay", "--cassette", cassette, "--ingress", again); !bytes.Equal(got, recorded) {
						t.Errorf("by %s it gets %q, want %q", again, got, recorded)
					}
				}
			})
		}
	}
}

// recordClient is what a shell command prints below recorder run.
func recordClient(t *testing.T, command string, flags ...string) []byte {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "recorder",
		append(append([]string{"run"}, flags...), "--", "sh", "-c", command)...)
	cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_API_KEY=made-up"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return out
}
