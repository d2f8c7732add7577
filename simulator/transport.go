package simulator

import (
	"net/http"

	"github.com/meerkat-go/conformance/internal/inprocess"
)

// Transport asks h, a simulator, in this process, without a socket: what it flushes
// arrives as one piece, on every machine and under any load.
func Transport(h http.Handler) http.RoundTripper { return inprocess.Transport(h) }
