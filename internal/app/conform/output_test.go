package conform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

func TestProgressIsQuietAtFirst(t *testing.T) {
	var w bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{w: &w, what: "checked", now: func() time.Time { return now }}
	p.shown = now.Add(quiet - interval)
	for range 3 {
		p.Step(9)
		now = now.Add(quiet / 3)
	}
	if w.Len() != 0 {
		t.Errorf("%q within the first second", w.String())
	}
	now = now.Add(time.Millisecond)
	p.Step(9)
	p.Step(9) // too soon for another line
	now = now.Add(interval)
	p.Step(9)
	p.Done()
	if got := strings.ReplaceAll(w.String(), "\x1b[K", ""); got != "\rchecked 4 of 9\rchecked 6 of 9\r" {
		t.Errorf("%q", got)
	}
}

func TestProgressOnlyOnATerminal(t *testing.T) {
	var w bytes.Buffer
	p := (&app{stderr: &w}).progress("checked")
	p.Step(9)
	p.Done()
	if p.w != nil || w.Len() != 0 {
		t.Errorf("%q", w.String())
	}
}

func TestColours(t *testing.T) {
	for env, want := range map[string]bool{"": true, "NO_COLOR=": true, "NO_COLOR=1": false, "TERM=dumb": false, "TERM=xterm": true} {
		if got := (&app{env: []string{"A=b", env}}).colours(); got != want {
			t.Errorf("%q: %t", env, got)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/x.yaml", []byte("a: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := Run(ctx, []string{"check", dir}, nil, &out, &errs, nil); got != report.ExitHarness || !strings.Contains(errs.String(), "interrupted; no verdict was reached") {
		t.Errorf("exit %d, %q", got, errs.String())
	}
}

func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := t.TempDir() + "/r.json"
	var out, errs bytes.Buffer
	if got := Run(ctx, []string{"run", "--filter", "SIG-001", "--report", "json=" + path}, nil, &out, &errs, nil); got != report.ExitHarness {
		t.Errorf("exit %d", got)
	}
	if !strings.Contains(errs.String(), "conform: interrupted after 0 results; run it again for a verdict") {
		t.Error(errs.String())
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), "no case of this run shows it") {
		t.Errorf("what was found until then is lost: %v", err)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a"), errors.New("b"), errors.New("c"))); got != "a (and 2 more)" {
		t.Error(got)
	}
	if got := oneLine(errors.New("a")); got != "a" {
		t.Error(got)
	}
}

func TestReportIsWrittenWholeOrNotAtAll(t *testing.T) {
	path := t.TempDir() + "/r.json"
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := reportFiles([]string{"json=" + path})
	if err != nil {
		t.Fatal(err)
	}
	broken := files[0]
	broken.write = func(w io.Writer, _ *report.Run) error {
		_, _ = w.Write([]byte("half"))
		return errors.New("disk full")
	}
	if err := broken.save(&report.Run{}); err == nil || !strings.Contains(err.Error(), path+": cannot be written: disk full") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "before" {
		t.Errorf("%q", data)
	}
	if err := files[0].save(&report.Run{}); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(strings.TrimSuffix(path, "/r.json"))
	if data, _ := os.ReadFile(path); !strings.HasPrefix(string(data), "{") || len(entries) != 1 {
		t.Errorf("%q, %v", data, entries)
	}
}
