package report

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a report, or anything else of this package, as indented JSON
// that ends with a newline.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
