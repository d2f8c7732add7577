package recorder_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// doctor runs recorder doctor in the test's own environment, so that compilers
// find their caches, with an authority of the test's.
func doctor(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	all := append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "NO_PROXY=", "no_proxy=")
	code = recorder.Run(t.Context(), append([]string{"doctor"}, args...), strings.NewReader(""), &out, &errs,
		append(all, env...))
	return code, out.String(), errs.String()
}

// Every client that is installed comes through; what Node cannot do is named.
func TestDoctor(t *testing.T) {
	code, stdout, stderr := doctor(t, []string{"NO_PROXY=example.com"}, "--json")
	var d struct {
		Schema      string
		OK          bool
		Checks      []struct{ Client, Version, Door, Result, Cause, Protocol string }
		Environment []string
	}
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != 0 || !d.OK || d.Schema != "recorder.doctor.v1" {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if len(d.Environment) != 1 || !strings.Contains(d.Environment[0], "NO_PROXY=example.com is set") {
		t.Errorf("environment: %q", d.Environment)
	}
	passed := map[string]string{}
	for _, c := range d.Checks {
		passed[c.Client+" "+c.Door] = c.Result
	}
	for client, program := range map[string]string{"go": "go", "curl": "curl", "node": "node", "python": "python3"} {
		_, err := exec.LookPath(program)
		switch {
		case err != nil && passed[client+" "] != "absent":
			t.Errorf("%s is not installed, and found %v", client, passed)
		case err == nil && passed[client+" base-url"] != "pass", err == nil && client != "node" &&
			passed[client+" mitm"] != "pass":
			t.Errorf("%s: %v", client, passed)
		}
	}
}

// The user's own program: whether it came through, and if not, why.
func TestDoctorOfAProgram(t *testing.T) {
	const api = "https://api.anthropic.com/v1/messages"
	python := `import urllib.request; urllib.request.urlopen("` + api + `")`
	for name, c := range map[string]struct {
		code int
		want string
		args []string
	}{
		"comes through": {0, "came through mitm: " + api + ", HTTP/", []string{"curl", "-s", "-d", "{}", api}},
		"by base URL": {0, "came through base-url: " + api + ", HTTP/1.1",
			[]string{"sh", "-c", "curl -s -d {} $ANTHROPIC_BASE_URL/v1/messages"}},
		"own roots": {1, "does not trust the proxy's authority",
			[]string{"curl", "-s", "--cacert", "/etc/ssl/certs/ca-certificates.crt", api}},
		"roots unset": {1, "does not trust the proxy's authority",
			[]string{"env", "-u", "SSL_CERT_FILE", "/usr/bin/python3", "-c", python}},
		"another host": {1, "example.com:443: not a provider host",
			[]string{"curl", "-s", "https://example.com/"}},
		"goes around": {1, "no request reached the proxy",
			[]string{"sh", "-c", "NO_PROXY='*' curl -s https://127.0.0.1:1/"}},
		"does nothing":        {1, "no request reached the proxy", []string{"true"}},
		"fails by itself":     {1, "its exit code is 7", []string{"sh", "-c", "exit 7"}},
		"there is no program": {2, "not a program that can be run", []string{"no-such-program"}},
		"insists on WebSocket": {1, "a WebSocket, which is not recorded",
			[]string{"curl", "-s", "--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket", api}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.args[0]); err != nil && c.code != 2 {
				t.Skipf("%s is not installed", c.args[0])
			}
			code, stdout, stderr := doctor(t, nil, append([]string{"--ingress", "mitm,base-url", "--"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.want) || (stdout == "") != (c.code == 2) {
				t.Errorf("exit %d, want %d with %q\n%s%s", code, c.code, c.want, stdout, stderr)
			}
		})
	}
}
