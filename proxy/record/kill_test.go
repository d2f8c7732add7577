package record_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
)

// killChild is the variable that makes the test binary a recorder with a listener,
// whose address it prints.
const killChild = "RECORD_KILL_CHILD"

func init() { children[killChild] = serveUntilKilled }

// sized announces the length of every second reply.
type sized struct{ provider }

func (s sized) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.provider.RoundTrip(r)
	if n, _ := strconv.Atoi(r.URL.Query().Get("n")); err == nil && n%2 == 0 {
		resp.ContentLength = int64(len(bodyOf(n)))
		resp.Header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	return resp, err
}

func serveUntilKilled(path string, out io.Writer) error {
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	rec, err := record.New(record.Config{Transport: sized{}, Writer: w, Redactor: asIs(nil)})
	if err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "https", "api.anthropic.com"
		rec.ServeHTTP(w, r)
	}))
	_, _ = fmt.Fprintln(out, server.URL)
	select {}
}

// finishedBeforeKill has 32 clients ask a child without a pause, kills it when they
// have so many whole replies, and returns the numbers of all that are whole.
func finishedBeforeKill(t *testing.T, path string, replies int) (whole []string) {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), killChild+"="+path)
	out, err := child.StdoutPipe()
	check(t, err)
	check(t, child.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for range 32 {
		wg.Go(func() {
			for {
				mu.Lock()
				n++
				mine := n
				mu.Unlock()
				if !isAnswered(client, strings.TrimSpace(address), mine) {
					return
				}
				mu.Lock()
				if whole = append(whole, strconv.Itoa(mine)); len(whole) == replies {
					_ = child.Process.Kill()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	_ = child.Wait() // it was killed
	return whole
}

// isAnswered asks for reply n and reports whether all of it came.
func isAnswered(client *http.Client, address string, n int) bool {
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, fmt.Sprint(address, "/v1/messages?n=", n),
		strings.NewReader(`{"n":`+strconv.Itoa(n)+`}`))
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return err == nil && bytes.Equal(body, bodyOf(n))
}

// A reply whose last byte a client has is in the file: no kill loses it.
func TestKillLosesNothingFinished(t *testing.T) {
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("RECORD_CRASH_ROUNDS")); err == nil {
		rounds = n
	}
	rng := rand.New(rand.NewPCG(2, 71))
	total := 0
	for round := range rounds {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round, ".yaml"))
		whole := finishedBeforeKill(t, path, 1+rng.IntN(300))
		recovered(t, path, whole) // reports what is missing
		total += len(whole)
	}
	t.Logf("%d kills, %d replies had ended", rounds, total)
}
