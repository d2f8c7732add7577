package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// Place is where an alteration was made.
type Place struct {
	// Exchange is the Index of the first altered exchange.
	Exchange int
	// Path points into its request, "" for the whole exchange.
	Path string
}

// Kind is one way to alter evidence: a fault that the referee must find, or a
// legal variation about which it must be silent.
type Kind struct {
	// Name is unique, Group the part of the table it belongs to.
	Name, Group string
	// Rule is the provider rule or the class of bugs it is taken from.
	Rule      string
	Providers []string
	Legal     bool

	// prepare makes the evidence that the alteration is compared with.
	prepare func(*draft, *rand.Rand) bool
	alter   func(*draft, *rand.Rand) (Place, bool)
	// lossy is set for a legal variation after which the model sees less: a
	// warning about it is right, a failure is an alarm.
	lossy bool
	// ofVerdict is set when the verdict of the recording may tell of the fault.
	ofVerdict bool
	// onFailing is set when the prepared evidence has failures of its own.
	onFailing bool
}

// Apply alters a copy of ev. It reports false when ev has no place for the
// alteration. The result depends on ev and the state of r alone.
func (k Kind) Apply(ev *evidence.Evidence, r *rand.Rand) (evidence.Evidence, Place, bool) {
	s := newScene(ev)
	if s == nil || !slices.Contains(k.Providers, s.provider) {
		return evidence.Evidence{}, Place{}, false
	}
	_, altered, place, ok := k.apply(s, r)
	return altered, place, ok
}

// apply returns the evidence to compare with, too: what it is before the fault.
func (k Kind) apply(s *scene, r *rand.Rand) (before, after evidence.Evidence, place Place, ok bool) {
	before = s.ev
	if k.prepare != nil {
		d := s.newDraft()
		if !k.prepare(d, r) {
			return before, after, place, false
		}
		before = d.ev
		if s = newScene(&before); s == nil {
			return before, after, place, false
		}
	}
	d := s.newDraft()
	place, ok = k.alter(d, r)
	return before, d.ev, place, ok
}

func (d *draft) placeAt(k int, path []any) Place {
	return Place{Exchange: d.ev.Exchanges[k].Index, Path: pathString(path)}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) } //nolint:gosec // a seeded sample, no secret

// blockFilter says whether an alteration fits block b of request k.
type blockFilter func(s *scene, k int, b *block) bool

// blockEdit alters b in p. It reports whether it could.
type blockEdit func(p *page, b *block, r *rand.Rand) bool

// onBlock alters one block that passes all filters, in the request chosen and
// in every later one that repeats the block: a faulty agent keeps its history.
func onBlock(edit blockEdit, filters ...blockFilter) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		type candidate struct{ k, i int }
		var found []candidate
		for _, k := range d.modelCalls() {
			for i, b := range d.blocks[k] {
				if passesAll(d.scene, k, b, filters) {
					found = append(found, candidate{k, i})
				}
			}
		}
		r.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		seed := r.Uint64()
		for _, c := range found {
			b := d.blocks[c.k][c.i]
			if d.editFrom(c.k, b, edit, seed) {
				return d.placeAt(c.k, b.path), true
			}
		}
		return Place{}, false
	}
}

// onNewBlock alters a block where it is sent first, so that the fault is not a
// change of what was sent before as well.
func onNewBlock(edit blockEdit, filters ...blockFilter) func(*draft, *rand.Rand) (Place, bool) {
	return onBlock(edit, append(slices.Clone(filters), isNew)...)
}

func passesAll(s *scene, k int, b *block, filters []blockFilter) bool {
	for _, f := range filters {
		if !f(s, k, b) {
			return false
		}
	}
	return true
}

// editFrom applies edit to b in request k and to its copies in later requests.
func (d *draft) editFrom(k int, b *block, edit blockEdit, seed uint64) bool {
	if !d.editOne(k, b, edit, seed) {
		return false
	}
	for _, later := range d.modelCalls() {
		if later <= k {
			continue
		}
		for _, c := range d.blocks[later] {
			if isSameBlock(b, c) {
				d.editOne(later, c, edit, seed)
				break
			}
		}
	}
	return true
}

func (d *draft) editOne(k int, b *block, edit blockEdit, seed uint64) bool {
	p := d.editableRequest(k)
	for i, c := range d.blocks[k] {
		if c == b {
			return edit(p, p.blocks[i], newRand(seed)) && d.commitPage(k, p)
		}
	}
	return false
}

// isSameBlock reports whether c is b again in a later request.
func isSameBlock(b, c *block) bool {
	return b.kind == c.kind && b.role == c.role && b.turn == c.turn && b.pos == c.pos &&
		string(b.node.encodeJSON()) == string(c.node.encodeJSON())
}

// onEveryPage alters each request that edit takes: a habit of the agent. edit
// returns the path that it altered, "" for a request that does not fit.
func onEveryPage(edit func(d *draft, k int, p *page, r *rand.Rand) string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		seed := r.Uint64()
		place, done := Place{}, false
		for _, k := range d.asked {
			p := d.editableRequest(k)
			path := edit(d, k, p, newRand(seed))
			if path == "" || !d.commitPage(k, p) || done {
				continue
			}
			place, done = Place{Exchange: d.ev.Exchanges[k].Index, Path: path}, true
		}
		return place, done
	}
}

// onPage alters one request alone, and those after it that edit takes.
func onPage(edit func(d *draft, k int, p *page, r *rand.Rand) string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		seed := r.Uint64()
		for _, k := range list {
			p := d.editableRequest(k)
			if path := edit(d, k, p, newRand(seed)); path != "" && d.commitPage(k, p) {
				return Place{Exchange: d.ev.Exchanges[k].Index, Path: path}, true
			}
		}
		return Place{}, false
	}
}

// Filters.

func isLinked(_ *scene, _ int, b *block) bool { return b.from != unknownOrigin }

func isKind(kinds ...blockKind) blockFilter {
	return func(_ *scene, _ int, b *block) bool { return slices.Contains(kinds, b.kind) }
}

func hasToken(_ *scene, _ int, b *block) bool { return b.token != "" }

func inOpenTurn(s *scene, k int, b *block) bool { return b.turn > openTurn(s.blocks[k]) }

func inFinishedTurn(s *scene, k int, b *block) bool { return b.turn < openTurn(s.blocks[k]) }

func isSaid(role string) blockFilter {
	return func(_ *scene, _ int, b *block) bool { return b.role == role }
}

// inConversation holds for requests that continue one of the recording.
func inConversation(s *scene, k int, _ *block) bool { return s.continuesReply(k) }

// isLong leaves out texts too short to be told apart.
func isLong(_ *scene, _ int, b *block) bool { return len([]rune(b.text)) >= 12 }

// isContinued holds for a block that the request before had in the same place, in
// a conversation that goes on.
func isContinued(s *scene, k int, b *block) bool { return isRepeated(s, k, b) && s.continuesReply(k) }

// isNew holds for a block that no earlier request has in that place.
func isNew(_ *scene, _ int, b *block) bool { return !b.sentBefore }

// isRepeated holds for a block that the request before had in the same place.
func isRepeated(s *scene, k int, b *block) bool {
	list := s.modelCalls()
	i := slices.Index(list, k)
	if i < 1 {
		return false
	}
	return slices.ContainsFunc(s.blocks[list[i-1]], func(c *block) bool { return isSameBlock(c, b) })
}

// hasResult holds for a call that a later block of the request answers.
func hasResult(s *scene, k int, b *block) bool { return s.resultOf(k, b) != nil }

// resultOf finds the result of call b in request k.
func (s *scene) resultOf(k int, b *block) *block { return answerTo(s.provider, s.blocks[k], b) }

func answerTo(provider string, blocks []*block, call *block) *block {
	ordinal := 0 // of the call among those of its turn, for calls without an id
	for _, c := range blocks {
		if c.kind == callBlock && c.turn == call.turn && c.pos < call.pos {
			ordinal++
		}
	}
	for _, c := range blocks {
		if c.kind != resultBlock || c.turn <= call.turn && c != call && provider != evidence.OpenAI || c.turn < call.turn {
			continue
		}
		if call.id != "" && c.id == call.id {
			return c
		}
		if call.id == "" && c.turn == call.turn+1 && c.name == call.name && c.pos >= ordinal {
			return c
		}
	}
	return nil
}

// turnOf lists the blocks of the model that share the turn of b: up to the next
// block of another speaker.
func turnOf(blocks []*block, b *block) []*block {
	i := slices.Index(blocks, b)
	lo, hi := i, i
	for lo > 0 && blocks[lo-1].role == b.role {
		lo--
	}
	for hi+1 < len(blocks) && blocks[hi+1].role == b.role {
		hi++
	}
	return blocks[lo : hi+1]
}
