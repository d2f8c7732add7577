package evidence

import (
	"bytes"
	"path"
	"unicode/utf8"
)

var utf8BOM = []byte("\xef\xbb\xbf")

// readFile picks the reader by what the bytes look like, never by the name:
// recordings are renamed, and a HAR is often called .json.
func (f Found) readFile(data []byte) (Recording, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, utf8BOM), " \t\r\n")
	switch {
	case len(text) == 0:
		return Recording{}, broken(f.Path, "is empty")
	case path.Ext(f.name) == ".partial" || isCassette(text):
		return readCassette(f.Path, FormatCassette, data)
	case text[0] == '{':
		return readHAR(f.Path, text)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return Recording{}, notRecording(f.Path, "is not text")
	}
	return readVCR(f.Path, data)
}

// isCassette recognises our own files by the meta mapping they begin with.
func isCassette(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(text, []byte("---\n")), []byte("meta:"))
}
