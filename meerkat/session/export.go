package session

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"
)

// WriteJSONL writes what a user of s saw to w, one JSON object a line: the
// prompts, replies, tool calls, results, errors and interrupts in their order.
// The same session gives the same bytes every time.
func WriteJSONL(w io.Writer, s *Session) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range Display(s) {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
		}
	}
	return nil
}

// WriteHTML writes what a user of s saw to w as one self-contained page: it
// loads no script, font or address. What a model or a tool wrote is escaped and
// stands in it as text.
func WriteHTML(w io.Writer, s *Session) error {
	err := exportPage().Execute(w, struct {
		*Session
		Events []DisplayEvent
	}{s, Display(s)})
	if err != nil {
		return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
	}
	return nil
}

//go:embed export.html
var exportHTML string

var exportPage = sync.OnceValue(func() *template.Template {
	functions := template.FuncMap{"source": imageSource, "json": indentJSON}
	return template.Must(template.New("page").Funcs(functions).Parse(exportHTML))
})

// safeImages are the image types that a page may embed. SVG is not among them,
// because it can hold scripts.
var safeImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imageSource returns an image as a data URL, "" for one that is not embedded.
func imageSource(i DisplayImage) template.URL {
	if len(i.Data) == 0 || !slices.Contains(safeImages, i.MediaType) {
		return ""
	}
	return template.URL("data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)) //nolint:gosec // bytes of a known image type
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
