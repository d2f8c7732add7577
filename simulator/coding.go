package simulator

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of zstd that RFC 9659 allows in HTTP, in bytes.
const maxWindow = 8 << 20

// maxCodings bounds how often a body is unpacked.
const maxCodings = 4

// codings are the content codings that clients use for what they send.
var codings = map[string]func(io.Reader) (io.Reader, error){
	"identity": func(r io.Reader) (io.Reader, error) { return r, nil },
	"gzip":     func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":   func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate":  func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":       func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd": func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// errUnknownCoding says that a body is coded in a way that is not known, or too often.
var errUnknownCoding = errors.New("unknown content coding")

// decodeBody undoes the codings of a request's body, the last one first. The error is a
// [*http.MaxBytesError] where more comes out than a provider takes. A body that is damaged
// is left as it is: no rule can read it.
func decodeBody(h http.Header, body []byte) ([]byte, error) {
	names := strings.FieldsFunc(strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")), func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) > maxCodings || slices.ContainsFunc(names, func(name string) bool { return codings[name] == nil }) {
		return nil, errUnknownCoding
	}
	plain := body
	for _, name := range slices.Backward(names) {
		r, err := codings[name](bytes.NewReader(plain))
		if err != nil {
			return body, nil
		}
		plain, err = io.ReadAll(io.LimitReader(r, maxRequest+1))
		if closer, ok := r.(io.Closer); ok {
			_ = closer.Close()
		}
		switch {
		case len(plain) > maxRequest:
			return nil, &http.MaxBytesError{Limit: maxRequest}
		case err != nil:
			return body, nil
		}
	}
	return plain, nil
}
