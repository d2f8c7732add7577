package recorderenv

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// The files of a trust folder: the authorities that clients must trust, for those that add
// to their roots and for those that replace them.
const (
	caFile     = "ca.pem"
	bundleFile = "bundle.pem"
)

// trustAge is how long a trust folder can be of use: no authority is valid longer.
const trustAge = 31 * day

// TrustFiles returns the folder with the files for authority, and writes them if needed. The
// folder is named by its content: runs share it, a program that outlives its run still finds
// it, and nothing has to be removed when a run ends or is killed.
func (a *Env) TrustFiles(authority *ca.Authority, now time.Time) (string, error) {
	dir, err := a.ConfigDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, "trust")
	removeExpired(base, now)
	bundle := authority.Bundle(ca.SystemRoots(a.Getenv("SSL_CERT_FILE")))
	sum := sha256.Sum256(bundle)
	folder := filepath.Join(base, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", cli.Usage("%s: cannot be made: %w", folder, fileutil.Reason(err))
	}
	for name, data := range map[string][]byte{caFile: authority.PEM(), bundleFile: bundle} {
		path := filepath.Join(folder, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := fileutil.WriteFile(path, data, 0o600); err != nil {
			return "", cli.Usage("%s: cannot be written: %w", path, fileutil.Reason(err))
		}
	}
	return folder, nil
}

// removeExpired removes trust folders whose authority has expired. It ignores errors: a folder
// that stays does no harm.
func removeExpired(base string, now time.Time) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > trustAge {
			_ = os.RemoveAll(filepath.Join(base, e.Name()))
		}
	}
}
