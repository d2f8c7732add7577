package record

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxDecoded bounds what a compressed body may grow to.
const maxDecoded = 256 << 20

// readable undoes a body's compression and takes the header that tells of it
// away, so that the body can be redacted, matched and judged (pitfall G12). A
// compression we cannot undo is an error: such a body could hide a secret.
func readable(h http.Header, body []byte) (decoded bool, plain []byte, err error) {
	encoding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" || len(body) == 0 {
		return false, body, nil
	}
	var r io.Reader
	switch encoding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return false, body, fmt.Errorf("content-encoding %s cannot be searched for secrets", encoding)
	}
	if err == nil {
		plain, err = io.ReadAll(io.LimitReader(r, maxDecoded+1))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(plain) > 0 {
		err = nil // cut in transfer; what came is readable
	}
	if err != nil || len(plain) > maxDecoded {
		return false, body, fmt.Errorf("content-encoding %s: the body is damaged or too large", encoding)
	}
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	return true, plain, nil
}

// Readable is what the recorder does to a compressed request body, for the
// player. A body it cannot read is returned as it is.
func Readable(h http.Header, body []byte) []byte {
	_, plain, err := readable(h, body)
	if err != nil {
		return body
	}
	return plain
}
