package replay

import (
	"bytes"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
)

// index finds interactions by their request. It reads only as much of the
// cassette as it needs, and builds a level's table only when the stricter levels
// have no answer: an agent that asks in the recorded order gets its first answer
// after one interaction was read, whatever the cassette's size. Once the
// cassette is read, a search takes the same time in cassettes of any size
// (pitfall V9).
type index struct {
	cassette *cassette.Cassette
	rules    ruleSet
	acquired state // what an interaction is after it was acquired

	mu      sync.Mutex
	state   []state
	front   int              // all interactions before it are taken
	next    cassette.Request // the request at front, if nextSet
	nextSet bool
	scratch []byte // the bodies that are hashed are read into it
	tables  [1 + levels]table
	places  []location     // one for each interaction in the exact table
	urls    map[string]int // numbers of methods and canonical URLs
	damage  func() error   // checks the whole cassette, once
}

// state is what became of an interaction.
type state byte

const (
	unused state = iota
	taken
	unreadable // taken, but damaged
	returned   // taken and free again: it answers the next such request
)

// isFree reports whether an interaction can be acquired.
func (s state) isFree() bool { return s == unused || s == returned }

// table finds the interactions of one level by key, in recorded order.
type table struct {
	read  int // interactions in the table
	lists map[digest]*keyedList
}

// keyedList holds the interactions with one key; those before from are taken.
type keyedList struct {
	items []int32
	from  int
}

// location is the number of the URL that a request went to, the length of its body, whether a
// secret was taken out of it, and the digest of its form.
type location struct {
	url, size  int
	isRedacted bool
	form       digest
}

// match is an interaction that was found, or the reason why none was.
type match struct {
	at          int
	level       Level
	form        digest // of the recorded request
	interaction cassette.Interaction
	reason      string
	err         error
}

// Why a request was missed: the values of the header X-Cassette-Miss.
const (
	missUnknown   = "unknown"   // no such request was recorded
	missExhausted = "exhausted" // every recorded answer to it was given
	missDamaged   = "damaged"   // the answer may be in a part that cannot be read
	missTooLong   = "too-long"  // the body of the request is longer than is read
)

// newIndex returns an index of a recording. repeat lets an interaction be acquired any number of
// times.
func newIndex(recording *cassette.Cassette, rules ruleSet, repeat bool) *index {
	acquired := taken
	if repeat {
		acquired = returned
	}
	return &index{cassette: recording, rules: rules, acquired: acquired, state: make([]state, recording.Len()),
		urls: map[string]int{}, damage: sync.OnceValue(func() error { return damageOf(recording) })}
}

// damageOf returns the error of the first interaction that is not what was recorded, nil for
// none. A changed byte can make a request equal to another one.
func damageOf(recording *cassette.Cassette) error {
	if !recording.Sealed() {
		return nil
	}
	return recording.Verify()
}

// acquireNext takes the first free interaction if its request has exactly these bytes. No
// other interaction with an equal request can come earlier, and nothing has to be redacted,
// canonicalised or hashed. Nearly every request is answered this way.
func (x *index) acquireNext(method, url string, body []byte) (at int, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.front < len(x.state) && !x.state[x.front].isFree() {
		x.front, x.nextSet = x.front+1, false
	}
	if x.front == len(x.state) {
		return 0, false
	}
	if !x.nextSet {
		r, err := x.cassette.Asked(x.front, x.next.Body)
		if err != nil {
			return 0, false
		}
		x.next, x.nextSet = r, true
	}
	if x.next.Method != method || x.next.URL != url || !bytes.Equal(x.next.Body, body) {
		return 0, false
	}
	x.state[x.front] = x.acquired
	return x.front, true
}

// acquire takes the next free interaction with this key at a level.
func (x *index) acquire(l Level, key digest) match {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.levelTable(l)
	if t.lists == nil {
		t.lists = map[digest]*keyedList{}
	}
	for {
		found := t.lists[key]
		if at, ok := x.firstFree(found); ok {
			x.state[at] = x.acquired
			return x.foundMatch(at, l)
		}
		switch {
		case t.read < len(x.state):
			x.readOne(l)
		case found != nil:
			return match{reason: missExhausted}
		default:
			return match{reason: missUnknown}
		}
	}
}

// acquireAt takes an interaction, if it is free.
func (x *index) acquireAt(at int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	isFree := x.state[at].isFree()
	if isFree {
		x.state[at] = x.acquired
	}
	return isFree
}

func (x *index) levelTable(l Level) *table { return &x.tables[l-identical] }

// firstFree returns the first free interaction of a list; mu is held.
func (x *index) firstFree(l *keyedList) (int, bool) {
	if l == nil {
		return 0, false
	}
	for ; l.from < len(l.items); l.from++ {
		if at := int(l.items[l.from]); x.state[at].isFree() {
			return at, true
		}
	}
	return 0, false
}

// readOne puts the next interaction into a level's table; mu is held.
func (x *index) readOne(l Level) {
	t := x.levelTable(l)
	at := t.read
	t.read++
	r, err := x.readRequest(l, at)
	if l == Exact {
		x.places = append(x.places, location{url: -1})
	}
	if err != nil {
		return // damage reports it, if no other interaction answers
	}
	t.add(x.requestKey(l, at, r), at)
}

func (t *table) add(key digest, at int) {
	if t.lists[key] == nil {
		t.lists[key] = &keyedList{}
	}
	t.lists[key].items = append(t.lists[key].items,
		int32(at)) //nolint:gosec // a cassette of 2³¹ interactions does not fit into memory
}

// readRequest reads the part of a request that a level's key is made of; mu is
// held.
func (x *index) readRequest(l Level, at int) (cassette.Request, error) {
	if l != identical {
		return x.cassette.Request(at)
	}
	r, err := x.cassette.Asked(at, x.scratch)
	x.scratch = r.Body
	return r, err
}

// requestKey returns the key of a recorded request at a level; mu is held.
func (x *index) requestKey(l Level, at int, r cassette.Request) digest {
	if l == identical {
		return rawDigest(r.Method, r.URL, r.Body)
	}
	f := formOf(r)
	stable := f.withoutVolatile(x.rules)
	if l != Exact {
		return stable.reduceTo(l).computeDigest()
	}
	whole := f.computeDigest()
	x.places[at] = location{x.urlNumber(f), len(f.body) + f.masked, redact.HasMark(r.Body), whole}
	if len(stable.body) == len(f.body) {
		return whole // nothing was left out
	}
	return stable.computeDigest()
}

func (x *index) foundMatch(at int, l Level) match {
	found := match{at: at, level: l}
	if l != identical {
		found.form = x.places[at].form
	}
	return found
}

// urlNumber returns the number of the URL that a request goes to.
func (x *index) urlNumber(f form) int {
	where := f.method + " " + f.url
	n, ok := x.urls[where]
	if !ok {
		n = len(x.urls)
		x.urls[where] = n
	}
	return n
}

// fetchInteraction reads an interaction that was acquired.
func (x *index) fetchInteraction(found match) match {
	found.interaction, found.err = x.cassette.At(found.at)
	if found.err == nil {
		return found
	}
	found.reason = missDamaged
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state[found.at] = unreadable
	return found
}

// release makes an acquired interaction the next answer to its request.
func (x *index) release(at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state[at] = returned
	if at < x.front {
		x.front, x.nextSet = at, false
	}
	for _, t := range x.tables {
		for _, l := range t.lists {
			if i, ok := slices.BinarySearch(l.items, int32(at)); ok { //nolint:gosec // as in readOne
				l.from = min(l.from, i)
			}
		}
	}
}

// unusedInteractions lists the interactions that answered no request.
func (x *index) unusedInteractions() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []int
	for at, s := range x.state {
		if s == unused || s == unreadable {
			out = append(out, at)
		}
	}
	return out
}

// snapshot is what is known of the recorded requests at one time. It shares nothing that
// changes.
type snapshot struct {
	state  []state
	places []location
	urls   map[int]string
}

func (x *index) takeSnapshot() snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := snapshot{slices.Clone(x.state), slices.Clone(x.places), make(map[int]string, len(x.urls))}
	for where, n := range x.urls {
		s.urls[n] = where
	}
	return s
}
