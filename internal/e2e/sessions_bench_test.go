package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
	"github.com/meerkat-go/conformance/meerkat/session/sqlstore"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
	"github.com/meerkat-go/conformance/simulator"
)

var lengths = []int{10, 1_000, 10_000}

// spoken are the records of a real session: a prompt, a thought with a call, its
// result, the answer.
func spoken(b *testing.B) (header session.Header, prefix session.Prefix, messages []session.MessageRecord) {
	b.Helper()
	dir := b.TempDir()
	result, err := sessionAgent(b, jsonl.New(dir, nil),
		simulator.Transport(simulator.New(simulator.Config{}))).Run(b.Context(), "Echo the word heron.")
	if err != nil {
		b.Fatal(err)
	}
	s, err := jsonl.New(dir, nil).Load(b.Context(), result.SessionID)
	if err != nil || len(s.Messages) != 4 {
		b.Fatal(len(s.Messages), err)
	}
	for _, m := range s.Messages {
		messages = append(messages, session.MessageRecord{At: s.Created, Message: m})
	}
	return s.Header, *s.Prefix, messages
}

func sessionAgent(tb testing.TB, store session.Store, transport http.RoundTripper) *meerkat.Agent {
	tb.Helper()
	echo := tool.Tool{
		Def: transcript.ToolDef{Name: "echo",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
		Func: func(_ context.Context, args []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{Content: string(args)}, nil
		},
	}
	a, err := meerkat.NewAgent().WithAnthropic("test-key").WithModel("claude-opus-4-6").WithTool(echo).WithRetry(provider.RetryPolicy{}).
		WithStore(store).WithHTTPClient(&http.Client{Transport: transport}).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// long writes a session of n messages and leaves it open.
func long(b *testing.B, store session.Store, n int) (session.ID, session.Writer) {
	b.Helper()
	header, prefix, round := spoken(b)
	w, err := store.Create(b.Context(), header)
	if err != nil {
		b.Fatal(err)
	}
	records := []session.Record{prefix}
	for i := range (n + len(round) - 1) / len(round) * len(round) { // it ends with an answer
		records = append(records, round[i%len(round)])
	}
	if err := w.Append(b.Context(),
		append(records, session.Checkpoint{At: header.Created, Reason: session.ReasonAssistant})...); err != nil {
		b.Fatal(err)
	}
	return header.ID, w
}

// rivals take turns: what each costs is the least and the middle of its times, and
// the figure that counts is the middle of the ratios to the first.
type rivals struct {
	names []string
	do    []func() error
}

func (r *rivals) add(name string, do func() error) {
	r.names, r.do = append(r.names, name), append(r.do, do)
}

func (r *rivals) run(b *testing.B) {
	b.Helper()
	times, ratios := make([][]time.Duration, len(r.do)), make([][]float64, len(r.do))
	for b.Loop() {
		for i, do := range r.do {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(r.names[i], err)
			}
			took := time.Since(began)
			times[i] = append(times[i], took)
			ratios[i] = append(ratios[i], float64(took)/float64(times[0][len(times[0])-1]))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range r.names {
		b.ReportMetric(float64(slices.Min(times[i]).Nanoseconds())/1e3, name+"-best-µs")
		if i > 0 {
			b.ReportMetric(middle(ratios[i]), name+"/"+r.names[0])
		}
	}
}

func middle[T cmp.Ordered](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// BenchmarkCheckpoints is one turn's checkpoint in each store, on disk, beside a
// bare write and fsync of as many bytes, and beside a file that is written whole.
func BenchmarkCheckpoints(b *testing.B) {
	for _, n := range lengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			files := jsonl.New(filepath.Join(dir, "files"), nil)
			id, file := long(b, files, n)
			table, err := sqlstore.OpenSQLite(filepath.Join(dir, "table"))
			if err != nil {
				b.Fatal(err)
			}
			_, row := long(b, table, n)
			_, _, round := spoken(b)
			turn := []session.Record{round[1], session.Checkpoint{At: round[1].At, Reason: session.ReasonAssistant}}
			before, err := os.ReadFile(files.Path(id))
			if err == nil {
				err = file.Append(b.Context(), turn...)
			}
			after, readErr := os.ReadFile(files.Path(id))
			if err = errors.Join(err, readErr); err != nil {
				b.Fatal(err)
			}
			bare, err := os.Create(filepath.Join(dir, "bare"))
			if err != nil {
				b.Fatal(err)
			}
			var r rivals
			r.add("bare", func() error { _, err := bare.Write(after[len(before):]); return errors.Join(err, bare.Sync()) })
			r.add("jsonl", func() error { return file.Append(b.Context(), turn...) })
			r.add("sqlite", func() error { return row.Append(b.Context(), turn...) })
			r.add("rewrite", func() error { return rewrite(filepath.Join(dir, "whole"), after) })
			r.run(b)
			if err := errors.Join(file.Close(), row.Close(), table.Close(), bare.Close()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// rewrite replaces a file, as stores do that keep a session in one document.
// Encoding it is not even counted.
func rewrite(path string, data []byte) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// BenchmarkLoads reads a session: every byte checked and folded, beside
// encoding/json on the same lines into plain values, and SQLite.
func BenchmarkLoads(b *testing.B) {
	for _, n := range lengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			files := jsonl.New(filepath.Join(dir, "files"), nil)
			id, file := long(b, files, n)
			table, err := sqlstore.OpenSQLite(filepath.Join(dir, "table"))
			if err != nil {
				b.Fatal(err)
			}
			key, row := long(b, table, n)
			if err := errors.Join(file.Close(), row.Close()); err != nil {
				b.Fatal(err)
			}
			info, err := os.Stat(files.Path(id))
			if err != nil {
				b.Fatal(err)
			}
			var r rivals
			r.add("jsonl", func() error { _, err := files.Load(b.Context(), id); return err })
			r.add("encoding/json", func() error { return plain(files.Path(id)) })
			r.add("sqlite", func() error { _, err := table.Load(b.Context(), key); return err })
			r.run(b)
			b.ReportMetric(float64(info.Size())/1e6, "MB")
			_ = table.Close()
		})
	}
}

// line is a record as a reader without any care would have it.
type line struct {
	Record  string `json:"record"`
	Time    string `json:"at"`
	Message struct {
		Role    string           `json:"role"`
		Content any              `json:"content"`
		Blocks  []map[string]any `json:"blocks"`
		Results []map[string]any `json:"results"`
	} `json:"message"`
}

func plain(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all []line
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		all = append(all, l)
	}
	if len(all) < 10 {
		return fmt.Errorf("%d lines", len(all))
	}
	return nil
}

// errSeen ends a run when its request is there.
var errSeen = errors.New("seen")

// arrival tells when a request arrives, and refuses it.
type arrival struct{ at time.Time }

func (a *arrival) RoundTrip(*http.Request) (*http.Response, error) {
	a.at = time.Now()
	return nil, errSeen
}

// BenchmarkResumes is the time from Resume to the first byte of its request: the
// session is locked, read, checked and rendered, and the prompt is on disk.
func BenchmarkResumes(b *testing.B) {
	for _, n := range lengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := jsonl.New(b.TempDir(), nil)
			id, w := long(b, store, n)
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			whole, err := os.ReadFile(store.Path(id))
			if err != nil {
				b.Fatal(err)
			}
			seen := &arrival{}
			a := sessionAgent(b, store, seen)
			var times, loads []time.Duration
			for b.Loop() {
				if err := os.WriteFile(store.Path(id), whole, 0o600); err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if _, err := store.Load(b.Context(), id); err != nil {
					b.Fatal(err)
				}
				loads = append(loads, time.Since(began))
				ctx, cancel := context.WithCancel(b.Context())
				began, seen.at = time.Now(), time.Time{}
				_, err := a.Resume(ctx, id, "Go on.")
				if cancel(); err == nil || seen.at.IsZero() {
					b.Fatalf("no request: %v", err)
				}
				times = append(times, seen.at.Sub(began))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(slices.Min(times).Microseconds())/1e3, "request-best-ms")
			b.ReportMetric(float64(slices.Min(loads).Microseconds())/1e3, "load-best-ms")
			b.ReportMetric(float64(middle(times))/float64(middle(loads)), "request/load")
		})
	}
}
