package interchange

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// maxBody bounds what one body may grow to when it is unpacked.
const maxBody = 256 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// What can be wrong with a compressed body.
var (
	ErrTooLarge   = errors.New("unpacks to more than 256 MiB")
	ErrCompressed = errors.New("is compressed in a way this build does not read; record it decoded")
	ErrGzip       = errors.New("is damaged gzip")
)

// Plain undoes a body's compression. The bytes decide, not Content-Encoding:
// most recorders decode the body and keep the header. A body cut in mid-stream
// gives what can be read of it, as a client would have seen.
func Plain(h http.Header, body []byte) ([]byte, error) {
	encoding := strings.ToLower(h.Get("Content-Encoding"))
	switch {
	case bytes.HasPrefix(body, gzipMagic):
		return gunzip(body)
	case bytes.HasPrefix(body, zstdMagic), encoding != "" && encoding != "identity" && len(body) > 0 && !utf8.Valid(body):
		return nil, ErrCompressed
	}
	return body, nil
}

func gunzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, ErrGzip
	}
	out, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case len(out) > maxBody:
		return nil, ErrTooLarge
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ErrGzip
	}
	return out, nil
}

// Decoded returns in as a cassette keeps it (pitfall G12): bodies uncompressed,
// headers that told of the compression gone, and no timeline when its lengths
// were those of other bytes. in is not changed.
func Decoded(in cassette.Interaction) (cassette.Interaction, error) {
	request, err := Plain(in.Request.Header, in.Request.Body)
	if err != nil {
		return in, fmt.Errorf("the request body %w", err)
	}
	response, err := Plain(in.Response.Header, in.Response.Body)
	if err != nil {
		return in, fmt.Errorf("the response body %w", err)
	}
	if len(response) != len(in.Response.Body) {
		in.Timeline = nil
	}
	in.Request.Header, in.Request.Body = uncoded(in.Request.Header, request), request
	in.Response.Header, in.Response.Body = uncoded(in.Response.Header, response), response
	return in, nil
}

// uncoded leaves out the headers that are not true of a decoded body: a client
// would believe them.
func uncoded(h http.Header, body []byte) http.Header {
	h = h.Clone()
	h.Del("Content-Encoding")
	if v := h.Get("Content-Length"); body != nil && v != "" && v != strconv.Itoa(len(body)) {
		h.Del("Content-Length")
	}
	return h
}
