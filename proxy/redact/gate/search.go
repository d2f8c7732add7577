package gate

import (
	"bytes"
	"compress/gzip"
)

// search holds the state of one Check.
type search struct {
	secrets *secretSet
	exempt  map[string]bool
	spare   [][]byte // buffers for texts with an encoding undone
	gzip    gzip.Reader
}

// searchEverywhere searches text as it is and with its encodings undone. Its
// memory does not grow with the text.
func (s *search) searchEverywhere(text []byte) *Hit {
	if len(text) < word {
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
	if hit := s.searchPlain(text, true, false); hit != nil {
		return hit
	}
	if hit := s.searchPatterns(text, false); hit != nil {
		return hit
	}
	for start := 0; ; start += window - overlap {
		end := min(start+window, len(text))
		if hit := s.searchUnescaped(text[start:end], true, start > 0); hit != nil || end == len(text) {
			return hit
		}
	}
}

// window is how much of a text is decoded at once. Windows overlap by more than
// the longest secret takes, however often it is escaped.
const (
	window  = 64 << 10
	overlap = 16 * longest
)

// searchPlain searches text as it is. keys says whether to look for well-known
// keys as well, and torn that text begins inside a longer one.
func (s *search) searchPlain(text []byte, keys, torn bool) *Hit {
	first, k := &s.secrets.first, uint16(0)
	for last, c := range text {
		if k = nextHead(k, c); !first.has(k) {
			continue
		}
		i := last - 2
		if i < 0 || i+word > len(text) {
			continue
		}
		if secret := s.secrets.secretAt(text, i); secret != "" {
			return &Hit{What: "a credential this process has used", secret: func() string { return secret }}
		}
		if !keys {
			continue
		}
		if kind, key := knownKey(text, i); kind != "" && !s.exempt[textDigest(key)] && !isOpaque(text, i, torn) {
			return newHit(kind, key)
		}
	}
	return nil
}

// searchUnescaped searches a window with its escapes undone, repeatedly while
// there are some, and out of base64.
func (s *search) searchUnescaped(w []byte, keys, torn bool) *Hit {
	if hit := s.searchBase64(w, keys, torn); hit != nil {
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
		if hit := s.searchPlain(out, keys, torn); hit != nil {
			return hit
		}
		if keys {
			if hit := s.searchPatterns(out, torn); hit != nil {
				return hit
			}
		}
		w = out
	}
	return nil
}

// searchBase64 searches every run of base64 letters that could hold a secret, in
// either alphabet, from each of the four positions in a group. A run is decoded only where
// its letters can be those of a secret's beginning.
func (s *search) searchBase64(text []byte, keys, torn bool) *Hit {
	for at := 0; at+shortestRun <= len(text); at++ {
		end := at + shortestRun
		if n := lettersBefore(text, end); n < shortestRun {
			at = end - n - 1 // there is a byte of another kind
			continue
		}
		for end < len(text) && sextet[text[end]] >= 0 {
			end++
		}
		if hit := s.searchRun(text, at, end, keys, torn); hit != nil {
			return hit
		}
		at = end
	}
	return nil
}

// shortestRun is the number of letters that the shortest secret takes in base64.
const shortestRun = shortest * 4 / 3

// lettersBefore returns how many base64 letters stand before text[end], at most shortestRun.
func lettersBefore(text []byte, end int) (n int) {
	for n < shortestRun && sextet[text[end-1-n]] >= 0 {
		n++
	}
	return n
}

// searchRun searches the run of base64 letters text[start:end].
func (s *search) searchRun(text []byte, start, end int, keys, torn bool) *Hit {
	run := text[start:end]
	shifts := s.secrets.shiftsIn(run)
	if shifts == ([4]bool{}) {
		return nil
	}
	keys = keys && !isOpaque(text, start, torn)
	buf := s.takeBuffer()
	defer func() { s.returnBuffer(buf) }()
	for shift, isPossible := range shifts {
		if !isPossible {
			continue
		}
		buf = decodeBase64(buf[:0], run[shift:])
		if hit := s.searchPlain(buf, keys, false); hit != nil {
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
