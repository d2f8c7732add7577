package record_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// crashChild is the variable that makes the test binary a recorder that goes on
// until it is killed.
const crashChild = "RECORD_CRASH_CHILD"

// bodyOf is the reply that request n gets: small ones, ones of several chunks,
// and some that are spooled.
func bodyOf(n int) []byte {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	size := 200 << rng.IntN(6)
	if n%40 == 0 {
		size = 400 << 10
	}
	var b bytes.Buffer
	for b.Len() < size {
		fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"n\":%d,\"text\":\"%x\"}\n\n", n, rng.Uint64())
	}
	b.WriteString(last)
	return b.Bytes()
}

// provider answers without a network, in pieces.
type provider struct{}

func (provider) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/2.0",
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(&pieces{bodyOf(n)}), ContentLength: -1, Request: r}, nil
}

// pieces are read a thousand bytes at a time.
type pieces struct{ rest []byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(1000, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// told is a cassette that says which interactions are safe, once they are.
type told struct {
	*cassette.Writer
	out io.Writer
}

func (w told) AppendAll(ins []cassette.Interaction) []error {
	errs := w.Writer.AppendAll(ins)
	for i, in := range ins {
		if errs[i] == nil {
			_, _ = fmt.Fprintln(w.out, "safe", strings.TrimPrefix(in.Request.URL, endpoint+"?n="))
		}
	}
	return errs
}

// sink is a client that takes everything.
type sink struct{ h http.Header }

func (s sink) Header() http.Header         { return s.h }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (s sink) WriteHeader(int)             {}

// recordUntilKilled is the child: 50 streams at a time, for ever.
func recordUntilKilled(path string, out io.Writer) error {
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	rec, err := record.New(record.Config{Transport: provider{}, Writer: told{w, out}, Redactor: asIs(nil)})
	if err != nil {
		return err
	}
	var next atomic.Int64
	for range 50 {
		go func() {
			for {
				rec.ServeHTTP(sink{http.Header{}}, ask(int(next.Add(1))))
			}
		}()
	}
	select {}
}

func ask(n int) *http.Request {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, fmt.Sprint(endpoint, "?n=", n),
		strings.NewReader(`{"n":`+strconv.Itoa(n)+`}`))
	return r
}

// killAfter runs a child until it has reported so many safe interactions, kills
// it, and returns all it had reported.
func killAfter(t *testing.T, path string, lines int) (safe []string) {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), crashChild+"="+path)
	out, err := child.StdoutPipe()
	check(t, err)
	check(t, child.Start())
	for said := bufio.NewScanner(out); said.Scan(); {
		if n, whole := strings.CutPrefix(said.Text(), "safe "); whole {
			safe = append(safe, n)
		}
		if len(safe) == lines {
			check(t, child.Process.Kill())
		}
	}
	_ = child.Wait()          // it was killed
	return safe[:len(safe)-1] // the last line may be cut
}

// A recorder that is killed at any moment of 50 parallel streams loses no
// interaction that was safe, and damages none.
func TestKillLosesOpenInteractionsOnly(t *testing.T) {
	rounds := 6
	if n, err := strconv.Atoi(os.Getenv("RECORD_CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	rng := rand.New(rand.NewPCG(3, 14))
	var mu sync.Mutex
	var wg sync.WaitGroup
	kept, torn := 0, 0
	for lane := range 2 {
		wg.Go(func() {
			for range rounds / 2 {
				mu.Lock()
				lines := 1 + rng.IntN(150)
				mu.Unlock()
				path := filepath.Join(t.TempDir(), fmt.Sprint(lane, ".yaml"))
				n, cut := recovered(t, path, killAfter(t, path, lines))
				mu.Lock()
				kept, torn = kept+n, torn+cut
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d kills, %d interactions kept, %d files ended in a piece", rounds, kept, torn)
}

// recovered finishes the recording at path and checks all that it holds.
func recovered(t *testing.T, path string, safe []string) (kept, torn int) {
	t.Helper()
	before, err := os.ReadFile(path + ".partial")
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	if kept, err = cassette.Recover(path); err != nil {
		t.Errorf("%d were safe: %v", len(safe), err)
		return 0, 0
	}
	if after, err := os.ReadFile(path); err == nil && !bytes.HasPrefix(after, before) {
		torn = 1
	}
	recording, err := cassette.Open(path)
	if err != nil {
		t.Error(err)
		return kept, torn
	}
	for in, err := range recording.All() {
		name := strings.TrimPrefix(in.Request.URL, endpoint+"?n=")
		n, nerr := strconv.Atoi(name)
		if err = errors.Join(err, nerr); err != nil || !bytes.Equal(in.Response.Body, bodyOf(n)) ||
			in.End != cassette.EndEOF || in.Incomplete != "" {
			t.Errorf("interaction %s is damaged: %v", name, err)
		}
		safe = slices.DeleteFunc(safe, func(s string) bool { return s == name })
	}
	if len(safe) > 0 {
		t.Errorf("%d interactions were safe and are gone: %v", len(safe), safe)
	}
	return kept, torn
}
