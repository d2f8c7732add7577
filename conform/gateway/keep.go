package gateway

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// Keep writes the exchanges of each case as two cassettes in a folder: CASE.client.yaml is what the
// client and the gateway said, CASE.upstream.yaml what the gateway and the simulator said. Credentials
// are taken out as in every recording.
func (o *Outcome) Keep(dir, tool string) error {
	for _, d := range o.Cases {
		path := filepath.Join(dir, filepath.FromSlash(d.Name))
		err := errors.Join(keepSide(path+".client.yaml", tool, d.Exchanges), keepSide(path+".upstream.yaml", tool, d.Behind))
		if err != nil {
			return err
		}
	}
	return nil
}

func keepSide(path, tool string, exchanges []evidence.Exchange) error {
	if len(exchanges) == 0 {
		return nil // as upstream of a gateway that answers itself
	}
	redactor := redact.New(nil)
	w, err := cassette.Create(path, cassette.Meta{
		Provenance: cassette.ProvenanceSimulator, Tool: tool, Created: time.Now().UTC().Format(time.RFC3339), Redaction: redactor.Rules(),
	}, cassette.CreateOptions{Force: true})
	if err != nil {
		return err
	}
	for _, x := range exchanges {
		in := cassette.Interaction{
			Request:  cassette.Request{Method: x.Request.Method, URL: x.Request.URL, Header: x.Request.Header, Body: x.Request.Body},
			Response: cassette.Response{Status: x.Response.Status, Header: x.Response.Header, Body: x.Response.Body},
			Ingress:  cassette.IngressBaseURL, End: cassette.EndEOF,
		}
		for _, c := range x.Response.Chunks {
			in.Timeline = append(in.Timeline, cassette.Chunk{At: c.At, Length: c.Length})
		}
		if x.Response.End == "reset" {
			in.End = cassette.EndReset
		}
		if err := w.Append(redactor.Interaction(in)); err != nil {
			return errors.Join(err, w.Discard())
		}
	}
	return w.Close()
}
