package interchange

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// maxBody bounds what one body may grow to when it is decompressed, in bytes.
const maxBody = 256 << 20

// What can be wrong with a compressed body.
var (
	errTooLarge   = errors.New("unpacks to more than 256 MiB")
	errCompressed = errors.New("is compressed in a way this build does not read; record it decoded")
	errDamaged    = errors.New("is damaged where it is compressed")
)

// DecompressBody undoes a body's compression. The bytes decide before Content-Encoding
// does: most recorders decode the body and keep the header. A body that was cut
// in transfer yields what can be read of it, as a client would have seen.
func DecompressBody(h http.Header, body []byte) ([]byte, error) {
	coding := codingOf(strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))), body)
	if coding == "" {
		return body, nil
	}
	plain, err := cassette.Decompress(coding, body, maxBody)
	switch {
	case errors.Is(err, cassette.ErrUnknownCoding):
		return body, errCompressed
	case errors.Is(err, cassette.ErrBodyTooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, errDamaged
	}
	return plain, nil
}

// codingOf returns the content coding that a body still has, "" for a body that
// is readable as it is. header is the lower-case value of Content-Encoding.
func codingOf(header string, body []byte) string {
	switch {
	case bytes.HasPrefix(body, gzipMagic):
		return "gzip"
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	case header == "identity" || utf8.Valid(body):
		return ""
	}
	return header
}

// Decoded returns in as a cassette keeps it (pitfall G12): bodies decompressed,
// the compression named in Encoding and removed from the headers, and no
// timeline when its lengths were those of other bytes. It does not change in.
func Decoded(in cassette.Interaction) (cassette.Interaction, error) {
	if in.Request.Encoding != "" || in.Response.Encoding != "" {
		return in, nil // a recorder of ours has done it
	}
	request, err := DecompressBody(in.Request.Header, in.Request.Body)
	if err != nil {
		return in, fmt.Errorf("the request body %w", err)
	}
	response, err := DecompressBody(in.Response.Header, in.Response.Body)
	if err != nil {
		return in, fmt.Errorf("the response body %w", err)
	}
	if len(response) != len(in.Response.Body) {
		in.Timeline, in.Drained = nil, 0
	}
	in.Request.Encoding, in.Response.Encoding = wireCoding(in.Request.Header), wireCoding(in.Response.Header)
	in.Request.Header, in.Request.Body = decodedHeader(in.Request.Header, request), request
	in.Response.Header, in.Response.Body = decodedHeader(in.Response.Header, response), response
	return in, nil
}

// wireCoding returns the coding that the body had on the wire, whether it is
// undone here or was by the tool.
func wireCoding(h http.Header) string {
	v := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	if v == "identity" {
		return ""
	}
	return v
}

// decodedHeader removes the headers that are not true of a decoded body, because
// a client would trust them.
func decodedHeader(h http.Header, body []byte) http.Header {
	h = h.Clone()
	h.Del("Content-Encoding")
	if v := h.Get("Content-Length"); body != nil && v != "" && v != strconv.Itoa(len(body)) {
		h.Del("Content-Length")
	}
	return h
}
