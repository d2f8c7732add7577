package evidence

import (
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// FromInteractions turns what the proxy saw into evidence called name. The
// bodies share the memory of list; their Process is -1, for the caller to
// set. Exchanges with nobody we judge are listed as skipped.
func FromInteractions(name string, source Source, list []cassette.Interaction) (Evidence, []Skip) {
	all := make([]raw, len(list))
	for i, in := range list {
		all[i] = fromInteraction(in)
	}
	ev := Evidence{Source: source, Case: name}
	skipped := ev.fill(all)
	return ev, skipped
}

func fromInteraction(in cassette.Interaction) raw {
	r := raw{
		Request:  Request{Method: in.Request.Method, URL: in.Request.URL, Header: header(in.Request.Header), Body: in.Request.Body},
		Response: Response{Status: in.Response.Status, Header: header(in.Response.Header), Body: in.Response.Body, End: string(in.End)},
	}
	for _, c := range in.Timeline {
		r.Response.Chunks = append(r.Response.Chunks, Chunk(c))
	}
	return r
}

// readCassette reads a file of ours, or one of stock go-vcr v2 that may be ours
// saved by it: both keep times and endings.
func readCassette(name string, format Format, data []byte) (Recording, error) {
	c, err := cassette.Parse(name, data)
	if err != nil {
		return Recording{}, err
	}
	var all []raw
	for in, err := range c.All() {
		if err != nil {
			return Recording{}, err
		}
		all = append(all, fromInteraction(in))
	}
	return assemble(name, format, slices.Clip(all))
}
