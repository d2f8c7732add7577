package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// core is a random-looking word that only name has.
func core(name string, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var out []byte
	for i := 0; len(out) < n; i++ {
		for _, b := range sha256.Sum256(fmt.Appendf(nil, "canary %s %d", name, i)) {
			out = append(out, letters[int(b)%len(letters)])
		}
	}
	return string(out[:n])
}

// canaries knows eight bytes of every canary, from anywhere in it and in every
// way in which such bytes are written: a piece is as bad as the whole.
type canaries map[[8]byte]string

func (c canaries) add(name, secret string, cores ...string) {
	texts := cores
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			texts = append(texts, text[4:len(text)-4])
		}
	}
	for _, text := range cores {
		texts = append(texts, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))))
	}
	for _, text := range texts {
		for at := 0; at+8 <= len(text); at++ {
			c[[8]byte([]byte(text[at:]))] = name
		}
	}
}

// in returns the first canary in a text, or "".
func (c canaries) in(text []byte) string {
	for at := 0; at+8 <= len(text); at++ {
		if name, ok := c[[8]byte(text[at:at+8])]; ok {
			return name
		}
	}
	return ""
}

// lookAt fails the test when a canary is in a text.
func (c canaries) lookAt(t *testing.T, where string, text []byte) {
	t.Helper()
	if name := c.in(text); name != "" {
		t.Errorf("%s: holds the secret planted as %q", where, name)
	}
}

// lookThrough searches every file below root, its name included, and the files
// of this process there that have no name any more; and that nobody else may
// read them.
func (c canaries) lookThrough(t *testing.T, when, root string) (files, unlinked int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // removed meanwhile
		}
		data, err := os.ReadFile(path)
		info, ierr := d.Info()
		if err != nil || ierr != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		files++
		rel, _ := filepath.Rel(root, path)
		c.lookAt(t, when+": "+rel, append(data, rel...))
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s: %s has mode %o, not 600", when, rel, mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		target, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(target, root) || !strings.HasSuffix(target, " (deleted)") {
			continue
		}
		if data, err := os.ReadFile(fd); err == nil {
			unlinked++
			c.lookAt(t, when+": the unlinked "+filepath.Base(target), data)
		}
	}
	return files, unlinked
}

// The search finds what it is to find.
func TestCanarySearch(t *testing.T) {
	c := canaries{}
	secret := core("self", 28)
	c.add("self", secret, secret)
	for how, text := range map[string]string{
		"plain": "x" + secret + "y", "a piece": secret[7:16],
		"base64": base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		"hex":    hex.EncodeToString([]byte(secret)),
	} {
		if c.in([]byte(text)) == "" {
			t.Errorf("%s is not found", how)
		}
	}
	if c.in(bytes.Repeat([]byte("some words without any secret"), 9)) != "" {
		t.Error("words are found")
	}
}
