package inspector

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"slices"

	"github.com/meerkat-go/conformance/conform/report"
)

// Sizes of chunks in bytes. A border lies where the last bytes have a certain hash, so
// that the same text is cut in the same places wherever it stands.
const (
	minChunk  = 256
	maxChunk  = 16 << 10
	chunkMask = 1<<11 - 1 // a border each 2 KiB, on average
)

// chunkStore keeps every chunk once. It is not safe for concurrent use.
type chunkStore struct {
	known map[[sha256.Size]byte]int // number of the chunk
	// sizes and data are of the chunks since the last pack.
	sizes []int
	data  bytes.Buffer
}

// addBody stores content and says which chunks it consists of.
func (s *chunkStore) addBody(content []byte) *Body {
	body := &Body{Length: len(content)}
	for len(content) > 0 {
		n := chunkLength(content)
		body.appendChunk(s.addChunk(content[:n]))
		content = content[n:]
	}
	return body
}

func (s *chunkStore) addChunk(content []byte) int {
	sum := sha256.Sum256(content)
	number, isKnown := s.known[sum]
	if !isKnown {
		number = len(s.known)
		s.known[sum] = number
		s.sizes = append(s.sizes, len(content))
		s.data.Write(content)
	}
	return number
}

func (b *Body) appendChunk(number int) {
	if k := len(b.Chunks) - 1; k >= 0 && b.Chunks[k][0]+b.Chunks[k][1] == number {
		b.Chunks[k][1]++
		return
	}
	b.Chunks = append(b.Chunks, [2]int{number, 1})
}

// takePack returns the chunks that were added since the last call.
func (s *chunkStore) takePack() (pack Pack, ok bool) {
	if len(s.sizes) == 0 {
		return Pack{}, false
	}
	pack = Pack{Sizes: s.sizes, Data: compressData(s.data.Bytes())}
	s.sizes = nil
	s.data.Reset()
	return pack, true
}

// compressData returns data in gzip.
func compressData(data []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                       // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// chunkLength returns where the first chunk of content ends. The hash is a gear hash:
// each byte shifts the earlier ones out.
func chunkLength(content []byte) int {
	end := min(len(content), maxChunk)
	if end <= minChunk {
		return end
	}
	var hash uint64
	for i, c := range content[:end] {
		hash = hash<<1 + gears[c]
		if i >= minChunk && hash>>32&chunkMask == 0 {
			return i + 1
		}
	}
	return end
}

// gears holds a random number for each byte, the same in every program.
var gears = func() (table [256]uint64) {
	x := uint64(0x9E3779B97F4A7C15)
	for i := range table { // splitmix64
		x += 0x9E3779B97F4A7C15
		z := (x ^ x>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		table[i] = z ^ z>>31
	}
	return table
}()

// Condense returns a page with the exchanges, processes and blocks of those cases only
// in which something was found, for a copy that is kept for long. Verdicts stay. The page
// shares memory with p.
func (p Page) Condense() Page {
	omitted := false
	p.Cases = slices.Clone(p.Cases)
	for i, c := range p.Cases {
		if c.hasFindings() {
			continue
		}
		short := *c
		short.Exchanges, short.Processes, short.Blocks = nil, nil, nil
		p.Cases[i] = &short
		omitted = omitted || len(c.Exchanges) > 0
	}
	if omitted {
		p.Notices = append(slices.Clone(p.Notices),
			"This copy holds the exchanges of those cases only in which something was found.")
	}
	return p
}

// hasFindings reports whether there is something to look at in a case.
func (c *Case) hasFindings() bool {
	isQuiet := c.Verdict == report.Pass || c.Verdict == report.NotApplicable
	return !isQuiet || slices.ContainsFunc(c.Results, func(r Result) bool { return len(r.Findings) > 0 })
}
