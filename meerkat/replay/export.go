package replay

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/meerkat-go/conformance/meerkat/session"
)

// WriteJSONL writes the events of s, one JSON object a line.
func WriteJSONL(w io.Writer, s *session.Session) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range Events(s) {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
		}
	}
	return nil
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"source": source, "json": pretty}).Parse(pageText))

// WriteHTML writes s as one page that needs nothing else: no script, no font,
// no address is loaded. Whatever a model or tool wrote stands in it as text.
func WriteHTML(w io.Writer, s *session.Session) error {
	err := page.Execute(w, struct {
		*session.Session
		Events []Event
	}{s, Events(s)})
	if err != nil {
		return fmt.Errorf("session %s: it cannot be exported: %w", s.ID, err)
	}
	return nil
}

// shown are the kinds of images that a page may hold; a picture that could
// hold a script, such as SVG, is none of them.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// source is the address of an image, its bytes; "" for what is not shown.
func source(i Image) template.URL {
	if len(i.Data) == 0 || !slices.Contains(shown, i.MediaType) {
		return ""
	}
	return template.URL("data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)) //nolint:gosec // bytes of a known image type
}

func pretty(args []byte) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	out, err := json.MarshalIndent(json.RawMessage(args), "", "  ")
	if err != nil {
		return string(args)
	}
	return string(out)
}
