package ca

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, dir string, now time.Time, hosts ...string) *Authority {
	t.Helper()
	a, err := Open(dir, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOpenKeepsAndReissues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "ca")
	first := open(t, dir, issued, "api.anthropic.com")
	same := func(a *Authority) bool { return bytes.Equal(a.cert.Raw, first.cert.Raw) }

	if !same(open(t, dir, issued.Add(time.Hour), "api.anthropic.com")) {
		t.Error("reissued although nothing changed")
	}
	if same(open(t, dir, issued, "api.anthropic.com", "example.com")) {
		t.Error("kept although a host was added")
	}
	first = open(t, dir, issued, "api.anthropic.com")
	if same(open(t, dir, issued.Add(28*24*time.Hour), "api.anthropic.com")) {
		t.Error("kept although it is about to expire")
	}
}

// Whoever gets a new authority in the old one's place is told why.
func TestReplacementIsExplained(t *testing.T) {
	const day = 24 * time.Hour
	for want, c := range map[string]struct {
		at    time.Duration
		hosts []string
	}{
		"":                               {time.Hour, nil},
		"the old one expires on 2026-12": {28 * day, nil},
		"the old one expired on 2026-12": {31 * day, nil},
		"is this machine's clock right?": {-2 * day, nil},
		"the hosts it may sign for have": {time.Hour, []string{"example.com"}},
	} {
		dir := t.TempDir()
		if got := open(t, dir, issued).Replaced(); got != "" {
			t.Errorf("the first one replaces one: %s", got)
		}
		got := open(t, dir, issued.Add(c.at), c.hosts...)
		if !strings.Contains(got.Replaced(), want) || (want == "") != (got.Replaced() == "") {
			t.Errorf("%q, want %q", got.Replaced(), want)
		}
		if now := issued.Add(c.at); now.Before(got.cert.NotBefore) || now.Add(27*day).After(got.cert.NotAfter) {
			t.Errorf("valid from %v to %v, used at %v", got.cert.NotBefore, got.cert.NotAfter, now)
		}
	}
}

// Two programs that start at once end with one authority between them.
func TestSimultaneousFirstPrograms(t *testing.T) {
	if dir := os.Getenv("CA_TEST_DIR"); dir != "" {
		a, err := Open(dir, []string{"api.anthropic.com"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("serial=%x\n", a.cert.SerialNumber)
		return
	}
	dir := filepath.Join(t.TempDir(), "ca")
	var started []*exec.Cmd
	outs := make([]bytes.Buffer, 4)
	for i := range outs {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSimultaneousFirstPrograms$")
		cmd.Env = append(os.Environ(), "CA_TEST_DIR="+dir)
		cmd.Stdout = &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, cmd)
	}
	kept := map[string]bool{}
	for i, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, &outs[i])
		}
		_, serial, _ := strings.Cut(outs[i].String(), "serial=")
		serial, _, _ = strings.Cut(serial, "\n")
		kept[serial] = true
	}
	if a, err := Load(dir); err != nil || len(kept) != 1 || !kept[fmt.Sprintf("%x", a.cert.SerialNumber)] {
		t.Errorf("%d authorities for one folder, %v", len(kept), err)
	}
}

func TestOpenedAuthoritySigns(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, issued, "api.anthropic.com")
	leaf, err := open(t, dir, issued, "api.anthropic.com").Leaf("api.anthropic.com")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if data, err := os.ReadFile(filepath.Join(dir, CertFile)); err != nil || !pool.AppendCertsFromPEM(data) {
		t.Fatalf("%s holds no certificate: %v", CertFile, err)
	}
	if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "api.anthropic.com", CurrentTime: issued}); err != nil {
		t.Error(err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	open(t, dir, issued, "api.anthropic.com")
	for name, want := range map[string]os.FileMode{"": 0o700, secretFile: 0o600, CertFile: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, CertFile))
	if err != nil || bytes.Contains(public, []byte("PRIVATE")) {
		t.Errorf("%s shows the key (%v)", CertFile, err)
	}
}

func TestOpenLeavesForeignFilesAlone(t *testing.T) {
	foreign := newAuthority(t, "api.anthropic.com")
	secret, err := foreign.secretPEM()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newAuthority(t, "api.anthropic.com").secretPEM()
	if err != nil {
		t.Fatal(err)
	}
	mixed := append(foreign.PEM(), other[len(foreign.PEM()):]...)
	for name, c := range map[string]struct {
		data []byte
		mode os.FileMode
	}{
		"garbage":          {[]byte("not a certificate"), 0o600},
		"certificate only": {foreign.PEM(), 0o600},
		"another's key":    {mixed, 0o600},
		"readable by all":  {secret, 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, secretFile)
			if err := os.WriteFile(path, c.data, c.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, []string{"api.anthropic.com"}, issued); !errors.Is(err, ErrNotOurs) {
				t.Errorf("error %v, want ErrNotOurs", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, c.data) {
				t.Error("the file was changed")
			}
			if _, err := Rotate(dir, []string{"api.anthropic.com"}, issued); err != nil {
				t.Errorf("rotate: %v", err)
			}
			open(t, dir, issued, "api.anthropic.com")
		})
	}
}

func TestOpenInUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "ca"), nil, issued); err == nil {
		t.Error("an authority was kept below a file")
	}
}

func TestSimultaneousFirstOpensAgree(t *testing.T) {
	dir := t.TempDir()
	const processes = 8
	got := make([]*Authority, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() { got[i], _ = Open(dir, []string{"api.anthropic.com"}, issued) })
	}
	wg.Wait()
	for i := range got {
		if got[i] == nil || !bytes.Equal(got[i].cert.Raw, got[0].cert.Raw) {
			t.Fatalf("process %d uses another authority", i)
		}
	}
}

func TestBundleAddsToTheRoots(t *testing.T) {
	a := newAuthority(t, "api.anthropic.com")
	other := newAuthority(t, "api.openai.com")
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, other.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	want := x509.NewCertPool()
	want.AddCert(a.cert)
	want.AddCert(other.cert)
	got := x509.NewCertPool()
	got.AppendCertsFromPEM(a.Bundle(SystemRoots(file)))
	if !got.Equal(want) {
		t.Error("bundle is not the roots and the authority")
	}
	alone := x509.NewCertPool()
	alone.AppendCertsFromPEM(a.Bundle(nil))
	if !alone.Equal(a.Pool()) {
		t.Error("bundle without roots is not the authority")
	}
}

func FuzzParse(f *testing.F) {
	a, err := New([]string{"api.anthropic.com"}, issued)
	if err != nil {
		f.Fatal(err)
	}
	secret, err := a.secretPEM()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(secret)
	f.Add(a.PEM())
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := parseAuthority(data); err == nil && (a.key == nil || !a.cert.PermittedDNSDomainsCritical) {
			t.Fatal("accepted an unconstrained authority")
		}
	})
}

// A link that leads nowhere is neither an authority nor a place for one.
func TestOpenRefusesALinkThatLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, secretFile)
	if err := os.Symlink(filepath.Join(dir, "gone"), path); err != nil {
		t.Skip("no links here: ", err)
	}
	_, err := Open(dir, []string{"api.anthropic.com"}, issued)
	if want := path + ": is a link that leads nowhere; delete it"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
