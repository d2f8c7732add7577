package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// field is a place with a provider in it, a user's home and an agent, for
// sessions of the recorder.
type field struct {
	t        *testing.T
	root     string // everything the recorder may write to is below
	env      []string
	upstream *httptest.Server
	look     canaries
	client   *http.Client // of the session under way

	mu      sync.Mutex
	answers map[string]func(http.ResponseWriter) // by the number in the query
	n       int
}

func newField(t *testing.T) *field {
	t.Helper()
	f := &field{t: t, root: t.TempDir(), look: canaries{}, answers: map[string]func(http.ResponseWriter){}}
	for _, dir := range []string{"home", "tmp", "work"} {
		if err := os.Mkdir(filepath.Join(f.root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(f.root, "tmp"))
	f.upstream = httptest.NewTLSServer(f)
	t.Cleanup(f.upstream.Close)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.upstream.Certificate().Raw})
	if err := os.WriteFile(f.path("upstream.pem"), block, 0o600); err != nil {
		t.Fatal(err)
	}
	f.env = []string{"HOME=" + filepath.Join(f.root, "home"), "PATH=" + os.Getenv("PATH")}
	for _, p := range plants {
		f.look.add(p.name, p.secret(), p.cores()...)
		if p.name == "environment" {
			f.env = append(f.env, "ACME_API_KEY="+p.secret())
		}
	}
	return f
}

func (f *field) path(name string) string { return filepath.Join(f.root, "work", name) }

// ServeHTTP is the provider: it answers as the plant of the request says.
func (f *field) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	f.mu.Lock()
	answer := f.answers[r.Header.Get("X-Stainless-Plant")]
	f.mu.Unlock()
	if answer == nil {
		_, _ = io.WriteString(w, `{"ok":true}`)
		return
	}
	answer(w)
}

// session runs the recorder while act does and returns what it said and how it
// ended. Nothing of it may hold a canary.
func (f *field) session(name string, act func(), args ...string) (exit int, stderr string) {
	f.t.Helper()
	ctx, stop := context.WithCancel(f.t.Context())
	defer stop()
	read, write := io.Pipe()
	var said bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- recorder.Run(ctx, args, strings.NewReader(""), write, &said, f.env)
		_ = write.Close()
	}()
	var stdout bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(read, &stdout))
	settings := map[string]string{}
	for settings["CURL_CA_BUNDLE"] == "" && lines.Scan() {
		k, v, _ := strings.Cut(lines.Text(), "=")
		settings[k] = strings.Trim(v, `'"`)
	}
	if settings["CURL_CA_BUNDLE"] == "" {
		f.t.Fatalf("%s: %q ended with %d: %s", name, args, <-done, said.String())
	}
	go func() { _, _ = io.Copy(&stdout, read) }()
	f.client = f.agent(settings)
	act()
	stop()
	exit = <-done
	f.client.CloseIdleConnections()
	f.look.lookAt(f.t, name+": stdout", stdout.Bytes())
	f.look.lookAt(f.t, name+": stderr", said.Bytes())
	f.look.lookThrough(f.t, name+": afterwards", f.root)
	return exit, said.String()
}

// agent is a client as the settings tell programs to be.
func (f *field) agent(settings map[string]string) *http.Client {
	f.t.Helper()
	bundle, err := os.ReadFile(settings["CURL_CA_BUNDLE"])
	proxy, uerr := url.Parse(settings["HTTPS_PROXY"])
	if err != nil || uerr != nil {
		f.t.Fatal(err, uerr)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), DisableCompression: true}
	transport.TLSClientConfig = tlsConfig(bundle)
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func send(r *http.Request, kind string, data []byte) {
	r.Header.Set("Content-Type", kind)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// do has the agent ask as p says and returns what came back, nothing when there
// was not a reply.
func (f *field) do(p plant) (reply string) {
	f.t.Helper()
	secret := p.secret()
	f.mu.Lock()
	f.n++
	number := strconv.Itoa(f.n)
	if p.answer != nil {
		f.answers[number] = func(w http.ResponseWriter) { p.answer(w, secret) }
	}
	f.mu.Unlock()
	base := apiURL
	if p.url != "" {
		base = p.url
	}
	r, err := http.NewRequest(http.MethodPost, base+"/"+strings.ReplaceAll(p.name, " ", "-"), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("X-Stainless-Plant", number)
	if p.ask != nil {
		p.ask(r, secret)
	}
	resp, err := f.client.Do(r)
	if err != nil {
		return "" // the caller knows whether there had to be one
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body) // some are cut
	return fmt.Sprint(resp.Status, resp.Header, resp.Trailer, string(text))
}

func (f *field) record(tape string) []string {
	return []string{"record", "--cassette", f.path(tape), "--allow-incomplete", "--upstream",
		"anthropic=" + f.upstream.URL,
		"--upstream", "openai=http://127.0.0.1:1", "--upstream-ca", f.path("upstream.pem")}
}

func wanted(want ...string) (out []plant) {
	for _, p := range plants {
		for _, w := range want {
			if p.want == w {
				out = append(out, p)
			}
		}
	}
	return out
}

// A secret in any place of a request or its reply is nowhere afterwards: in no
// file, named or not, while it is recorded and after, in nothing that is said,
// and not when the cassette is replayed, looked into and checked (pitfalls V2,
// V14, G19).
func TestCanaries(t *testing.T) {
	f := newField(t)
	kept := wanted(redacted, dropped)
	exit, said := f.session("record", func() {
		for _, p := range kept {
			got := f.do(p)
			if got == "" {
				t.Errorf("%s: no reply", p.name)
			}
			if p.answer != nil && p.name != "trailer" && !strings.Contains(p.name, "gzip") && p.name != "deflate" &&
				f.look.in([]byte(got)) == "" {
				t.Errorf("%s: the client does not get what the provider said: %.300s", p.name, got)
			}
		}
		f.whileOpen()
	}, f.record("x.yaml")...)
	if exit == 1 || strings.Contains(said, "not saved") || strings.Contains(said, "lost") {
		t.Errorf("recording ended with %d: %s", exit, said)
	}
	f.checkTape("x.yaml", kept)
	f.checkReplay("x.yaml", kept)
	for _, args := range [][]string{{"inspect", f.path("x.yaml")}, {"inspect", "--json", f.path("x.yaml")},
		{"verify", f.path("x.yaml")}, {"verify", "--json", f.path("x.yaml")}} {
		var out bytes.Buffer
		recorder.Run(t.Context(), args, strings.NewReader(""), &out, &out, f.env)
		f.look.lookAt(t, strings.Join(args[:2], " "), out.Bytes())
	}
	t.Logf("%d secrets planted, %d forms of pieces looked for", len(kept), len(f.look))
}

// whileOpen looks through everything while a large reply that quotes its key is
// half received.
func (f *field) whileOpen() {
	half, rest := make(chan struct{}), make(chan struct{})
	p := plant{name: "large reply", ask: key, answer: func(w http.ResponseWriter, s string) {
		_, _ = io.WriteString(w, `{"text":"`+strings.Repeat(s, 20_000))
		w.(http.Flusher).Flush()
		close(half)
		<-rest
		_, _ = io.WriteString(w, `"}`)
	}}
	var asked sync.WaitGroup
	asked.Go(func() { f.do(p) })
	<-half
	files, unlinked := f.look.lookThrough(f.t, "half received", f.root)
	if files < 4 || unlinked == 0 && runtime.GOOS == "linux" {
		f.t.Errorf("only %d files while recording, %d without a name", files, unlinked)
	}
	close(rest)
	asked.Wait()
}

// checkTape holds that every plant's interaction is there, without its secret
// and, where that is dropped, without the header.
func (f *field) checkTape(name string, kept []plant) {
	f.t.Helper()
	tape, err := cassette.Open(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	if tape.Len() != len(kept)+1 {
		f.t.Errorf("%d interactions of %d", tape.Len(), len(kept)+1)
	}
	for i, p := range kept {
		in, err := tape.At(min(i, tape.Len()-1))
		if err != nil {
			f.t.Fatal(err)
		}
		all := fmt.Sprint(in.Request.URL, in.Request.Header, in.Response.Header,
			in.Response.Trailer) + string(in.Request.Body) + string(in.Response.Body)
		f.look.lookAt(f.t, "interaction "+p.name, []byte(all))
		for _, h := range []http.Header{in.Request.Header, in.Response.Header} {
			for header := range h {
				if p.want == dropped && (strings.Contains(header, "Cookie") || header == "Proxy-Authorization" ||
					header == "X-Hop") {
					f.t.Errorf("%s: the header %s is kept", p.name, header)
				}
			}
		}
		if p.want == redacted && !strings.Contains(all, "REDACTED") && !strings.HasPrefix(p.name, "base64") {
			f.t.Errorf("%s: nothing stands in the secret's place:\n%.400s", p.name, all)
		}
	}
}

// checkReplay asks again, with the same secrets, and then for what was never
// recorded.
func (f *field) checkReplay(name string, kept []plant) {
	f.t.Helper()
	receipt := f.path("receipt.json")
	exit, said := f.session("replay", func() {
		for _, p := range kept {
			if got := f.do(p); f.look.in([]byte(got)) != "" && strings.Contains(got, "X-Cassette-Miss") {
				f.t.Errorf("%s: the miss quotes the secret: %s", p.name, got)
			}
		}
		for _, p := range kept {
			p.name, p.url = "missing "+p.name, apiURL+"/unheard-of"
			if p.ask == nil {
				p.ask = key
			}
			f.look.lookAt(f.t, "miss of "+p.name,
				[]byte(f.do(plant{name: p.name, url: p.url, prefix: p.prefix, odd: p.odd, ask: p.ask})))
		}
		different := plant{name: "message", ask: known(`{"messages":[{"content":"%s is my key?"}]}`)}
		f.look.lookAt(f.t, "miss with a difference", []byte(f.do(different)))
	}, "replay", "--cassette", f.path(name), "--receipt", receipt)
	if exit != 1 || !strings.Contains(said, fmt.Sprintf("served %d,", len(kept))) {
		f.t.Errorf("replay ended with %d: %.2000s", exit, said)
	}
	if !strings.Contains(said, "REDACTED") {
		f.t.Errorf("no difference is shown: %.2000s", said)
	}
	if _, err := os.Stat(receipt); err != nil {
		f.t.Error(err)
	}
}

// What one user recorded is found by another, with another pseudonym key and
// other secrets: credentials are no part of what requests are matched by. Short
// ones, which leave no room for a pseudonym, are the same for both.
func TestAnotherUserMatches(t *testing.T) {
	f := newField(t)
	short := plant{name: "short", ask: func(r *http.Request, _ string) {
		r.Header.Set("X-Api-Key", "hunter2!")
		r.URL.RawQuery = "secret=abc"
		send(r, js, []byte(`{"api_key":"abc","password":"hunter2!","text":"hunter2! it is"}`))
	}}
	kept := append(wanted(redacted, dropped), short)
	_, said := f.session("record", func() {
		for _, p := range kept {
			f.do(p)
		}
	}, f.record("x.yaml")...)
	if strings.Contains(said, "not saved") {
		t.Error(said)
	}
	if err := os.Mkdir(filepath.Join(f.root, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, kv := range f.env {
		if strings.HasPrefix(kv, "HOME=") {
			f.env[i] = "HOME=" + filepath.Join(f.root, "other")
		}
	}
	exit, said := f.session("replay", func() {
		for _, p := range kept {
			f.do(p)
		}
	}, "replay", "--cassette", f.path("x.yaml"))
	if exit != 0 || !strings.Contains(said, fmt.Sprintf("served %d, missed 0, unused 0", len(kept))) {
		t.Errorf("exit %d: %.3000s", exit, said)
	}
}

// A secret that the redactor cannot know is refused by the gate, which names
// the place and not the secret.
func TestCanariesThatNobodyKnows(t *testing.T) {
	f := newField(t)
	for i, p := range wanted(refused) {
		tape := fmt.Sprintf("x%d.yaml", i)
		exit, said := f.session(p.name, func() {
			f.do(plant{name: "nothing"})
			f.do(p)
		}, f.record(tape)...)
		if exit != 1 || !strings.Contains(said, p.place) {
			t.Errorf("%s: exit %d, %s", p.name, exit, said)
		}
		if got, err := cassette.Open(f.path(tape)); err != nil || got.Len() != 1 {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// late are secrets that are seen before anybody can know them: the first
// interaction holds one, the second gives it away.
var late = map[string][2]plant{
	"token under no known name": {
		{answer: says(js, `{"result":"%s"}`)},
		{ask: header("Authorization", "Bearer %s")},
	},
	"key echoed before it is used": {
		{answer: streams(`{"delta":{"text":"PIECE"}}`)},
		{ask: key},
	},
	"session before its cookie": {
		{answer: says(js, `{"session":"%s"}`)},
		{ask: header("Cookie", "session=%s")},
	},
	"token handed out later": {
		{ask: body(js, `{"content":"%s"}`)},
		{answer: says(js, `{"access_token":"%s"}`)},
	},
}

// What was written before anybody knew that it holds a secret is written again
// before the cassette gets its name.
func TestCanariesSeenLate(t *testing.T) {
	f := newField(t)
	n := 0
	for name, pair := range late {
		pair[0].name, pair[1].name = name, name
		f.look.add(name, pair[0].secret(), pair[0].cores()...)
		n++
		tape := fmt.Sprintf("x%d.yaml", n)
		exit, said := f.session(name, func() {
			f.do(pair[0])
			f.do(plant{name: "between"})
			f.do(pair[1])
		}, f.record(tape)...)
		got, err := cassette.Open(f.path(tape))
		if exit != 0 || err != nil || got.Len() != 3 {
			t.Fatalf("%s: exit %d, %v: %s", name, exit, err, said)
		}
		if err := got.Verify(); err != nil {
			t.Error(err)
		}
		if in, err := got.At(1); err != nil || string(in.Response.Body) != `{"ok":true}` {
			t.Errorf("%s: the interaction between: %+v, %v", name, in, err)
		}
	}
}

// tlsConfig trusts the certificates of a PEM file and nobody else.
func tlsConfig(bundle []byte) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
