package redact

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

//go:embed testdata/planted.txt
var plantedList string

// planted is a secret where a vendor's documentation places one.
type planted struct {
	line, place, text string
	secret            string // as it is sent
	core              string // the part of it that nothing else has
}

// readPlanted makes a secret of its own for each line.
func readPlanted(t *testing.T) (list []planted) {
	t.Helper()
	for line := range strings.Lines(plantedList) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 {
			t.Fatalf("%s: not VENDOR | PLACE | TEXT", line)
		}
		p := planted{line: line, place: parts[1], text: parts[2]}
		p.secret, p.core = makeSecret(shapeOf.FindString(p.text), line)
		p.text = shapeOf.ReplaceAllLiteralString(p.text, p.spelled())
		list = append(list, p)
	}
	return list
}

var shapeOf = regexp.MustCompile(`\{(hex|key|b64|jwt|uuid|word|basic|pem)\}`)

func makeSecret(shape, seed string) (secret, core string) {
	sum := sha256.Sum256([]byte("planted " + seed))
	letters := strings.NewReplacer("+", "p", "/", "s", "=", "").Replace(base64.StdEncoding.EncodeToString(sum[:]))
	switch shape {
	case "{hex}":
		core = hex.EncodeToString(sum[:20])
		return core, core
	case "{b64}":
		return letters[:30] + "+/" + letters[30:38] + "==", letters[:30]
	case "{jwt}":
		return "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ" + letters[:24] + "." + letters[10:42], letters[:24]
	case "{uuid}":
		h := hex.EncodeToString(sum[:16])
		core = h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
		return core, core
	case "{word}":
		core = "Tr0ub4dor&" + letters[:6]
		return core, core
	case "{basic}":
		core = base64.StdEncoding.EncodeToString([]byte("user:" + letters[:32]))
		return core, core
	case "{pem}":
		return "-----BEGIN PRIVATE KEY-----\\n" + letters + "\\n-----END PRIVATE KEY-----\\n", letters
	}
	return "ak_" + letters[:36], letters[:36]
}

// spelled is the secret as its place writes it.
func (p planted) spelled() string {
	if p.place == "query" || p.place == "form" || strings.Contains(p.line, "://svc") ||
		strings.Contains(p.line, "api/mcp?") {
		return url.QueryEscape(p.secret)
	}
	return p.secret
}

const echoed = `{"error":{"message":"Incorrect key provided: %s. No access to claude-sonnet-4-5-20250929.","type":"authentication_error"}}`

// exchange puts the secret where it belongs; what is sent comes back in an error.
func (p planted) exchange(t *testing.T) cassette.Interaction {
	t.Helper()
	in := simple()
	in.Request.Header = http.Header{"Content-Type": {"application/json"}}
	in.Response.Header = http.Header{"Content-Type": {"application/json"}}
	in.Request.Body = []byte(`{"model":"claude-sonnet-4-5-20250929","messages":[{"role":"user","content":"The token_type is bearer."}]}`)
	in.Response.Body = fmt.Appendf(nil, echoed, p.secret)
	switch p.place {
	case "header":
		name, value, _ := strings.Cut(p.text, ": ")
		in.Request.Header.Set(name, value)
	case "query":
		in.Request.URL += "?" + p.text
	case "userinfo":
		in.Request.URL = "https://" + p.text + "@api.example.com/x"
	case "form":
		in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		in.Request.Body = []byte(p.text)
	case "part":
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("purpose", "batch")
		_ = w.WriteField(p.text, p.secret)
		_ = w.Close()
		in.Request.Header.Set("Content-Type", w.FormDataContentType())
		in.Request.Body = b.Bytes()
	case "json":
		in.Request.Body = []byte(p.text)
	case "reply":
		path, body, _ := strings.Cut(p.text, " | ")
		in.Request.URL = "https://api.example.com" + path
		in.Response.Body = []byte(body)
	case "path":
		in.Request.URL = "https://api.example.com" + p.text
		in.Response.Body = []byte(`{}`)
	case "stream":
		in.Response.Header.Set("Content-Type", "text/event-stream")
		in.Response.Body = []byte("event: x\ndata: " + strings.ReplaceAll(p.text, `\n`, "\n") +
			"\n\nevent: done\ndata: {}\n\n")
	case "answer":
		name, value, _ := strings.Cut(p.text, ": ")
		in.Response.Header.Set(name, value)
	default:
		t.Fatalf("%s: no such place", p.line)
	}
	return in
}

// No secret that stands where a vendor puts one reaches the disk, and nothing of the
// bodies changes but the secrets.
func TestPlantedSecrets(t *testing.T) {
	list := readPlanted(t)
	if len(list) < 200 {
		t.Fatalf("%d secrets", len(list))
	}
	leaked, damaged := 0, 0
	for _, p := range list {
		in := p.exchange(t)
		out := New([]byte("k")).Interaction(in)
		if p.leaksInto(text(out)) {
			leaked++
			t.Errorf("%s\nleaks into\n%s", p.line, text(out))
		}
		for _, bodies := range [][2][]byte{{in.Request.Body, out.Request.Body}, {in.Response.Body, out.Response.Body}} {
			if where := p.damage(bodies[0], bodies[1]); where != "" {
				damaged++
				t.Errorf("%s\ndamages a body: %s", p.line, where)
			}
		}
		if d := cmp.Diff(out, New([]byte("k")).Overwrite(in)); d != "" {
			t.Errorf("%s: Overwrite differs:\n%s", p.line, d)
		}
	}
	t.Logf("%d secrets planted, %d leaked, %d bodies damaged", len(list), leaked, damaged)
}

// leaksInto reports whether ten bytes of the secret are in a text.
func (p planted) leaksInto(text string) bool {
	for at := 0; at+10 <= len(p.core); at++ {
		if strings.Contains(text, p.core[at:at+10]) {
			return true
		}
	}
	return false
}

// damage says what changed that is not the secret; with a secret in a URL its user may.
func (p planted) damage(was, is []byte) string {
	if len(was) != len(is) {
		return "its length changed"
	}
	allowed := make([]bool, len(was))
	for _, form := range []string{p.secret, url.QueryEscape(p.secret)} {
		for at := 0; ; at++ {
			n := bytes.Index(was[at:], []byte(form))
			if n < 0 {
				break
			}
			at += n
			from := at
			if scheme := bytes.LastIndex(was[:at], []byte("://")); scheme >= 0 &&
				!bytes.ContainsAny(was[scheme+3:at], "/ ") {
				from = scheme + 3
			}
			for i := from; i < at+len(form); i++ {
				allowed[i] = true
			}
		}
	}
	for i := range was {
		if was[i] != is[i] && !allowed[i] {
			return fmt.Sprintf("%.60s became %.60s", was[i:], is[i:])
		}
	}
	return ""
}
