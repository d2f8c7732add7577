package evidence

import (
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
)

// FromInteractions turns what the proxy recorded into evidence called name. The
// bodies share the memory of list. Process is -1 in every exchange, for the
// caller to set. Exchanges with other providers are listed as skipped.
func FromInteractions(name string, source Source, list []cassette.Interaction) (Evidence, []Skip) {
	ev := Evidence{Source: source, Case: name}
	skipped := ev.addInteractions(interchange.Recording{Interactions: list, Provenance: sourceProvenance[source]})
	return ev, skipped
}

// sourceProvenance is the provenance of what a source answers. A cassette that is
// replayed does not judge the request that it gets.
var sourceProvenance = map[Source]string{
	SourceCassette: cassette.ProvenanceSynthetic, SourceSimulator: cassette.ProvenanceSimulator,
	SourceLive: cassette.ProvenanceLive, SourceRecording: interchange.ProvenanceUndeclared,
}
