package gate

import (
	"bufio"
	"bytes"
	"compress/gzip"
)

// search holds the state of one Check.
type search struct {
	secrets  *secretSet
	exempt   map[string]bool
	spare    [][]byte // buffers for texts with an encoding undone
	gzip     gzip.Reader
	packed   *bufio.Reader // what gzip reads of base64
	unpacked int           // bytes that came out of compressed data
	read     int           // bytes that were read at the beginnings of secrets; tests bound it
}

// searchEverywhere searches text as it is and with its encodings undone. Its
// memory does not grow with the text.
func (s *search) searchEverywhere(text []byte) *Hit {
	if len(text) < minWholeWord {
		return nil
	}
	if hit := s.searchDecoded(text); hit != nil {
		return hit
	}
	if hit := s.searchCompressed(text); hit != nil {
		return hit
	}
	return s.searchPieces(text)
}

// searchDecoded searches text as it is, unescaped and out of base64.
func (s *search) searchDecoded(text []byte) *Hit {
	if hit := s.searchText(text, everything, false); hit != nil {
		return hit
	}
	for start := 0; ; start += window - overlap {
		end := min(start+window, len(text))
		if hit := s.searchUnescaped(text[start:end], everything, start > 0); hit != nil || end == len(text) {
			return hit
		}
	}
}

// window is how much of a text is decoded at once. Windows overlap by more than
// the maxSearched secret takes, however often it is escaped.
const (
	window  = 64 << 10
	overlap = 16 * maxSearched
)

// kinds are the kinds of secrets that are looked for.
type kinds int

const (
	usedSecrets kinds = iota // those that this process has used
	wellKnown                // keys with a well-known beginning as well
	everything               // and what the rules describe
)

// searchText searches text as it is, in one pass. torn says that text begins inside a longer
// one.
func (s *search) searchText(text []byte, wanted kinds, torn bool) *Hit {
	first, rules := &s.secrets.first, loadPatterns()
	var areas openAreas
	opaque := opaqueRunsOf(text, torn)
	defer func() { s.read += opaque.read }()
	k := uint16(0)
	for last, c := range text {
		k = nextHead(k, c)
		isSecret, isAnchor := first.has(k), rules.first.has(k)
		if !isSecret && !isAnchor || last < headLength-1 {
			continue
		}
		i := last - (headLength - 1)
		if isSecret {
			if hit := s.secretAt(text, i, wanted, &opaque); hit != nil {
				return hit
			}
		}
		if isAnchor && wanted == everything {
			if hit := s.ruleAt(text, i, k, &areas, &opaque); hit != nil {
				return hit
			}
		}
	}
	return s.searchAreas(text, areas, &opaque)
}

// secretAt returns what begins at text[i]: a secret that this process has used, or a
// well-known key.
func (s *search) secretAt(text []byte, i int, wanted kinds, opaque *opaqueRuns) *Hit {
	if i+minWholeWord > len(text) {
		return nil
	}
	if secret := s.secrets.secretAt(text, i); secret != "" {
		return &Hit{What: "a credential this process has used", secret: func() string { return secret }}
	}
	if wanted < wellKnown {
		return nil
	}
	kind, key, read := knownKey(text, i)
	s.read += read
	if kind != "" && !s.exempt[textDigest(key)] && !opaque.has(i) {
		return newHit(kind, key)
	}
	return nil
}

// searchUnescaped searches a window with its escapes undone, repeatedly while
// there are some, and out of base64.
func (s *search) searchUnescaped(w []byte, wanted kinds, torn bool) *Hit {
	if hit := s.searchBase64(w, wanted, torn); hit != nil {
		return hit
	}
	for range 3 {
		if bytes.IndexByte(w, '%') < 0 && bytes.IndexByte(w, '\\') < 0 {
			return nil
		}
		buf := s.takeBuffer()
		out, changed := unescape(buf, w)
		defer s.returnBuffer(out)
		if !changed {
			return nil
		}
		if hit := s.searchText(out, wanted, torn); hit != nil {
			return hit
		}
		w = out
	}
	return nil
}

// searchBase64 searches every run of base64 letters that could hold a secret, in
// either alphabet, from each of the four positions in a group. A run is decoded only where
// its letters can be those of a secret's beginning.
func (s *search) searchBase64(text []byte, wanted kinds, torn bool) *Hit {
	for at := 0; at+shortestRun <= len(text); at++ {
		end := at + shortestRun
		if n := lettersBefore(text, end); n < shortestRun {
			at = end - n - 1 // there is a byte of another kind
			continue
		}
		for end < len(text) && sextet[text[end]] >= 0 {
			end++
		}
		if hit := s.searchRun(text, at, end, wanted, torn); hit != nil {
			return hit
		}
		at = end
	}
	return nil
}

// shortestRun is the number of letters that the shortest secret takes in base64.
const shortestRun = minSecret * 4 / 3

// lettersBefore returns how many base64 letters stand before text[end], at most shortestRun.
func lettersBefore(text []byte, end int) (n int) {
	for n < shortestRun && sextet[text[end-1-n]] >= 0 {
		n++
	}
	return n
}

// searchRun searches the run of base64 letters text[start:end]. What the rules describe is
// not looked for: random bytes look like it sooner or later.
func (s *search) searchRun(text []byte, start, end int, wanted kinds, torn bool) *Hit {
	run := text[start:end]
	shifts := s.secrets.shiftsIn(run)
	if shifts == ([4]bool{}) {
		return nil
	}
	if wanted = min(wanted, wellKnown); isOpaqueAt(text, start, torn) {
		wanted = usedSecrets
	}
	buf := s.takeBuffer()
	defer func() { s.returnBuffer(buf) }()
	for shift, isPossible := range shifts {
		if !isPossible {
			continue
		}
		buf = decodeBase64(buf[:0], run[shift:])
		if hit := s.searchText(buf, wanted, false); hit != nil {
			return hit
		}
	}
	return nil
}

// takeBuffer lends an empty buffer; returnBuffer takes it back.
func (s *search) takeBuffer() []byte {
	n := len(s.spare) - 1
	if n < 0 {
		return make([]byte, 0, 4<<10)
	}
	b := s.spare[n]
	s.spare = s.spare[:n]
	return b[:0]
}

func (s *search) returnBuffer(b []byte) {
	if b != nil {
		s.spare = append(s.spare, b)
	}
}
