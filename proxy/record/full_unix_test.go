//go:build unix

package record_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// fullChild is the variable that makes the test binary a recorder whose files
// the system lets grow to fullAt bytes only, temporary ones, too.
const (
	fullChild = "RECORD_FULL_CHILD"
	fullAt    = 300 << 10
)

func init() { children[fullChild] = recordUntilFull }

// recordUntilFull is the child: each client takes all of its reply, and what
// became of the recording is printed.
func recordUntilFull(path string, out io.Writer) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: fullAt, Max: fullAt}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	rec, err := record.New(record.Config{Transport: provider{}, Writer: w, Redactor: asIs(nil)})
	if err != nil {
		return err
	}
	for n := range 200 {
		client := &taker{h: http.Header{}}
		if rec.ServeHTTP(client, ask(n)); !bytes.Equal(client.got, bodyOf(n)) {
			_, _ = fmt.Fprintf(out, "client %d got %d bytes\n", n, len(client.got))
		}
	}
	r := rec.Close()
	_, _ = fmt.Fprintf(out, "saved %d lost %d close %v\n%s\n", r.Saved, len(r.Lost), w.Close(),
		strings.Join(r.Lost, "\n"))
	return nil
}

// taker is a client that keeps what it gets.
type taker struct {
	h   http.Header
	got []byte
}

func (c *taker) Header() http.Header { return c.h }
func (c *taker) WriteHeader(int)     {}
func (c *taker) Write(p []byte) (int, error) {
	c.got = append(c.got, p...)
	return len(p), nil
}

// On a disk that is full the clients' streams go on, each interaction that did
// not fit is reported with the file and the reason, and the others are whole.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	self, err := os.Executable()
	check(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), fullChild+"="+path)
	said, err := child.CombinedOutput()
	check(t, err)
	head, lines, _ := strings.Cut(string(said), "\n")
	var saved, lost int
	if _, err := fmt.Sscanf(head, "saved %d lost %d", &saved, &lost); err != nil || saved+lost != 200 || saved == 0 ||
		lost == 0 {
		t.Fatalf("%v: %s", err, said)
	}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		if want := "POST " + endpoint + ": " + path + ": cannot be written (file too large)"; strings.TrimSpace(line) != want {
			t.Errorf("lost: %q, want %q", line, want)
		}
	}
	if strings.HasSuffix(head, "close <nil>") {
		check(t, cassette.Verify(path))
	} else if kept, err := cassette.Recover(path); err != nil || kept != saved {
		t.Errorf("recovered %d of %d: %v", kept, saved, err)
	}
	recording, err := cassette.Open(path)
	check(t, err)
	if recording.Len() != saved {
		t.Errorf("%d interactions, want %d", recording.Len(), saved)
	}
}
