package serve

import (
	"net/http"
	"sync/atomic"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/record"
)

// passthrough passes requests on in pass mode: a recorder without a cassette.
type passthrough struct {
	rec *record.Recorder
	n   atomic.Int64
}

func (k *modeEnv) openPassthrough() (*passthrough, error) {
	rec, err := k.newRecorder(nil, nil)
	if err != nil {
		return nil, err
	}
	return &passthrough{rec: rec}, nil
}

// ServeHTTP passes one request on.
func (p *passthrough) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.n.Add(1)
	p.rec.ServeHTTP(w, r)
}

func (p *passthrough) finishRecording(a *app, _ bool) outcome {
	p.rec.Close()
	a.Note("%s passed on, nothing kept", cli.Count(int(p.n.Load()), "request", "requests"))
	return outcome{}
}

func (p *passthrough) discardStart() { p.rec.Close() }
