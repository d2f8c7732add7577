package inspector

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed web
var web embed.FS

// The parts of the page in the order in which they are put together. The scripts share
// one scope.
var (
	styleFiles  = []string{"theme.css", "layout.css", "views.css"}
	scriptFiles = []string{
		"data.js", "dom.js", "route.js", "list.js", "filter.js", "overview.js", "matrix.js", "lists.js", "case.js",
		"exchange.js", "octets.js", "trip.js", "finding.js", "keys.js", "live.js", "main.js",
	}
)

// Write writes p as one HTML file that loads nothing.
func Write(w io.Writer, p Page) error { return writeHTML(w, p, "'none'") }

// writeHTML writes the page. connect is what its script may connect to, as a source of
// a content security policy.
func writeHTML(w io.Writer, p Page, connect string) error {
	data, err := packDocument(p)
	if err != nil {
		return err
	}
	style, script := joinFiles(styleFiles), joinFiles(scriptFiles)
	policy := strings.Join([]string{
		"default-src 'none'", "style-src " + sourceHash(style), "script-src " + sourceHash(script),
		"connect-src " + connect, "base-uri 'none'", "form-action 'none'",
	}, "; ")
	_, err = strings.NewReplacer(
		"{{policy}}", policy, "{{title}}", html.EscapeString(p.windowTitle()),
		"{{style}}", style, "{{script}}", script, "{{data}}", data,
	).WriteString(w, joinFiles([]string{"index.html"}))
	return err
}

// windowTitle is what the window of a browser is called.
func (p Page) windowTitle() string {
	name := strings.TrimSpace(p.Subject.Name + " " + p.Subject.Version)
	if name == "" {
		name = "recorded traffic"
	}
	verdict := "running"
	if p.Summary != nil {
		verdict = string(p.Summary.Verdict)
	}
	return strings.Map(printableRune, fmt.Sprintf("%s: %s", name, verdict))
}

// printableRune drops what a window does not show.
func printableRune(r rune) rune {
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return -1
	}
	return r
}

// WriteJSON writes the document that the page shows, schema conform.inspector.v1.
func WriteJSON(w io.Writer, p Page) error {
	data, err := encodeDocument(p)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// packDocument encodes p as a page holds it: JSON in gzip in base64, because names and
// verdicts repeat so much that a tenth of the bytes is left.
func packDocument(p Page) (string, error) {
	data, err := encodeDocument(p)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(compressData(data)), nil
}

// encodeDocument encodes v so that it may stand in a script element: no "<", ">", "&",
// U+2028 or U+2029 is left as it is. Bytes that are not UTF-8 become U+FFFD; bodies are
// not text and keep theirs.
func encodeDocument(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(true)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func joinFiles(names []string) string {
	var all strings.Builder
	for _, name := range names {
		text, err := web.ReadFile("web/" + name)
		if err != nil {
			panic(err) // the files are embedded
		}
		all.Write(text)
	}
	return all.String()
}

// sourceHash allows exactly one style or script.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
