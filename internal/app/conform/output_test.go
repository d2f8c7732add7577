package conform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

func TestInterruptedCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/x.yaml", []byte("a: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := Run(ctx, []string{"check", dir}, nil, &out, &errs, nil); got != report.ExitInterrupted ||
		!strings.Contains(errs.String(), "interrupted; no verdict was reached") {
		t.Errorf("exit %d, %q", got, errs.String())
	}
}

// A check that found nothing to judge writes no part of a document.
func TestCheckOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/x.json", []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	got := Run(t.Context(), []string{"check", "--json", dir}, nil, &out, &errs, nil)
	if got != report.ExitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "holds no recording") {
		t.Errorf("exit %d, %q, %q", got, out.String(), errs.String())
	}
}

func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := t.TempDir() + "/r.json"
	var out, errs bytes.Buffer
	if got := Run(ctx, []string{"run", "--filter", "SIG-001", "--report", "json=" + path}, nil, &out, &errs, nil); got != report.ExitInterrupted {
		t.Errorf("exit %d", got)
	}
	if !strings.Contains(errs.String(), "conform: interrupted after 0 results; run it again for a verdict; with --journal FILE a run goes on") {
		t.Error(errs.String())
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), "no case of this run shows it") {
		t.Errorf("what was found until then is lost: %v", err)
	}
}

// A run that is interrupted while its agent is asked the first prompt says so, and its
// reports are written.
func TestInterruptedPreflight(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := t.TempDir() + "/r.json"
	var out, errs bytes.Buffer
	got := Run(ctx, []string{"run", "--report", "json=" + path, "--", os.Args[0], "{prompt}"}, nil, &out, &errs, nil)
	if got != report.ExitInterrupted ||
		errs.String() != "conform: interrupted after 0 results; run it again for a verdict; with --journal FILE a run goes on where it was interrupted\n" {
		t.Errorf("exit %d, %s", got, errs.String())
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"exit": 130`) {
		t.Errorf("%v: %s", err, data)
	}
	errs.Reset()
	if got := Run(ctx, []string{"observe", "--", os.Args[0], "{prompt}"}, nil, &out, &errs, nil); got != report.ExitInterrupted || !strings.HasPrefix(errs.String(), "conform: interrupted before ") {
		t.Errorf("exit %d, %s", got, errs.String())
	}
}

// closedPipe is a stdout whose reader has gone, as of `| head`.
type closedPipe struct{ bytes.Buffer }

func (p *closedPipe) Write(data []byte) (int, error) {
	if p.Len() > 0 {
		return 0, io.ErrClosedPipe
	}
	return p.Buffer.Write(data)
}

// TestReaderThatStopsEarly holds that the exit code is that of the verdict, and
// that nothing is said, when the reader of a report closes its end.
func TestReaderThatStopsEarly(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"selftest", "--places", "0"}, {"check", "../../../cassettes/anthropic"},
		{"check", "--json", "../../../cassettes/anthropic"}} {
		var out closedPipe
		var errs bytes.Buffer
		if got := Run(t.Context(), args, nil, &out, &errs, nil); got != report.ExitOK || errs.Len() > 0 ||
			out.Len() == 0 {
			t.Errorf("%q: exit %d, %d bytes, stderr %q", args, got, out.Len(), errs.String())
		}
	}
}

func TestReportIsWrittenWholeOrNotAtAll(t *testing.T) {
	path := t.TempDir() + "/r.json"
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{cli.New(program, nil, io.Discard, io.Discard, nil)}
	files, err := a.parseReportFlags([]string{"json=" + path}, false)
	if err != nil {
		t.Fatal(err)
	}
	broken := files[0]
	broken.write = func(w io.Writer, _ reportDocument) error {
		_, _ = w.Write([]byte("half"))
		return errors.New("disk full")
	}
	if err := a.save(reportFiles{broken}, &report.Run{}); err == nil ||
		!strings.Contains(err.Error(), path+": the json report cannot be written: disk full") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "before" {
		t.Errorf("%q", data)
	}
	if err := a.save(files, &report.Run{}); err != nil {
		t.Error(err)
	}
	entries, _ := os.ReadDir(strings.TrimSuffix(path, "/r.json"))
	if data, _ := os.ReadFile(path); !strings.HasPrefix(string(data), "{") || len(entries) != 1 {
		t.Errorf("%q, %v", data, entries)
	}
}
