package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func digestOf(t *testing.T, m Meta, ins ...Interaction) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := Create(path, m, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range ins {
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	line := string(bytes.TrimSpace(c.close))
	if !strings.HasSuffix(line, strings.TrimPrefix(c.Digest(), digestSealed)) {
		t.Errorf("digest %s is not the closing seal of %q", c.Digest(), line)
	}
	return c.Digest()
}

// One content, one digest; any other content, another.
func TestDigest(t *testing.T) {
	m := Meta{Provenance: ProvenanceSynthetic}
	a, b := Interaction{End: EndEOF}, Interaction{End: EndReset}
	a.Request.URL, b.Request.URL = "https://x/a", "https://x/a"
	of := map[string]string{
		"a": digestOf(t, m, a), "b": digestOf(t, m, b), "a b": digestOf(t, m, a, b), "b a": digestOf(t, m, b, a),
		"other head": digestOf(t, Meta{Provenance: ProvenanceLive}, a),
	}
	if again := digestOf(t, m, a); again != of["a"] || len(again) != len(digestSealed)+2*sha256.Size {
		t.Errorf("%s, then %s", of["a"], again)
	}
	seen := map[string]string{}
	for name, d := range of {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

func TestDigestOfAnotherToolsFile(t *testing.T) {
	data := []byte("---\nversion: 1\ninteractions:\n- request: {url: https://x, method: GET}\n  response: {body: hi, code: 200}\n")
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if want := digestSHA256 + hex.EncodeToString(sum[:]); c.Digest() != want {
		t.Errorf("digest %s, want %s", c.Digest(), want)
	}
}

// The list of matching rules is absent, empty or full, and stays so.
func TestMatchingRulesAreKept(t *testing.T) {
	for _, want := range [][]string{nil, {}, {"openai.user"}, {"anthropic.metadata", "openai.user"}} {
		m, _, err := parseHead("x.yaml", encodeHead(Meta{Version: 1, Provenance: ProvenanceLive, Matching: want}))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(m.Matching, " ") != strings.Join(want, " ") || (m.Matching == nil) != (want == nil) {
			t.Errorf("read %#v, wrote %#v", m.Matching, want)
		}
	}
	if bytes.Contains(encodeHead(Meta{Version: 1}), []byte("matching")) {
		t.Error("a list that is absent was written")
	}
	if why := (Meta{Version: 1, Provenance: ProvenanceLive, Matching: []string{"two words"}}).invalidReason(); why == "" {
		t.Error("a rule of two words was accepted")
	}
}
