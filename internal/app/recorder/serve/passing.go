package serve

import (
	"net/http"
	"sync/atomic"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/record"
)

// passing is a session's work in pass mode: the recorder without a cassette.
type passing struct {
	rec *record.Recorder
	n   atomic.Int64
}

func (k *kit) passing() (*passing, error) {
	rec, err := k.recorder(nil)
	if err != nil {
		return nil, err
	}
	return &passing{rec: rec}, nil
}

// ServeHTTP passes one request on.
func (p *passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.n.Add(1)
	p.rec.ServeHTTP(w, r)
}

func (p *passing) finish(a *app, _ bool) outcome {
	p.rec.Close()
	a.Say("%s passed on, nothing kept", cli.Count(int(p.n.Load()), "request", "requests"))
	return outcome{}
}

func (p *passing) abandon() { p.rec.Close() }
