package record

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// decompressBody undoes a body's compression and removes the headers that
// describe it, so that the body can be redacted, matched and judged (pitfall
// G12). It returns the codings it undid and a body of at most limit bytes. An
// unknown coding is an error, because such a body could hide a secret.
func decompressBody(h http.Header, body []byte, limit int64) (undone string, plain []byte, err error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	if encoding == "" || encoding == "identity" || len(body) == 0 {
		return "", body, nil
	}
	codings := strings.Split(encoding, ",")
	slices.Reverse(codings) // the last was applied last
	plain = body
	for _, coding := range codings {
		if plain, err = decompressCoding(strings.TrimSpace(coding), plain, limit); err != nil {
			return "", body, err
		}
	}
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	return encoding, plain, nil
}

// cloneCoded returns h, or a copy where decompressBody would change h.
func cloneCoded(h http.Header) http.Header {
	if len(h["Content-Encoding"]) == 0 {
		return h
	}
	return h.Clone()
}

// decompressCoding undoes one coding of a body.
func decompressCoding(coding string, body []byte, limit int64) ([]byte, error) {
	plain, err := cassette.Decompress(coding, body, limit)
	switch {
	case errors.Is(err, cassette.ErrUnknownCoding):
		return nil, fmt.Errorf("content-encoding %s cannot be searched for secrets", coding)
	case errors.Is(err, cassette.ErrBodyTooLarge):
		return nil, fmt.Errorf("content-encoding %s: %w", coding, tooLong(limit+1, limit))
	case err != nil:
		return nil, fmt.Errorf("content-encoding %s: the body is damaged", coding)
	}
	return plain, nil
}

// DecompressRequest undoes the compression of a request body as the recorder
// does, so that a replayer can compare it, and removes the headers that describe it from h.
// A body that cannot be decompressed is returned as it is, and h stays.
func DecompressRequest(h http.Header, body []byte) []byte {
	_, plain, err := decompressBody(h, body, DefaultMaxBody)
	if err != nil {
		return body
	}
	return plain
}
