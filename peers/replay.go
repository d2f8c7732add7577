package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	cassette2 "github.com/dnaeon/go-vcr/v2/cassette"
	vcr2 "github.com/dnaeon/go-vcr/v2/recorder"
	cassette4 "gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	vcr4 "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

const eventsOfReply = 20

// reply is what every replayed request is answered with.
var reply = opening + strings.Repeat(event(strings.Repeat("r", 80)), eventsOfReply) + closing

// target is where the recorded requests were addressed to.
const target = "https://api.anthropic.com/v1/messages"

// gcPercent is that of the recorder command, for bare as well.
const gcPercent = 400

// player is a server that replays the cassette at path.
func player(name, path string) (http.Handler, error) {
	if name == "bare" || name == "replay-recorder" {
		debug.SetGCPercent(gcPercent)
	}
	switch name {
	case "bare":
		return bare(), nil
	case "replay-recorder":
		return replayOurs(path)
	case "replay-go-vcr-v2":
		return replayV2(path)
	case "replay-go-vcr-v4":
		return replayV4(path)
	}
	return nil, fmt.Errorf("-serve %s: unknown", name)
}

// bare sends the reply event by event and does nothing else: the floor.
func bare() http.Handler {
	events := strings.SplitAfter(reply, "\n\n")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events[:len(events)-1] {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	})
}

// replayOurs plays each interaction once; a client that has used them up says so
// by a new generation, which begins at the cassette's beginning.
func replayOurs(path string) (http.Handler, error) {
	tape, err := cassette.Open(path)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	generations := map[string]*replay.Replayer{}
	player := func(generation string) (*replay.Replayer, error) {
		mu.Lock()
		defer mu.Unlock()
		if p := generations[generation]; p != nil {
			return p, nil
		}
		p, err := replay.New(replay.Config{Cassette: tape,
			Redactor: redact.New([]byte("a key of the benchmark, 32 bytes"))})
		generations[generation] = p
		return p, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := player(r.Header.Get("X-Bench"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.URL.Scheme, r.URL.Host = "https", "api.anthropic.com"
		p.ServeHTTP(flushing{w}, r)
	}), nil
}

// flushing is what the proxy does with every write but the last.
type flushing struct{ http.ResponseWriter }

func (w flushing) WriteEnd(last []byte) (int, error) { return w.ResponseWriter.Write(last) }

func (w flushing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w flushing) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

// fromTransport serves what a replaying RoundTripper answers.
func fromTransport(tr http.RoundTripper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, target, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		resp, err := tr.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		_, _ = io.Copy(w, resp.Body)
	})
}

// sameBody compares as go-vcr's README does.
func sameBody(r *http.Request, recorded string) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return string(body) == recorded
}

func replayV2(path string) (http.Handler, error) {
	r, err := vcr2.NewAsMode(strings.TrimSuffix(path, ".yaml"), vcr2.ModeReplaying, nil)
	if err != nil {
		return nil, err
	}
	r.SkipRequestLatency = true
	r.SetReplayableInteractions(true)
	r.SetMatcher(func(r *http.Request, i cassette2.Request) bool {
		return cassette2.DefaultMatcher(r, i) && sameBody(r, i.Body)
	})
	return fromTransport(r), nil
}

func replayV4(path string) (http.Handler, error) {
	r, err := vcr4.New(strings.TrimSuffix(path, ".yaml"), vcr4.WithMode(vcr4.ModeReplayOnly),
		vcr4.WithSkipRequestLatency(true),
		vcr4.WithReplayableInteractions(true), vcr4.WithMatcher(func(r *http.Request, i cassette4.Request) bool {
			return r.Method == i.Method && r.URL.String() == i.URL && sameBody(r, i.Body)
		}))
	if err != nil {
		return nil, err
	}
	return fromTransport(r), nil
}

// replayTable: requests of 2 KB, each answered with a stream of 20 events,
// without waiting.
func replayTable(ctx context.Context, o options, work string) error {
	sizes := []int{10, 1000, 10000}
	all := map[int]map[string]*taken{}
	var named []subject
	for _, n := range sizes {
		dir := filepath.Join(work, "replay-"+strconv.Itoa(n))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		players, err := players(o, dir, n)
		if err != nil {
			return err
		}
		named = chosen(o, players)
		if all[n], err = inTurns(ctx, o.rounds, named, measureReplay(ctx, n)); err != nil {
			return err
		}
	}
	head("Replay, without waiting", "", "interactions", "first reply after start, ms", "memory, MiB", "1 client, req/s",
		"first byte p50 / p99, ms", "32 clients, req/s", "× bare", "CPU of it at 32, µs a request", "× bare")
	for _, s := range named {
		for _, n := range sizes {
			t := all[n][s.name]
			row(s.name, fmt.Sprint(n), t.show("%.0f", "start"), t.show("%.0f", "memory"), t.show("%.0f", "rate-1"),
				t.show("%.2f", "first50")+" / "+t.show("%.2f", "first99"), t.show("%.0f", "rate-32"),
				t.ratio(all[n]["bare"], "rate-32"),
				t.show("%.0f", "cpu-32"), t.ratio(all[n]["bare"], "cpu-32"))
		}
	}
	notes(named, all[sizes[len(sizes)-1]])
	return nil
}

// measureReplay asks for the last interaction first, as the worst case, then for
// all of them again and again.
func measureReplay(ctx context.Context, n int) func(*running, *taken) {
	return func(r *running, t *taken) {
		// start has waited for the listener; what loading cost before is in since.
		if _, err := r.whole(ctx, func(int) (string, string) { return "first", prompt(n - 1) }, 0); err != nil {
			t.trouble = err.Error()
			return
		}
		t.add("start", float64(time.Since(r.began).Milliseconds()))
		for _, at := range []int{1, 32} {
			ask := func(i int) (string, string) { return fmt.Sprintf("%d-%d", at, i/n), prompt(i % n) }
			used, began := r.cpu(), time.Now()
			perSecond, first, failed, cause := r.rate(ctx, at, 2*time.Second, 0, ask)
			t.add(fmt.Sprint("rate-", at), perSecond)
			t.addCPU(fmt.Sprint("cpu-", at), r.cpu()-used, perSecond*time.Since(began).Seconds())
			if at == 1 {
				t.add("first50", quantile(first, 0.5))
				t.add("first99", quantile(first, 0.99))
			}
			if failed > 0 {
				t.trouble = fmt.Sprintf("%d requests failed, for example: %v", failed, cause)
			}
		}
		t.add("memory", r.peakMiB())
	}
}

// players lists the replaying servers, their recordings of n interactions
// written to dir.
func players(o options, dir string, n int) ([]subject, error) {
	ours, v4 := filepath.Join(dir, "ours.yaml"), filepath.Join(dir, "v4.yaml")
	if err := writeOurs(ours, n); err != nil {
		return nil, err
	}
	if err := writeV4(v4, n); err != nil {
		return nil, err
	}
	all := []subject{
		replaying("bare", "bare", "a handler that sends the stream and does nothing else", ""),
		replaying("recorder", "replay-recorder", "exact matching", ours),
		replaying("go-vcr-v2", "replay-go-vcr-v2",
			"plays our file as it is, each reply in one write; matches bodies as its README does", ours),
		replaying("go-vcr-v4", "replay-go-vcr-v4", "each reply in one write; matches bodies as its README does", v4),
	}
	if o.tools == "" {
		return all, nil
	}
	fixtures, err := writeFixtures(dir, n)
	if err != nil {
		return nil, err
	}
	return append(all, subject{name: "aimock", note: "makes a stream of its own from recorded text",
		command: func(port int) (*exec.Cmd, way, error) {
			return exec.Command("node", filepath.Join(o.tools, "node_modules", ".bin", "llmock"), "-p",
				strconv.Itoa(port),
				"-f", fixtures,
				"--log-level", "silent", "--journal-max", "10"), reach("", local(port)), nil
		}}), nil
}

func replaying(name, served, note, path string) subject {
	return subject{name: name, note: note, command: func(port int) (*exec.Cmd, way, error) {
		exe, err := os.Executable()
		return exec.Command(exe, "-serve", served+"@"+strconv.Itoa(port), "-data", path), reach("", local(port)), err
	}}
}

// writeOurs writes a cassette through the library: no server could answer 10,000
// requests in the time a benchmark has.
func writeOurs(path string, n int) error {
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic, Tool: "peers",
		Created: "2026-01-01T00:00:00Z"}, cassette.CreateOptions{})
	if err != nil {
		return err
	}
	for i := range n {
		in := cassette.Interaction{
			Request: cassette.Request{Method: http.MethodPost, URL: target, Proto: "HTTP/1.1",
				Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(prompt(i))},
			Response: cassette.Response{Status: http.StatusOK, Proto: "HTTP/1.1",
				Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(reply)},
			End: cassette.EndEOF,
		}
		events := strings.SplitAfter(reply, "\n\n")
		for i, e := range events[:len(events)-1] {
			in.Timeline = append(in.Timeline, cassette.Chunk{At: time.Duration(i) * time.Millisecond, Length: len(e)})
		}
		if err := w.Append(in); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeV4(path string, n int) error {
	c := cassette4.New(strings.TrimSuffix(path, ".yaml"))
	c.MarshalFunc = yaml.Marshal
	for i := range n {
		c.AddInteraction(&cassette4.Interaction{
			Request: cassette4.Request{Method: http.MethodPost, URL: target, Body: prompt(i),
				ContentLength: int64(len(prompt(i)))},
			Response: cassette4.Response{Code: http.StatusOK, Status: "200 OK",
				Headers: http.Header{"Content-Type": {"text/event-stream"}}, Body: reply, ContentLength: -1},
		})
	}
	return c.Save()
}

func writeFixtures(dir string, n int) (string, error) {
	type fixture struct {
		Match    map[string]string `json:"match"`
		Response map[string]string `json:"response"`
	}
	all := make([]fixture, n)
	for i := range all {
		all[i] = fixture{map[string]string{"userMessage": fmt.Sprintf("prompt-%d ", i)},
			map[string]string{"content": strings.Repeat("r", 80*eventsOfReply)}}
	}
	data, err := json.Marshal(map[string]any{"fixtures": all})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fixtures.json")
	return path, os.WriteFile(path, data, 0o600)
}
