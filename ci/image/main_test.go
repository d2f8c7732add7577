package main

import (
	"archive/tar"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

var built = flag.String("doors.image", "", "the layout to look at; empty for one with other programs")

func layoutToTest(t *testing.T) string {
	if *built != "" {
		return *built
	}
	programs, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"linux_amd64/conform", "linux_amd64/recorder", "linux_amd64/rkat", "ca.crt"} {
		path := filepath.Join(programs, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := build("v0", programs, out, filepath.Join(programs, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	return out
}

func images(t *testing.T, dir string) (all []v1.Image) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image)
	}
	return all
}

// An image holds the programs, the authorities, a user and two folders that the user can write to,
// and nothing else. It runs as that user.
func TestImage(t *testing.T) {
	all := images(t, layoutToTest(t))
	if len(all) == 0 {
		t.Fatal("no image")
	}
	for _, image := range all {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != user || config.Config.WorkingDir != "/work" || config.Architecture == "" {
			t.Errorf("%+v", config.Config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for archive := tar.NewReader(content); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, h.FileInfo().Mode().String()+" "+h.Name)
		}
		want := []string{"-rw-r--r-- etc/passwd", "-rw-r--r-- etc/ssl/certs/ca-certificates.crt", "dtrwxrwxrwx tmp/",
			"-rwxr-xr-x usr/bin/conform", "-rwxr-xr-x usr/bin/recorder", "-rwxr-xr-x usr/bin/rkat", "dtrwxrwxrwx work/"}
		if !slices.Equal(found, want) {
			t.Errorf("%q, want %q", found, want)
		}
	}
}

// Where an engine is, the image runs.
func TestImageRuns(t *testing.T) {
	if *built == "" || runtime.GOOS != "linux" {
		t.Skip("make doors runs the image")
	}
	if exec.CommandContext(t.Context(), "docker", "info").Run() != nil {
		t.Skip("no container engine answers; only the layout was checked")
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	run(t, "tar", "-C", *built, "-cf", file, ".")
	loaded := run(t, "docker", "load", "-i", file)
	id := strings.TrimSpace(loaded[strings.LastIndex(loaded, " ")+1:])
	if out := run(t, "docker", "run", "--rm", id, "conform", "version"); !strings.HasPrefix(out, "conform ") {
		t.Error(out)
	}
	run(t, "docker", "rmi", id)
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}
