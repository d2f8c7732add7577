package fault

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Mode is a way to cut a reply into chunks. The zero Mode keeps the recorded
// ones.
type Mode string

// The modes. Those named for a place add a cut in every such place to the
// recorded ones; the others replace the recorded ones.
const (
	OneByte   Mode = "1-byte"    // each byte by itself
	MidRune   Mode = "mid-rune"  // inside every character of several bytes
	MidCRLF   Mode = "mid-crlf"  // between CR and LF, and within blank lines
	MidField  Mode = "mid-field" // inside the names data:, event:, id:, retry:
	Coalesced Mode = "coalesced" // one chunk, when all of it was there
	Blocks    Mode = "64k"       // 65,536 bytes each
	Random    Mode = "random"    // 1 to 1,024 bytes, short ones as likely as long
)

var modes = []Mode{OneByte, MidRune, MidCRLF, MidField, Coalesced, Blocks, Random}

// ParseMode reads MODE or MODE:SEED; seed is nil when none is given.
func ParseMode(text string) (mode Mode, seed *uint64, err error) {
	name, number, seeded := strings.Cut(text, ":")
	if !slices.Contains(modes, Mode(name)) {
		return "", nil, fmt.Errorf("%q: unknown; use one of %s", name, joinWithHint(name, modes))
	}
	if seeded {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return "", nil, fmt.Errorf("%q: the seed is not a whole number from 0 to 18446744073709551615", text)
		}
		seed = &n
	}
	return Mode(name), seed, nil
}

func joinNames[T ~string](names []T) string { return strings.Join(textsOf(names), ", ") }

// joinWithHint lists names, and says which one text was probably meant to be.
func joinWithHint[T ~string](text string, names []T) string {
	return joinNames(names) + spelling.Hint(text, textsOf(names))
}

func textsOf[T ~string](names []T) (texts []string) {
	for _, name := range names {
		texts = append(texts, string(name))
	}
	return texts
}

// Rechunk returns the script with its bytes cut by mode. The bytes do not
// change; pauses of a plan stay where they are, and no chunk spans one. A mode
// whose place does not occur in the body leaves the chunks as they are.
func Rechunk(s Script, mode Mode, dice *rand.Rand) Script {
	body := s.Body()
	var cuts []int
	switch mode {
	case OneByte:
		for i := range body {
			cuts = append(cuts, i)
		}
	case MidRune:
		cuts = append(stepEnds(s.Steps), insideRunes(body, dice)...)
	case MidCRLF:
		cuts = append(stepEnds(s.Steps), insideLineEnds(body)...)
	case MidField:
		cuts = append(stepEnds(s.Steps), insideFields(body, dice)...)
	case Blocks:
		const block = 64 << 10
		for at := block; at < len(body); at += block {
			cuts = append(cuts, at)
		}
	case Random:
		for at := 0; at < len(body); at += 1 + dice.IntN(1<<dice.IntN(11)) {
			cuts = append(cuts, at)
		}
	case Coalesced:
	default:
		return s
	}
	s.Steps = cutSteps(s.Steps, cuts)
	return s
}

// stepEnds returns where the bytes of each step end.
func stepEnds(steps []Step) (offsets []int) {
	at := 0
	for _, step := range steps {
		at += len(step.Data)
		offsets = append(offsets, at)
	}
	return offsets
}

func insideRunes(body []byte, dice *rand.Rand) (cuts []int) {
	for at := 0; at < len(body); {
		_, size := utf8.DecodeRune(body[at:])
		if size > 1 {
			cuts = append(cuts, at+1+dice.IntN(size-1))
		}
		at += size
	}
	return cuts
}

func insideLineEnds(body []byte) (cuts []int) {
	for i := 1; i < len(body); i++ {
		if lineEnd(body[i-1]) && lineEnd(body[i]) {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

func lineEnd(c byte) bool { return c == '\r' || c == '\n' }

// fieldNames are those of the event stream standard.
var fieldNames = [][]byte{[]byte("data:"), []byte("event:"), []byte("id:"), []byte("retry:")}

func insideFields(body []byte, dice *rand.Rand) (cuts []int) {
	for at := range body {
		if at > 0 && !lineEnd(body[at-1]) {
			continue
		}
		for _, name := range fieldNames {
			if bytes.HasPrefix(body[at:], name) {
				cuts = append(cuts, at+1+dice.IntN(len(name)-1))
			}
		}
	}
	return cuts
}
