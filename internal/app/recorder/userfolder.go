package recorder

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// ConfigDir returns the user's folder for what outlives a recording: the authority
// and the key of the pseudonyms.
func (a *app) ConfigDir() (string, error) {
	if dir := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "meerkat"), nil
	}
	if home := a.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "meerkat"), nil
	}
	return "", cli.Usage("HOME: not set, so there is no place for the proxy's authority; set it or XDG_CONFIG_HOME")
}

// Authority opens the user's authority for the provider hosts and allowed.
func (a *app) Authority(allowed []string) (*ca.Authority, error) {
	return a.AuthorityBy(ca.Open, allowed)
}

// AuthorityBy is Authority with another function to open it, such as [ca.Rotate]. It says when
// the authority replaces an older one.
func (a *app) AuthorityBy(open func(string, []string, time.Time) (*ca.Authority, error),
	allowed []string) (*ca.Authority, error) {
	dir, err := a.ConfigDir()
	if err != nil {
		return nil, err
	}
	if err := checkHosts(allowed); err != nil {
		return nil, err
	}
	hosts, err := proxy.Hosts(allowed)
	if err != nil {
		return nil, cli.Usage("--allow-host: %w", err)
	}
	authority, err := open(dir, hosts, time.Now())
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if why := authority.Replaced(); why != "" {
		a.Say("the proxy has a new authority: %s; clients that were told to trust the old one need what `recorder ca export` prints", why)
	}
	return authority, nil
}

// checkHosts refuses domains in which anybody may have a name: an authority signs for a host and for all
// below it. Names of a company's own network are on no list.
func checkHosts(allowed []string) error {
	for _, name := range allowed {
		host := strings.ToLower(strings.TrimSuffix(strings.Split(name, ":")[0], "."))
		if suffix, isListed := publicsuffix.PublicSuffix(host); net.ParseIP(host) == nil && host == suffix &&
			(isListed || strings.Contains(host, ".")) {
			return cli.Usage("--allow-host: host %q: it is a domain under which anybody may have a name, and the authority "+
				"would sign for all of them; name the host itself", name)
		}
	}
	return nil
}

// pseudonymFile holds the user's key, by which secrets become pseudonyms. It is in no cassette.
const pseudonymFile = "pseudonym.key"

// pseudonymKey reads the key, and makes it at its first use. When two programs make it at once,
// both use the one that was written first.
func (a *app) pseudonymKey() ([]byte, error) {
	dir, err := a.ConfigDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, pseudonymFile)
	text, err := fileutil.ReadPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createKey(dir, path); err != nil {
			return nil, cli.Usage("%s: cannot be written: %w", path, fileutil.Reason(err))
		}
		text, err = fileutil.ReadPrivate(path)
	}
	if exposed := (*fileutil.ExposedError)(nil); errors.As(err, &exposed) {
		return nil,
			cli.Usage("%s: %s, and the key tells what a pseudonym may stand for; delete it to have a new one made",
				path, exposed.Why)
	}
	if err != nil {
		return nil, cli.Unreadable(path, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) < 32 {
		return nil, cli.Usage("%s: not a key of 64 hexadecimal digits; delete it to have a new one made", path)
	}
	return key, nil
}

func createKey(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	if err := fileutil.CreateFile(path, []byte(hex.EncodeToString(key)+"\n"), 0o600); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

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
func (a *app) TrustFiles(authority *ca.Authority, now time.Time) (string, error) {
	dir, err := a.ConfigDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, "trust")
	// Remove trust folders whose authority has expired. A folder that cannot be removed does no harm.
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > trustAge {
			_ = os.RemoveAll(filepath.Join(base, e.Name()))
		}
	}
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

// Here returns where this program runs, and a program that it starts.
func (a *app) Here() replay.Place {
	place := replay.Place{replay.ScrubHome: a.Getenv("HOME"),
		replay.ScrubUser: cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME"))}
	place[replay.ScrubFolder], _ = os.Getwd()
	place[replay.ScrubHost], _ = os.Hostname()
	return place
}
