package evidence

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxBody bounds what one compressed body may grow to.
const maxBody = 256 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

	errTooLarge   = errors.New("unpacks to more than 256 MiB")
	errCompressed = errors.New("is compressed in a way conform does not read; record it decoded")
	errGzip       = errors.New("is damaged gzip")
)

// decodeBody undoes compression. The bytes decide, not Content-Encoding: most
// recorders decode the body and keep the header. A body cut in mid-stream gives
// what can be read of it, as a client would have seen.
func decodeBody(h http.Header, body []byte) ([]byte, error) {
	encoding := strings.ToLower(h.Get("Content-Encoding"))
	switch {
	case bytes.HasPrefix(body, gzipMagic):
		return gunzip(body)
	case bytes.HasPrefix(body, zstdMagic), encoding != "" && encoding != "identity" && len(body) > 0 && !utf8.Valid(body):
		return nil, errCompressed
	}
	return body, nil
}

func gunzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, errGzip
	}
	out, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case len(out) > maxBody:
		return nil, errTooLarge
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errGzip
	}
	return out, nil
}
