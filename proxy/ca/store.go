package ca

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/internal/fileutil"
)

// The files of a folder. The key travels with its certificate in one file, so
// that the two are never of different ages.
const (
	secretFile = "authority.pem" // certificate and key, 0600
	// CertFile is the certificate alone, for clients to trust.
	CertFile = "ca.pem"
)

// renewBefore is how long before its end an authority is replaced, so that it does not expire
// during a recording.
const renewBefore = 3 * 24 * time.Hour

// ErrNotOurs marks an authority file that Open did not write or that others may
// have read. Open never overwrites it; Rotate replaces it.
var ErrNotOurs = errors.New("not a usable authority; `recorder ca rotate` replaces it")

// Open returns the authority kept in dir, or issues one and keeps it there when
// there is none, when it is about to expire, or when its hosts are not exactly
// hosts and loopback. It creates dir with mode 0700.
func Open(dir string, hosts []string, now time.Time) (*Authority, error) {
	a, err := loadOrIssue(dir, hosts, now)
	if err != nil {
		return nil, err
	}
	why := a.replaceReason(hosts, now)
	if why == "" {
		return a, publishCertificate(dir, a)
	}
	if a, err = Rotate(dir, hosts, now); err != nil {
		return nil, err
	}
	a.replacedReason = why
	return a, nil
}

// loadOrIssue returns the authority kept in dir, or issues the first one. Of several processes
// that issue it at once, the authority of one is kept and returned to all.
func loadOrIssue(dir string, hosts []string, now time.Time) (*Authority, error) {
	a, err := Load(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	a, err = issueAuthority(dir, hosts, now, fileutil.CreateFile)
	if !errors.Is(err, fs.ErrExist) {
		return a, err
	}
	if a, err = Load(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: is a link that leads nowhere; delete it", filepath.Join(dir, secretFile))
	}
	return a, err
}

// replaceReason returns why an authority cannot be used for hosts from now on,
// or "".
func (a *Authority) replaceReason(hosts []string, now time.Time) string {
	switch {
	case now.After(a.cert.NotAfter):
		return "the old one expired on " + a.cert.NotAfter.Format(time.DateOnly)
	case now.Add(renewBefore).After(a.cert.NotAfter):
		return "the old one expires on " + a.cert.NotAfter.Format(time.DateOnly)
	case now.Before(a.cert.NotBefore):
		return "the old one is valid only from " + a.cert.NotBefore.Format(time.DateOnly) +
			"; is this machine's clock right?"
	case !a.issuedFor(hosts):
		return "the hosts it may sign for have changed"
	}
	return ""
}

// Load returns the authority kept in dir, however old it is. Without one the error is
// fs.ErrNotExist.
func Load(dir string) (*Authority, error) { return loadAuthority(filepath.Join(dir, secretFile)) }

// Rotate issues a new authority for hosts and keeps it in dir, whatever is
// there. Clients that trusted the old one must be given the new one.
func Rotate(dir string, hosts []string, now time.Time) (*Authority, error) {
	return issueAuthority(dir, hosts, now, fileutil.WriteFile)
}

// issueAuthority makes an authority and keeps it in dir by write.
func issueAuthority(dir string, hosts []string, now time.Time,
	write func(path string, data []byte, perm fs.FileMode) error) (*Authority, error) {
	a, err := New(hosts, now)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf(
			"%s: cannot keep the proxy's authority there: %w; set XDG_CONFIG_HOME to a folder that can be written", dir,
			fileutil.Reason(err))
	}
	secret, err := a.secretPEM()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, secretFile)
	if err := write(path, secret, 0o600); err != nil {
		return nil, cannotWrite(path, err)
	}
	return a, publishCertificate(dir, a)
}

// publishCertificate writes the certificate beside the key, for people to point
// clients at.
func publishCertificate(dir string, a *Authority) error {
	path := filepath.Join(dir, CertFile)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, a.PEM()) {
		return nil
	}
	if err := fileutil.WriteFile(path, a.PEM(), 0o600); err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

func cannotWrite(path string, err error) error {
	return fmt.Errorf("%s: cannot be written: %w", path, fileutil.Reason(err))
}

func (a *Authority) secretPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, fmt.Errorf("proxy authority: %w", err)
	}
	return append(a.PEM(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...), nil
}

// loadAuthority reads an authority and checks the key type, that key and
// certificate match, the constraints, and the file mode.
func loadAuthority(path string) (*Authority, error) {
	data, err := fileutil.ReadPrivate(path)
	if exposed := (*fileutil.ExposedError)(nil); errors.As(err, &exposed) { // a new mode would not make it a secret again
		return nil, fmt.Errorf("%s: %s: %w", path, exposed.Why, ErrNotOurs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w; set XDG_CONFIG_HOME to a folder of yours", path,
			fileutil.Reason(err))
	}
	a, err := parseAuthority(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, err, ErrNotOurs)
	}
	return a, nil
}

func parseAuthority(data []byte) (*Authority, error) {
	certBlock, rest := pem.Decode(data)
	if certBlock == nil {
		return nil, errors.New("no certificate")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, err
	}
	keyBlock, _ := pem.Decode(rest)
	if keyBlock == nil {
		return nil, errors.New("no key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("key and certificate do not belong together")
	}
	if !cert.IsCA || !cert.MaxPathLenZero || !cert.PermittedDNSDomainsCritical {
		return nil, errors.New("certificate is not constrained")
	}
	return &Authority{cert: cert, key: key}, nil
}
