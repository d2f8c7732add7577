package replay

import (
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// index finds interactions by the key of their request. It reads the cassette
// only as far as it must: an agent that asks in the recorded order has its first
// answer after one interaction was read, whatever the cassette's size.
type index struct {
	tape *cassette.Cassette

	mu      sync.Mutex
	read    int             // interactions indexed so far
	lists   map[key]*list   // by key, in recorded order
	raws    map[digest]mark // by the request's bytes
	damaged error           // of the first interaction that cannot be read
}

// list holds the interactions with one key.
type list struct {
	items []entry
	taken int
}

type entry struct {
	at    int
	exact digest
}

type mark struct {
	key   key
	exact digest
}

// item is an interaction found, or the reason why not.
type item struct {
	at          int
	exact       digest
	interaction cassette.Interaction
	reason      string
	err         error
}

// Why a request was missed, as told in the X-Cassette-Miss header.
const (
	missUnknown   = "unknown"   // nothing like it was recorded
	missExhausted = "exhausted" // it was recorded, and all of that is played
	missDamaged   = "damaged"   // the answer may be in a part that cannot be read
)

func newIndex(tape *cassette.Cassette) *index {
	return &index{tape: tape, lists: map[key]*list{}, raws: map[digest]mark{}}
}

// known returns the key of a request that was recorded with the same bytes, if
// it has been read or comes next: most agents ask in the recorded order.
func (x *index) known(raw digest) (mark, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	m, ok := x.raws[raw]
	if !ok && x.read < x.tape.Len() {
		x.readOne()
		m, ok = x.raws[raw]
	}
	return m, ok
}

// take returns the next interaction for k, each one once.
func (x *index) take(k key) item {
	found := x.find(k)
	if found.reason != "" {
		return found
	}
	found.interaction, found.err = x.tape.At(found.at)
	if found.err != nil {
		found.reason = missDamaged
	}
	return found
}

// find is take without reading the interaction.
func (x *index) find(k key) item {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		l := x.lists[k]
		switch {
		case l != nil && l.taken < len(l.items):
			e := l.items[l.taken]
			l.taken++
			return item{at: e.at, exact: e.exact}
		case x.read < x.tape.Len():
			x.readOne()
		case x.damaged != nil:
			return item{reason: missDamaged, err: x.damaged}
		case l != nil:
			return item{reason: missExhausted}
		default:
			return item{reason: missUnknown}
		}
	}
}

// readOne indexes the next interaction; mu is held.
func (x *index) readOne() {
	at := x.read
	x.read++
	r, err := x.tape.Request(at)
	if err != nil {
		if x.damaged == nil {
			x.damaged = err
		}
		return
	}
	k, exact := fingerprint(r)
	x.raws[rawDigest(r)] = mark{k, exact}
	if x.lists[k] == nil {
		x.lists[k] = &list{}
	}
	x.lists[k].items = append(x.lists[k].items, entry{at, exact})
}

// waiting returns the interactions not yet played, those first, then the
// played ones: where to look for what a request may have been meant to be.
func (x *index) waiting() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	var unplayed, played []int
	for _, l := range x.lists {
		for i, e := range l.items {
			if i < l.taken {
				played = append(played, e.at)
			} else {
				unplayed = append(unplayed, e.at)
			}
		}
	}
	return append(sorted(unplayed), sorted(played)...)
}
