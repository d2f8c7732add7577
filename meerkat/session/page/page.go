// Package page shows a session as one HTML page. It is apart from package session because
// a program that links html/template keeps every exported method of all its types, which
// makes it a tenth larger.
package page

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// Write writes what a user of s saw to w as one self-contained page: it
// loads no script, font or address. What a model or a tool wrote is escaped and
// stands in it as text.
func Write(w io.Writer, s *session.Session) error {
	err := parsedPage().Execute(w, struct {
		*session.Session
		Events []session.DisplayEvent
	}{s, session.Display(s)})
	if err != nil {
		return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
	}
	return nil
}

//go:embed page.html
var pageHTML string

var parsedPage = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"source": imageSource, "json": indentJSON}
	return template.Must(template.New("page").Funcs(functions).Parse(pageHTML))
})

// safeImages are the image types that a page may embed. SVG is not among them,
// because it can hold scripts.
var safeImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imageSource returns an image as a data URL, "" for one that is not embedded.
func imageSource(i session.DisplayImage) template.URL {
	if len(i.Data) == 0 || !slices.Contains(safeImages, i.MediaType) {
		return ""
	}
	return template.URL("data:" + i.MediaType + ";base64," +
		base64.StdEncoding.EncodeToString(i.Data)) //nolint:gosec // bytes of a known image type
}

// indentJSON returns args indented, as they are where they are not valid JSON.
func indentJSON(args []byte) string {
	if !json.Valid(args) {
		return string(args)
	}
	out, err := json.MarshalIndent(json.RawMessage(args), "", "  ")
	if err != nil {
		return string(args)
	}
	return string(out)
}
