package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// way is how requests get to a running subject.
type way struct {
	client *http.Client
	url    string
}

// reach makes a way to target, through a proxy if one is named. Certificates are
// taken as they come: what is measured is the same for all.
func reach(through, target string) way {
	tr := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: 512, DisableCompression: true, ResponseHeaderTimeout: 60 * time.Second,
	}
	if through != "" {
		tr.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(through) }
	}
	return way{&http.Client{Transport: tr}, target + "/v1/messages"}
}

// padding is text as it is in prompts: a single letter, repeated, is base64 to who looks for
// secrets.
var padding = strings.Repeat("Name three capitals of Europe and a river each. ", 42)

// prompt is a request that differs from every other one.
func prompt(n int) string {
	return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"prompt-%d %s"}]}`, n, padding)
}

func (w way) post(ctx context.Context, want, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Api-Key", "test-key-of-the-benchmark")
	if want != "" {
		r.Header.Set("X-Bench", want)
	}
	resp, err := w.client.Do(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		_ = resp.Body.Close()
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return resp, err
}

// heard is what a client saw of streams.
type heard struct {
	first  []float64 // milliseconds from the request to the first byte of the body
	delays []float64 // microseconds from an event's sending to its arrival
	wall   float64   // seconds until all streams had ended
	failed int
	cause  error
}

// streams reads that many streams at once.
func (w way) streams(ctx context.Context, at, events int, every time.Duration) heard {
	var all heard
	var mu sync.Mutex
	var wg sync.WaitGroup
	begin := time.Now()
	for range at {
		wg.Go(func() {
			first, delays, err := w.stream(ctx, events, every)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.failed, all.cause = all.failed+1, err
				return
			}
			all.first, all.delays = append(all.first, first), append(all.delays, delays...)
		})
	}
	wg.Wait()
	all.wall = time.Since(begin).Seconds()
	return all
}

func (w way) stream(ctx context.Context, events int, every time.Duration) (first float64, delays []float64, err error) {
	begin := time.Now()
	resp, err := w.post(ctx, fmt.Sprintf("stream %d %s", events, every), prompt(fresh()))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var pending []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		now := time.Now()
		if first == 0 && n > 0 {
			first = float64(now.Sub(begin).Microseconds()) / 1e3
		}
		pending = append(pending, buf[:n]...)
		pending, delays = arrivals(pending, now, delays)
		if err == io.EOF {
			if len(delays) != events {
				return 0, nil, fmt.Errorf("%d events of %d arrived", len(delays), events)
			}
			return first, delays, nil
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// arrivals takes the whole events out of pending and notes how old they are.
func arrivals(pending []byte, now time.Time, delays []float64) ([]byte, []float64) {
	for {
		end := bytes.Index(pending, []byte("\n\n"))
		if end < 0 {
			return pending, delays
		}
		if _, rest, ok := bytes.Cut(pending[:end], []byte(stamp)); ok && len(rest) >= 19 {
			if sent, err := strconv.ParseInt(string(rest[:19]), 10, 64); err == nil {
				delays = append(delays, float64(now.UnixNano()-sent)/1e3)
			}
		}
		pending = pending[end+2:]
	}
}

// asking makes the n-th request: what it wants of the upstream, and its body.
type asking func(n int) (want, body string)

func short(int) (want, body string) { return "short", prompt(fresh()) }

var asked atomic.Int64

// fresh numbers requests that none before was equal to: some recorders answer
// what they know instead of recording it.
func fresh() int { return int(asked.Add(1)) + 1<<20 }

// rate sends requests from that many clients for a time, at most that many where
// most is not 0, and returns how many were answered a second, the milliseconds
// to their first bytes and how many failed.
func (w way) rate(ctx context.Context, at int, lasting time.Duration, most int, ask asking) (perSecond float64,
	first []float64, failed int, cause error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, done := 0, 0
	begin := time.Now()
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if next++; most > 0 && next > most || time.Since(begin) > lasting {
			return -1
		}
		return next - 1
	}
	for range at {
		wg.Go(func() {
			for n := take(); n >= 0; n = take() {
				took, err := w.whole(ctx, ask, n)
				mu.Lock()
				if err != nil {
					failed, cause = failed+1, err
				} else {
					done, first = done+1, append(first, took)
				}
				mu.Unlock()
				if errors.Is(err, context.Canceled) {
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(done) / time.Since(begin).Seconds(), first, failed, cause
}

// whole sends one request, reads all of its reply and returns the milliseconds
// to the first byte.
func (w way) whole(ctx context.Context, ask asking, n int) (first float64, err error) {
	want, body := ask(n)
	begin := time.Now()
	resp, err := w.post(ctx, want, body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		return 0, err
	}
	first = float64(time.Since(begin).Microseconds()) / 1e3
	_, err = io.Copy(io.Discard, resp.Body)
	return first, err
}

// megabytes reads one long stream and returns its speed in MB/s.
func (w way) megabytes(ctx context.Context, size int) (float64, error) {
	begin := time.Now()
	resp, err := w.post(ctx, fmt.Sprintf("long %d", size), prompt(fresh()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(io.Discard, resp.Body)
	return float64(n) / 1e6 / time.Since(begin).Seconds(), err
}

// quantile of values, 0 for none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Clone(values)
	slices.SortFunc(values, cmp.Compare)
	return values[int(q*float64(len(values)-1))]
}

func median(values []float64) float64 { return quantile(values, 0.5) }
