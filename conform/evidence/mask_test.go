package evidence

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

// A secret is masked wherever the pieces of a reply are cut.
func TestMask(t *testing.T) {
	secret := "sk-ant-api03-9Hq2Zr7Tn4Wm8Kd5Xc1Vb6"
	for _, text := range []string{secret, "a" + secret + "b" + secret,
		base64.StdEncoding.EncodeToString([]byte("user:" + secret)), secret[:20] + "x" + secret} {
		for size := 1; size < 40; size++ {
			body := NewMask([]string{secret}).Body(pieces(text, size), func() {})
			var got strings.Builder
			buf := make([]byte, 5)
			for {
				n, err := body.Read(buf)
				got.Write(buf[:n])
				if err != nil {
					break
				}
			}
			if got.Len() != len(text) || strings.Contains(got.String(), secret) ||
				strings.Contains(got.String(), base64Middle(base64.RawStdEncoding, secret, 2)) {
				t.Fatalf("%q in pieces of %d: %q", text, size, got.String())
			}
		}
	}
}

// What a provider says when it refuses is quoted in reports, so the client's key that it repeats is taken
// out of a recording of another tool. The request keeps its own.
func TestRefusalHoldsNoSecret(t *testing.T) {
	const key = "kq7Zk2mVx9Lr4Tn8Bw3Hd6Ys1ab45"
	for header, value := range map[string]string{"x-api-key": key, "authorization": "Bearer " + key, "api-key": key,
		"x-goog-api-key": key, "cookie": "a=b; sid=" + key} {
		rec, err := readText("refused.har",
			`{"log":{"version":"1.2","entries":[{"request":{"method":"POST","url":"https://api.anthropic.com/v1/messages",
			"headers":[{"name":"`+header+`","value":"`+value+`"}],"postData":{"mimeType":"application/json","text":"{\"model\":\"claude-sonnet-4-5\",\"messages\":[]}"}},
			"response":{"status":401,"headers":[],"content":{"mimeType":"application/json","text":"{\"error\":{\"message\":\"Incorrect API key provided: `+key+`.\"}}"}}}]}}`)
		if err != nil || len(rec.Evidence.Exchanges) != 1 {
			t.Fatal(err, rec.Skipped)
		}
		x := rec.Evidence.Exchanges[0]
		if said := string(x.Response.Body); !strings.Contains(said, "Incorrect API key provided: ") ||
			strings.Contains(said, key) {
			t.Errorf("behind %s: %s", header, said)
		}
		if x.Request.Header.Get(header) != value {
			t.Errorf("the request has lost its %s", header)
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
