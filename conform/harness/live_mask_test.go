package harness

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

// A secret is masked wherever the pieces of a reply are cut.
func TestMask(t *testing.T) {
	secret := ownKey
	for _, text := range []string{secret, "a" + secret + "b" + secret, base64.StdEncoding.EncodeToString([]byte("user:" + secret)), secret[:20] + "x" + secret} {
		for size := 1; size < 40; size++ {
			body := newMask([]string{secret}).maskBody(pieces(text, size), func() {})
			var got strings.Builder
			buf := make([]byte, 5)
			for {
				n, err := body.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					break
				}
			}
			if got.Len() != len(text) || strings.Contains(got.String(), secret) || strings.Contains(got.String(), base64Middle(base64.RawStdEncoding, secret, 2)) {
				t.Fatalf("%q in pieces of %d: %q", text, size, got.String())
			}
		}
	}
}

// pieces is a body that is read a few bytes at a time.
func pieces(text string, size int) io.ReadCloser {
	return io.NopCloser(piecewise{strings.NewReader(text), size})
}

type piecewise struct {
	next io.Reader
	size int
}

func (p piecewise) Read(b []byte) (int, error) { return p.next.Read(b[:min(p.size, len(b))]) }
