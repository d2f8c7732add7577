package evidence

import "github.com/meerkat-go/conformance/proxy/cassette"

// FromInteractions turns what the proxy recorded into evidence called name. The
// bodies share the memory of list. Process is -1 in every exchange, for the
// caller to set. Exchanges with other providers are listed as skipped.
func FromInteractions(name string, source Source, list []cassette.Interaction) (Evidence, []Skip) {
	ev := Evidence{Source: source, Case: name}
	skipped := ev.addInteractions(list)
	return ev, skipped
}
