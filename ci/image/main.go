// Image writes the container image of a release without an engine: the programs, an authority
// bundle and a user on an empty base, for each platform that has binaries.
//
//	go run . VERSION BINARIES OUT
//
// BINARIES has a folder for each platform, named as Go names it (linux_amd64). OUT becomes an OCI
// layout; tar -C OUT -cf image.tar . makes a file of it that podman and docker load.
package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the programs run as; no name is needed outside of the image.
const user = "65532:65532"

// authorities is where Debian and most others keep the bundle, and Go looks for it.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: image VERSION BINARIES OUT")
	}
	if err := build(os.Args[1], os.Args[2], os.Args[3], authorities); err != nil {
		log.Fatal(err)
	}
}

func build(version, binaries, out, bundle string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		folder := filepath.Join(binaries, "linux_"+arch)
		if _, err := os.Stat(folder); err != nil {
			continue
		}
		image, err := imageOf(version, folder, arch, bundle)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	_, err := layout.Write(out, index)
	return err
}

func imageOf(version, folder, arch, bundle string) (v1.Image, error) {
	content, err := rootOf(folder, bundle)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: must(image.ConfigFile()).RootFS.DiffIDs},
		Config: v1.Config{
			User: user, WorkingDir: "/work", Env: []string{"PATH=/usr/bin", "HOME=/work"},
			Cmd: []string{"conform", "--help"},
			Labels: map[string]string{
				"org.opencontainers.image.source":   "https://github.com/meerkat-go/conformance",
				"org.opencontainers.image.version":  version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // an image in memory
	}
	return value
}

// rootOf returns the file system of the image as a tar archive, the same bytes each time.
func rootOf(folder, bundle string) ([]byte, error) {
	roots, err := os.ReadFile(bundle)
	if err != nil {
		return nil, fmt.Errorf("%w; install the package ca-certificates", err)
	}
	files := map[string][]byte{
		"etc/ssl/certs/ca-certificates.crt": roots,
		"etc/passwd":                        []byte("conform:x:65532:65532::/work:/usr/bin/conform\n"),
		"tmp/":                              nil,
		"work/":                             nil,
	}
	for _, program := range []string{"conform", "recorder", "rkat"} {
		if files["usr/bin/"+program], err = os.ReadFile(filepath.Join(folder, program)); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: time.Unix(0, 0),
			Typeflag: tar.TypeReg}
		switch {
		case filepath.Dir(name) == "usr/bin":
			h.Mode = 0o755
		case name[len(name)-1] == '/':
			h.Mode, h.Typeflag = 0o1777, tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
