package recorder

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What led around the proxy is gone, what the settings name is theirs, and the
// rest is as it was.
func TestOverlay(t *testing.T) {
	env := []string{"PATH=/bin", "HTTP_PROXY=http://corp", "all_proxy=socks5://corp", "NO_PROXY=*",
		"SSL_CERT_FILE=/old", "SSL_CERT_FILES=/kept", "ODD"}
	got := Overlay(env, []string{"NO_PROXY=", "SSL_CERT_FILE=/new"})
	want := []string{"PATH=/bin", "SSL_CERT_FILES=/kept", "ODD", "NO_PROXY=", "SSL_CERT_FILE=/new"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShellLine(t *testing.T) {
	for in, want := range map[string]string{
		"A=":                             "A=",
		"HTTPS_PROXY=http://x@[::1]:1/":  "HTTPS_PROXY='http://x@[::1]:1/'",
		"HTTPS_PROXY=http://127.0.0.1:1": "HTTPS_PROXY=http://127.0.0.1:1",
		"F=/a b/$c'd":                    `F='/a b/$c'\''d'`,
	} {
		if got := ShellLine(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		shell, err := exec.LookPath("sh")
		if err != nil {
			continue
		}
		name, value, _ := strings.Cut(in, "=")
		out, err := exec.Command(shell, "-c", want+`; printf %s "$`+name+`"`).Output()
		if err != nil || string(out) != value {
			t.Errorf("%s reads as %q, %v", want, out, err)
		}
	}
}

func TestRelay(t *testing.T) {
	for _, c := range []struct {
		got      os.Signal
		sent     int
		terminal bool
		want     os.Signal
	}{
		{os.Interrupt, 0, false, os.Interrupt},
		{syscall.SIGTERM, 0, true, syscall.SIGTERM},
		{syscall.SIGTERM, 1, true, os.Kill},
		{os.Interrupt, 1, false, os.Kill},
		{os.Interrupt, 0, true, nil},
		{os.Interrupt, 1, true, nil},
	} {
		if got := signalToSend(c.got, c.sent, c.terminal); got != c.want {
			t.Errorf("%v after %d, terminal=%t: %v, want %v", c.got, c.sent, c.terminal, got, c.want)
		}
	}
}
