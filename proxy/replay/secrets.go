package replay

import (
	"bytes"
	"slices"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// acquireBesideSecrets takes the first free interaction whose request is equal at a level but for
// secrets, if found is no answer. The recorder may have taken one out of a request that it learnt
// later in the run, and a build that knew more or fewer secrets took out others than this one.
// It looks at as many requests as the search for the nearest one.
func (p *Replayer) acquireBesideSecrets(q *lookup, l Level, found match) match {
	asked := q.unmaskedForm()
	counted, seen := asked.withoutVolatile(p.rules).reduceTo(l), p.index.takeSnapshot()
	isRedacted := redact.HasMark(asked.body)
	candidates := seen.candidateIndexes(asked.method+" "+asked.url, len(asked.body))
	slices.Sort(candidates)
	for _, at := range candidates {
		if !seen.state[at].isFree() || !isRedacted && !seen.places[at].isRedacted {
			continue
		}
		r, err := p.cfg.Cassette.Request(at)
		if err != nil {
			continue // damage says so, if no other interaction answers
		}
		recorded := unmaskedFormOf(r)
		if !EqualBesideSecrets(recorded.withoutVolatile(p.rules).reduceTo(l).body, counted.body) || !p.index.acquireAt(at) {
			continue
		}
		other := match{at: at, level: l, form: seen.places[at].form}
		if EqualBesideSecrets(recorded.body, asked.body) {
			other.form = q.requestForm().computeDigest()
		}
		return other
	}
	return found
}

// EqualBesideSecrets reports whether two texts are equal but for secrets: where one has the
// pseudonym of a secret, which is as long as the secret, the other has a word of this length or any
// pseudonym, and everywhere the same one.
func EqualBesideSecrets(a, b []byte) bool {
	standsFor, standsIn := map[string]string{}, map[string]string{}
	for {
		n := min(nextPseudonym(a), nextPseudonym(b))
		if n > min(len(a), len(b)) || !bytes.Equal(a[:n], b[:n]) {
			return false
		}
		a, b = a[n:], b[n:]
		if len(a) == 0 && len(b) == 0 {
			return true
		}
		inA, inB, ok := besidePseudonym(a, b)
		if !ok || !agrees(standsFor, inA, inB) || !agrees(standsIn, inB, inA) {
			return false
		}
		a, b = a[len(inA):], b[len(inB):]
	}
}

// nextPseudonym returns where the first pseudonym of a text begins, its length if it has none.
func nextPseudonym(text []byte) int {
	if start, _, ok := redact.FindPseudonym(text); ok {
		return start
	}
	return len(text)
}

// besidePseudonym returns what two texts begin with, of which one at least begins with a pseudonym.
func besidePseudonym(a, b []byte) (inA, inB []byte, ok bool) {
	lengthA, lengthB := pseudonymLength(a), pseudonymLength(b)
	switch {
	case lengthA > 0 && lengthB > 0:
		return a[:lengthA], b[:lengthB], true
	case lengthA > 0 && len(b) >= lengthA:
		return a[:lengthA], b[:lengthA], isOneWord(b[:lengthA])
	case lengthB > 0 && len(a) >= lengthB:
		return a[:lengthB], b[:lengthB], isOneWord(a[:lengthB])
	}
	return nil, nil, false
}

// pseudonymLength returns the length of the pseudonym that a text begins with, 0 if it does not.
func pseudonymLength(text []byte) int {
	if start, end, ok := redact.FindPseudonym(text); ok && start == 0 {
		return end
	}
	return 0
}

// isOneWord reports whether a part of a text in JSON has no white space, and no end of a string.
func isOneWord(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ', c == '"':
			return false
		case c == '\\':
			if i++; i == len(text) || bytes.IndexByte([]byte("nrt"), text[i]) >= 0 {
				return false
			}
		}
	}
	return true
}

// ownPseudonym is the length from which a secret has a pseudonym that no other secret has, in bytes.
const ownPseudonym = 16

// agrees reports whether a key has this value wherever it stands. Short secrets share a pseudonym.
func agrees(known map[string]string, key, value []byte) bool {
	if len(key) < ownPseudonym {
		return true
	}
	if was, ok := known[string(key)]; ok {
		return was == string(value)
	}
	known[string(key)] = string(value)
	return true
}
