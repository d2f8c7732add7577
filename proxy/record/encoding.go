package record

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// readable undoes a body's compression and takes the header that tells of it
// away, so that the body can be redacted, matched and judged (pitfall G12). It
// returns what it undid, and at most so many bytes. A compression we cannot undo
// is an error: such a body could hide a secret.
func readable(h http.Header, body []byte, most int64) (undone string, plain []byte, err error) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	if encoding == "" || encoding == "identity" || len(body) == 0 {
		return "", body, nil
	}
	codings := strings.Split(encoding, ",")
	slices.Reverse(codings) // the last was applied last
	plain = body
	for _, coding := range codings {
		if plain, err = undo(strings.TrimSpace(coding), plain, most); err != nil {
			return "", body, err
		}
	}
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	return encoding, plain, nil
}

// undo takes one coding off. A body that was cut in transfer gives what can be
// read of it.
func undo(coding string, body []byte, most int64) (plain []byte, err error) {
	open, known := decoders[coding]
	if !known {
		return nil, fmt.Errorf("content-encoding %s cannot be searched for secrets", coding)
	}
	r, err := open(body)
	if err == nil {
		plain, err = io.ReadAll(io.LimitReader(r, most+1))
		_ = r.Close() // all was read that will be
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && len(plain) > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("content-encoding %s: the body is damaged", coding)
	}
	if int64(len(plain)) > most {
		return nil, fmt.Errorf("content-encoding %s: %w", coding, tooLong(int64(len(plain)), most))
	}
	return plain, nil
}

var decoders = map[string]func([]byte) (io.ReadCloser, error){
	"identity": func(b []byte) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil },
	"gzip":     gunzip,
	"x-gzip":   gunzip,
	"deflate":  inflate,
	"br": func(b []byte) (io.ReadCloser, error) {
		return io.NopCloser(brotli.NewReader(bytes.NewReader(b))), nil
	},
	"zstd": func(b []byte) (io.ReadCloser, error) {
		d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)) // RFC 9659
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

func gunzip(b []byte) (io.ReadCloser, error) { return gzip.NewReader(bytes.NewReader(b)) }

// inflate reads deflate as it is specified, in a zlib envelope, and as many send
// it, without.
func inflate(b []byte) (io.ReadCloser, error) {
	if r, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
		return r, nil
	}
	return flate.NewReader(bytes.NewReader(b)), nil
}

// Readable is what the recorder does to a compressed request body, for the
// player. A body it cannot read is returned as it is.
func Readable(h http.Header, body []byte) []byte {
	_, plain, err := readable(h, body, maxBody)
	if err != nil {
		return body
	}
	return plain
}
