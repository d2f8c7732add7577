package rkat

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/meerkat/artifact"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// openWithSettings opens artifacts as a command with these variables does.
func openWithSettings(t *testing.T, dir string, env map[string]string) artifact.Store {
	t.Helper()
	env["HOME"] = dir
	cfg, err := config.Load(config.Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	w := &preparedRun{cfg: cfg, store: session.NewMemoryStore()}
	store, err := newApp(allBackends, nil, io.Discard, io.Discard, nil).openArtifacts(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.closeAll(t.Context()) })
	return store
}

const artifactOwner = session.ID("0199a2b4-0000-7000-8000-000000000001")

// TestArtifactSettings: each limit of the configuration binds.
func TestArtifactSettings(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		limit artifact.Limit
	}{
		"RKAT_ARTIFACTS_MAX_ARTIFACT_BYTES":        {"9", artifact.LimitBytes},
		"RKAT_ARTIFACTS_MAX_ARTIFACTS_PER_SESSION": {"2", artifact.LimitPerSession},
		"RKAT_ARTIFACTS_MAX_TOTAL_ARTIFACT_BYTES":  {"25", artifact.LimitTotalBytes},
	} {
		store := openWithSettings(t, t.TempDir(), map[string]string{name: c.value, "RKAT_ARTIFACTS_TTL": "90m"})
		var refused *artifact.LimitError
		var err error
		for range 3 {
			var ref artifact.Ref
			if ref, err = store.Put(
				t.Context(), artifactOwner, []byte("ten bytes."), 0,
			); err == nil && *ref.TTL != 90*60 {
				t.Errorf("kept for %d seconds", *ref.TTL)
			}
		}
		if !errors.As(err, &refused) || refused.Limit != c.limit {
			t.Errorf("%s=%s: %v", name, c.value, err)
		}
	}
	ref, err := openWithSettings(t, t.TempDir(), map[string]string{"RKAT_ARTIFACTS_TTL": "0s"}).Put(t.Context(),
		artifactOwner, []byte("a"), 0)
	if err != nil || ref.TTL != nil {
		t.Errorf("a time of 0: %+v, %v", ref, err)
	}
}

// TestArtifactsAreSwept: what is kept no longer is removed when the artifacts are opened.
func TestArtifactsAreSwept(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".local/share/rkat/artifacts")
	old := artifact.NewFiles(dir, artifact.Options{Now: func() time.Time { return time.Now().Add(-25 * time.Hour) }})
	if _, err := old.Put(t.Context(), artifactOwner, []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, string(artifactOwner))
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err)
	}
	openWithSettings(t, home, map[string]string{})
	for err := error(nil); !errors.Is(err, os.ErrNotExist); _, err = os.Stat(folder) {
		if t.Context().Err() != nil {
			t.Fatal("the artifact is still there")
		}
	}
}

// TestBadArtifactSettings: a value that makes no sense is wrong usage, and the error says
// which setting it is.
func TestBadArtifactSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"MAX_ARTIFACT_BYTES=0":                   "0 is not a size from 1 byte to 2047 MB",
		"MAX_ARTIFACT_BYTES=-5MB":                "is not a size",
		"MAX_ARTIFACT_BYTES=3GB":                 "3GB is not a size from 1 byte to 2047 MB",
		"MAX_ARTIFACTS_PER_SESSION=1.5":          "1.5 is not a whole number from 1",
		"MAX_TOTAL_ARTIFACT_BYTES=NaN":           "NaN is not a size from 1 byte to 1048576 GB",
		"MAX_TOTAL_ARTIFACT_BYTES=99999999999GB": "is not a size",
		"TTL=-1h":                                "-1h is not a duration",
		"TTL=a day":                              "a day is not a duration",
		"SWEEP_INTERVAL=0":                       "0 is less than a second",
		"SWEEP_INTERVAL=1ns":                     "1ns is less than a second",
		"SWEEP_INTERVAL=99999999999999h":         "is not a duration",
		"SWEEP_INTERVALL=1h":                     "RKAT_ARTIFACTS_SWEEP_INTERVAL",
	} {
		var errs bytes.Buffer
		env := []string{"HOME=" + t.TempDir(), "RKAT_ARTIFACTS_" + setting}
		code := allBackends.Run(
			t.Context(), []string{"run", "--demo", "hi"}, strings.NewReader(""), io.Discard, &errs, env,
		)
		name, _, _ := strings.Cut(setting, "=")
		if code != exitUsage || !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), name) {
			t.Errorf("%s: %d %s", setting, code, errs.String())
		}
	}
}
