package replay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// acquireBesideSecrets takes the first free interaction whose request is equal at a level but for
// secrets, if found is no answer. The recorder may have taken one out of a request that it learnt
// later in the run, and a build that knew more or fewer secrets took out others than this one.
// It looks at as many requests as the search for the nearest one.
func (p *Replayer) acquireBesideSecrets(q *lookup, l Level, found match) match {
	asked, seen := q.redactedRequest(), p.index.takeSnapshot()
	askedForm := unmaskedFormOf(asked)
	isRedacted := redact.HasMark(asked.Body)
	candidates := seen.candidateIndexes(askedForm.method+" "+askedForm.url, len(askedForm.body), func(at int) bool {
		return seen.state[at].isFree() && (isRedacted || seen.places[at].isRedacted)
	})
	slices.Sort(candidates)
	compared := 0
	for _, at := range candidates {
		if compared += seen.places[at].size + len(askedForm.body); compared > maxCompared && at != candidates[0] {
			break
		}
		r, err := p.cfg.Cassette.Request(at)
		if err != nil {
			continue // damage says so, if no other interaction answers
		}
		// Canonical JSON spells a secret shorter than the client did, so bytes are compared first.
		recordedForm := unmaskedFormOf(r)
		isEqual := l == Exact && equalBesideSecrets(r.Body, asked.Body, isSecret)
		if !isEqual && !p.equalAtLevel(recordedForm, askedForm, l) || !p.index.acquireAt(at) {
			continue
		}
		other := match{at: at, level: l, form: seen.places[at].form}
		if isEqual || EqualBesideSecrets(recordedForm.body, askedForm.body) {
			other.form = q.requestForm().computeDigest()
		}
		return other
	}
	return found
}

// equalAtLevel reports whether two forms with their pseudonyms are equal at a level but for secrets.
// In what counts for Shape, as the last words of the user do, only a word that may be a secret
// stands for one: another question never gets this answer.
func (p *Replayer) equalAtLevel(recorded, asked form, l Level) bool {
	recorded, asked = recorded.withoutVolatile(p.rules), asked.withoutVolatile(p.rules)
	return EqualBesideSecrets(recorded.reduceTo(l).body, asked.reduceTo(l).body) &&
		(l > Shape || equalBesideSecrets(recorded.reduceTo(Shape).body, asked.reduceTo(Shape).body, isSecret))
}

// EqualBesideSecrets reports whether two texts are equal but for secrets: where one has the
// pseudonym of a secret, which is as long as the secret, the other has a word of this length or any
// pseudonym, and everywhere the same one. A short word must be one that may be a secret, because
// people write REDACTED, too.
func EqualBesideSecrets(a, b []byte) bool {
	return equalBesideSecrets(a, b, func(word []byte) bool { return len(word) >= ownPseudonym || isSecret(word) })
}

// isSecret reports whether a word may be what a pseudonym stands for.
func isSecret(word []byte) bool { return redact.CouldBeSecret(string(word)) }

// equalBesideSecrets is [EqualBesideSecrets] with another condition for a word.
func equalBesideSecrets(a, b []byte, mayBe func(word []byte) bool) bool {
	x, y := redactedText{rest: a}, redactedText{rest: b}
	standsFor, standsIn := map[string]string{}, map[string]string{}
	for {
		n := min(x.plainLength(), y.plainLength())
		if n > min(len(x.rest), len(y.rest)) || !bytes.Equal(x.rest[:n], y.rest[:n]) {
			return false
		}
		x.skip(n)
		y.skip(n)
		if len(x.rest) == 0 && len(y.rest) == 0 {
			return true
		}
		inX, inY, ok := besidePseudonym(&x, &y, mayBe)
		// An agent that repeats what a replayed reply said has the pseudonym where others have the secret.
		if isSame := bytes.Equal(inX, inY); !ok ||
			!isSame && !(agrees(standsFor, inX, inY) && agrees(standsIn, inY, inX)) {
			return false
		}
		x.skip(len(inX))
		y.skip(len(inY))
	}
}

// redactedText is what is left of a text that is read from one pseudonym to the next.
type redactedText struct {
	rest       []byte
	isFound    bool // start and end are those of the first pseudonym in rest
	start, end int
}

// find looks for the first pseudonym, unless it is known. A text is searched once as a whole.
func (t *redactedText) find() {
	if t.isFound {
		return
	}
	t.isFound = true
	if start, end, ok := redact.FindPseudonym(t.rest); ok {
		t.start, t.end = start, end
	} else {
		t.start, t.end = len(t.rest), len(t.rest)
	}
}

// plainLength returns how much stands before the first pseudonym.
func (t *redactedText) plainLength() int {
	t.find()
	return t.start
}

// pseudonymLength returns the length of the pseudonym that the text begins with, 0 if it does not.
func (t *redactedText) pseudonymLength() int {
	if t.find(); t.start > 0 {
		return 0
	}
	return t.end
}

func (t *redactedText) skip(n int) {
	t.rest = t.rest[n:]
	t.start, t.end = t.start-n, t.end-n
	t.isFound = t.isFound && t.start >= 0
}

// besidePseudonym returns what two texts begin with, of which one at least begins with a pseudonym.
func besidePseudonym(x, y *redactedText, mayBe func(word []byte) bool) (inX, inY []byte, ok bool) {
	lengthX, lengthY := x.pseudonymLength(), y.pseudonymLength()
	isWord := func(text []byte) bool { return isOneWord(text) && mayBe(text) }
	switch {
	case lengthX > 0 && lengthY > 0:
		return x.rest[:lengthX], y.rest[:lengthY], true
	case lengthX > 0 && len(y.rest) >= lengthX:
		return x.rest[:lengthX], y.rest[:lengthX], isWord(y.rest[:lengthX])
	case lengthY > 0 && len(x.rest) >= lengthY:
		return x.rest[:lengthY], y.rest[:lengthY], isWord(x.rest[:lengthY])
	}
	return nil, nil, false
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

// redactedMark is what a form has in place of a secret; see [redact.MaskPseudonyms].
const redactedMark = "REDACTED"

// How much text around a secret is looked for, how much of it must be there at least, and the
// longest text that may stand in the place of one, in bytes.
const (
	contextBefore = 16
	leastBefore   = 4
	contextAfter  = 8
	mostHidden    = 512
)

// diffForPeople is diffJSON for output. The recorder may have learnt from another request that a
// text is secret, and taken it out of this one: what stands in its place is not shown.
func diffForPeople(recorded, asked []byte) []change {
	changes := diffJSON(recorded, asked)
	for i, c := range changes {
		changes[i].New = hideSecrets(c.Old, c.New)
	}
	return changes
}

// hideSecrets returns asked without the texts that stand where recorded has redactedMark,
// between the same text before and after it, and without the same ones further on.
func hideSecrets(recorded, asked string) string {
	pieces := strings.Split(recorded, redactedMark)
	var out strings.Builder
	for i, piece := range pieces[:len(pieces)-1] {
		before, after := piece[max(0, len(piece)-contextBefore):], pieces[i+1]
		at := strings.Index(asked, before)
		for at < 0 && len(before) > leastBefore {
			before = before[1:]
			at = strings.Index(asked, before)
		}
		if at < 0 || before == "" {
			continue
		}
		at += len(before)
		end := at + hiddenLength(asked[at:], after[:min(len(after), contextAfter)])
		secret := strings.TrimRight(asked[at:end], `.,;:"`)
		out.WriteString(asked[:at] + redactedMark)
		if asked = asked[end:]; redact.CouldBeSecret(secret) {
			asked = strings.ReplaceAll(asked, secret, redactedMark)
		}
	}
	return out.String() + asked
}

// hiddenLength returns the length of the beginning of text that stands before after or, where
// after does not occur, before the next white space.
func hiddenLength(text, after string) int {
	near := text[:min(len(text), mostHidden)]
	if n := strings.Index(near, after); n >= 0 && after != "" {
		return n
	}
	if n := strings.IndexAny(near, " \t\r\n"); n >= 0 {
		return n
	}
	return len(near)
}
