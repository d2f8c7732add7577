package simulator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// tally counts the requests to a handler that began, that ended and that it broke
// off.
type tally struct {
	http.Handler
	*sync.Cond
	began, ended, aborted int
}

func counted(h http.Handler) *tally { return &tally{Handler: h, Cond: sync.NewCond(new(sync.Mutex))} }

func (c *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.count(&c.began)
	defer func() {
		if failure := recover(); failure != nil {
			c.count(&c.aborted)
			defer panic(failure)
		}
		c.count(&c.ended)
	}()
	c.Handler.ServeHTTP(w, r)
}

func (c *tally) count(n *int) {
	c.L.Lock()
	*n++
	c.L.Unlock()
	c.Broadcast()
}

// quiet returns when so many requests have ended and none goes on.
func (c *tally) quiet(ended int) {
	c.L.Lock()
	for c.ended < ended || c.began != c.ended {
		c.Wait()
	}
	c.L.Unlock()
}

// errand is a request and the answer to it, the same each time.
type errand struct {
	provider, url, body string
	want                []byte
}

func (e errand) request(ctx context.Context, url string) *http.Request {
	r := post(url+e.url, e.body).WithContext(ctx)
	for name, values := range credentials[e.provider] {
		r.Header[name] = values
	}
	return r
}

// errands are streams and documents of each provider, kept and not.
func errands(t *testing.T) []errand {
	t.Helper()
	var all []errand
	for provider, c := range talks {
		stream := strings.Replace(c.ask, "{", `{"stream":true,`, 1)
		list := []errand{{url: c.url, body: c.ask}, {url: c.url, body: stream}}
		switch provider {
		case "gemini":
			list[1] = errand{url: strings.Replace(c.url, "generateContent", "streamGenerateContent?alt=sse", 1),
				body: c.ask}
		case "openai":
			list = append(list, errand{url: c.url, body: strings.Replace(stream, `"store":false`, `"store":true`, 1)})
		}
		for _, e := range list {
			w := answer(t, New(Config{Seed: "chaos"}), http.MethodPost, e.url, e.body)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", e.url, w.Code, w.Body)
			}
			e.provider, e.want = provider, w.Body.Bytes()
			all = append(all, e)
		}
	}
	return all
}

// run sends the errand, reads so many bytes and leaves, in any of the ways there
// are.
func (e errand) run(client *http.Client, url string, dice *rand.Rand) error {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	most := len(e.want) + 1
	if dice.IntN(3) > 0 {
		most = dice.IntN(len(e.want))
	}
	if dice.IntN(8) == 0 {
		go leave() // at any moment
	}
	resp, err := client.Do(e.request(ctx, url))
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got := make([]byte, most)
	n, err := io.ReadFull(resp.Body, got)
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", e.url, resp.Status)
	case !bytes.HasPrefix(e.want, got[:n]):
		return fmt.Errorf("%s: the answer is another: %.300s", e.url, got[:n])
	case ctx.Err() == nil && most > len(e.want) && n != len(e.want):
		return fmt.Errorf("%s: %d bytes of %d: %w", e.url, n, len(e.want), err)
	}
	return nil
}

// TestChaos sends 200 clients at once that leave at any point: no client gets what is
// not his, and nothing of them stays behind.
func TestChaos(t *testing.T) {
	list := errands(t)
	for _, listen := range []ListenConfig{{Plain: true}, {Plain: true, HTTP2: true}} {
		before := goleak.IgnoreCurrent()
		h := counted(New(Config{Seed: "chaos"}))
		server, err := Open(listen, h)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 50}
		transport.Protocols.SetHTTP1(!listen.HTTP2)
		transport.Protocols.SetUnencryptedHTTP2(listen.HTTP2)
		client := &http.Client{Transport: transport}
		var all sync.WaitGroup
		for id := range 200 {
			all.Go(func() {
				dice := rand.New(rand.NewPCG(1, uint64(id)))
				for range 3 {
					if err := list[dice.IntN(len(list))].run(client, server.URL, dice); err != nil {
						t.Errorf("HTTP/2=%t: %v", listen.HTTP2, err)
					}
				}
			})
		}
		all.Wait()
		h.quiet(0) // hangs when a client's leaving goes unnoticed
		transport.CloseIdleConnections()
		server.Close()
		goleak.VerifyNone(t, before)
	}
}

// TestSlow holds that a client that does not send its request, or does not read
// its answer, is given up.
func TestSlow(t *testing.T) {
	patient := New(Config{})
	patient.(*handler).clientTimeout = 50 * time.Millisecond
	h := counted(patient)
	server, err := Open(ListenConfig{Plain: true}, h)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	text := strings.Repeat("x", 4<<20) // is repeated to the client, three times
	body := strings.Replace(talks["openai"].ask, "{", `{"stream":true,"instructions":"`+text+`",`, 1)
	e := errand{provider: "openai", url: talks["openai"].url, body: body}
	whole := wire(e.request(t.Context(), server.URL))
	for n, sent := range [][]byte{whole[:len(whole)/2], whole} {
		conn := must(net.Dial("tcp", strings.TrimPrefix(server.URL, "http://")))
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(sent) // fails when this machine is so slow that the client is given up already
		h.quiet(n + 1)
		if h.aborted != n+1 {
			t.Errorf("a client that sent %d bytes and read none got a whole answer", len(sent))
		}
		_ = conn.Close()
	}
}

// TestRealKeys holds that what looks like somebody's key is refused, wherever it
// stands, and is not said again.
func TestRealKeys(t *testing.T) {
	h := New(Config{})
	for _, begin := range []string{"sk-ant-api03-", "sk-proj-", "AIzaSy", "ya29.", "AQ.", "sess-"} {
		key := begin + longKey
		for provider, c := range talks {
			for _, header := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization", ""} {
				e := errand{provider: provider, url: c.url, body: c.ask}
				if header == "" {
					e.url += "?key=" + key
				}
				r := e.request(t.Context(), "http://127.0.0.1")
				if header == "Authorization" {
					r.Header[header] = []string{"Bearer " + key}
				} else if header != "" {
					r.Header[header] = []string{key}
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden ||
					!inShape(provider, w.Code, w.Body.Bytes()) || strings.Contains(w.Body.String(), key) {
					t.Errorf("%s in %q to %s: %d %s", key, header, provider, w.Code, w.Body)
				}
			}
		}
	}
}
