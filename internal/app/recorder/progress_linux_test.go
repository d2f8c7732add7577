package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/meerkat-go/conformance/internal/app/recorder"
)

// clearLine ends the line that shows progress.
const clearLine = "\r\x1b[K"

// What may take long shows progress on a terminal, by itself and for nobody else: not in a
// file or a pipe, not with -q, and never among the results.
func TestProgressOfLongCommands(t *testing.T) {
	folder := t.TempDir()
	loop, err := filepath.Abs(filepath.Join("..", "..", "..", "docs", "examples", "tool-loop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	har := filepath.Join(folder, "loop.har")
	for _, args := range [][]string{
		{"export", loop, "--to", "har", "-o", har, "--force"},
		{"import", har, "--cassette", filepath.Join(folder, "back.yaml"), "--force"},
		{"verify", loop},
		{"diff", loop, loop},
	} {
		t.Run(args[0], func(t *testing.T) {
			shown, results := runOnTerminal(t, args)
			if !strings.Contains(shown, clearLine) || strings.Contains(results, clearLine) {
				t.Errorf("no progress on the terminal, or some among the results:\n%q\n%q", shown, results)
			}
			if shown, _ := runOnTerminal(t, append([]string{"-q"}, args...)); strings.Contains(shown, clearLine) {
				t.Errorf("progress with -q: %q", shown)
			}
			if shown, _ := runOnTerminal(t, args, "TERM=dumb"); strings.ContainsRune(shown, '\x1b') {
				t.Errorf("a terminal that cannot clear a line got %q", shown)
			}
			var piped, out bytes.Buffer
			recorder.Run(t.Context(), args, strings.NewReader(""), &out, &piped, []string{"HOME=" + t.TempDir()})
			if strings.Contains(piped.String(), clearLine) {
				t.Errorf("progress in a pipe: %q", piped.String())
			}
		})
	}
}

// A refresh shows progress while it saves, checks and compares: once more than a recording.
func TestProgressOfRefresh(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(provider))
	defer upstream.Close()
	file := filepath.Join(t.TempDir(), "loop.yaml")
	counts := map[string]int{}
	for _, mode := range []string{"record", "refresh"} {
		shown, _ := runOnTerminal(t, []string{
			"run", "--mode", mode, "--cassette", file, "--upstream", "anthropic=" + upstream.URL, "--",
			"ask", "https://api.anthropic.com/v1/messages", `{"model":"m","stream":true}`,
		})
		counts[mode] = strings.Count(shown, clearLine)
	}
	if counts["record"] == 0 || counts["refresh"] != counts["record"]+1 {
		t.Errorf("progress was shown %v times; a refresh compares as well", counts)
	}
}

// runOnTerminal runs a command whose stderr is a terminal, and returns what that showed
// and the results.
func runOnTerminal(t *testing.T, args []string, environ ...string) (shown, results string) {
	t.Helper()
	terminal, screen := openTerminal(t)
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(terminal) // ends with an error when the other side is closed
		read <- string(text)
	}()
	var out bytes.Buffer
	code := recorder.Run(context.WithoutCancel(t.Context()), args, strings.NewReader(""), &out, screen,
		append(environ, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH")))
	_ = screen.Close()
	shown = <-read
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s%s", args, code, shown, out.String())
	}
	return shown, out.String()
}

// openTerminal returns the two ends of a pseudoterminal.
func openTerminal(t *testing.T) (terminal, screen *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals here: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	fd := int(terminal.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return terminal, screen
}
