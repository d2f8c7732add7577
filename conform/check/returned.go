package check

import "github.com/meerkat-go/conformance/wires/wire"

// Returned says what a later request sent back for one block of a reply.
type Returned struct {
	// From is the index of the exchange that emitted the block, To that of the request
	// that sends its reply back.
	From, To int
	// Emitted is the block as the provider emitted it. Sent is the block as it was sent
	// back, nil where the request left it out. Both are shared and must not be changed.
	Emitted, Sent *wire.Item
}

// Returned lists, by request, each block of an earlier reply that the request sends
// back or leaves out. The slice is the caller's.
func (s *Trace) Returned() (list []Returned) {
	for _, l := range s.links {
		for _, p := range l.pairs {
			list = append(list, Returned{l.from.Index, l.to.Index, l.reply(p.r), l.sent(p.q)})
		}
		for _, r := range l.missing {
			list = append(list, Returned{l.from.Index, l.to.Index, l.reply(r), nil})
		}
	}
	return list
}
