package cassette

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// The reasons why Decompress returns no body.
var (
	// ErrUnknownCoding: the content coding is not one that Decompress reads.
	ErrUnknownCoding = errors.New("unknown content coding")
	// ErrBodyTooLarge: the decompressed body is longer than the limit.
	ErrBodyTooLarge = errors.New("the decompressed body is too large")
	// ErrBodyDamaged: the body is not what the content coding says.
	ErrBodyDamaged = errors.New("the compressed body is damaged")
)

// zstdWindow is the largest window that RFC 9659 allows in HTTP, in bytes.
const zstdWindow = 8 << 20

var decompressors = map[string]func([]byte) (io.ReadCloser, error){
	"identity": func(b []byte) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil },
	"gzip":     newGzipReader,
	"x-gzip":   newGzipReader,
	"deflate":  newDeflateReader,
	"br": func(b []byte) (io.ReadCloser, error) {
		return io.NopCloser(brotli.NewReader(bytes.NewReader(b))), nil
	},
	"zstd": func(b []byte) (io.ReadCloser, error) {
		d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

func newGzipReader(b []byte) (io.ReadCloser, error) { return gzip.NewReader(bytes.NewReader(b)) }

// newDeflateReader reads deflate inside a zlib envelope, as it is specified, and
// without one, as many servers send it.
func newDeflateReader(b []byte) (io.ReadCloser, error) {
	if r, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
		return r, nil
	}
	return flate.NewReader(bytes.NewReader(b)), nil
}

// Decompress undoes one content coding: gzip, x-gzip, deflate, br, zstd or
// identity, in lower case. A cassette stores bodies decompressed, so that they
// can be redacted and compared. The result has at most limit bytes; a body that
// was cut in transfer yields what can be read of it. The error is
// ErrUnknownCoding, ErrBodyTooLarge or ErrBodyDamaged.
func Decompress(coding string, body []byte, limit int64) ([]byte, error) {
	open, known := decompressors[coding]
	if !known {
		return nil, ErrUnknownCoding
	}
	var plain bytes.Buffer
	if len(body) > largeBody {
		size, _ := readCoded(open, body, io.Discard, limit)
		plain.Grow(int(min(size, limit)) + bytes.MinRead) // a buffer that grows takes three times as much
	}
	size, err := readCoded(open, body, &plain, limit)
	switch {
	case size > limit:
		return nil, ErrBodyTooLarge
	case err != nil && (size == 0 || !errors.Is(err, io.ErrUnexpectedEOF)):
		return nil, ErrBodyDamaged
	}
	return plain.Bytes(), nil
}

// largeBody is the length of a compressed body, in bytes, from which it is worth finding
// out first how long it is decompressed.
const largeBody = 256 << 10

// readCoded decompresses a body into w, as far as the first byte beyond limit, and returns
// how many bytes there were.
func readCoded(open func([]byte) (io.ReadCloser, error), body []byte, w io.Writer, limit int64) (int64, error) {
	r, err := open(body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	return io.Copy(w, io.LimitReader(r, limit+1))
}
