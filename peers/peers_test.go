package main

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestArrivalsTakeWholeEventsOnly(t *testing.T) {
	sent := time.Unix(1, 5000)
	text := opening + event(fmt.Sprintf("@%d", int64(1_000_000_000_000_005_000))) + event(fmt.Sprintf("@%d",
		int64(1_000_000_000_000_005_000)))
	cut := len(text) - 3
	pending, delays := arrivals([]byte(text[:cut]), sent, nil)
	if len(delays) != 1 {
		t.Fatalf("%d events in a text that is cut in the second", len(delays))
	}
	pending, delays = arrivals(append(pending, text[cut:]...), sent, delays)
	if len(delays) != 2 || len(pending) != 0 {
		t.Fatalf("%d events, %q left", len(delays), pending)
	}
}

func TestUpstreamKeepsItsPromises(t *testing.T) {
	up := startUpstream()
	defer up.close()
	w := reach("", up.secure.URL)
	if h := w.streams(t.Context(), 3, 5, time.Millisecond); h.failed > 0 || len(h.delays) != 15 {
		t.Errorf("streams: %+v", h)
	}
	if _, _, failed, cause := w.rate(t.Context(), 4, time.Minute, 50, short); failed > 0 {
		t.Errorf("short: %d failed, %v", failed, cause)
	}
	if speed, err := w.megabytes(t.Context(), 1<<20); err != nil || speed <= 0 {
		t.Errorf("long: %v MB/s, %v", speed, err)
	}
	w.client.CloseIdleConnections()
}

// What a peer writes is below the folder that is removed at the end: a bench writes some
// gigabytes.
func TestPeersWriteIntoTheWorkFolder(t *testing.T) {
	up := startUpstream()
	defer up.close()
	elsewhere := t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	for _, s := range recorders(options{recorder: "recorder"}, up, t.TempDir()) {
		if s.command == nil {
			continue
		}
		if _, _, err := s.command(1); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Fatalf("%s: writes to %v, %v", s.name, left, err)
		}
	}
}

// Every replaying peer answers with the same bytes, or its figures mean nothing.
func TestPlayersAnswerAlike(t *testing.T) {
	ours, v4 := filepath.Join(t.TempDir(), "ours.yaml"), filepath.Join(t.TempDir(), "v4.yaml")
	if err := errors.Join(writeOurs(ours, 3), writeV4(v4, 3)); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"bare": "", "replay-recorder": ours, "replay-go-vcr-v2": ours,
		"replay-go-vcr-v4": v4} {
		h, err := player(name, path)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		w := reach("", server.URL)
		resp, err := w.post(t.Context(), "once", prompt(2))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != reply {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(body), len(reply))
		}
		_ = resp.Body.Close()
		w.client.CloseIdleConnections()
		server.Close()
	}
}
