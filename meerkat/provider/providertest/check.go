package providertest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Paths makes the two parsers of a provider: one that takes the fast path where
// it can, one that never does.
type Paths struct {
	Fast, General func(stream.Options) stream.Parser
}

// Check holds both paths, strict and lenient, whole and cut into random pieces,
// against each other: all must come to the same outcome. It returns the strict
// one.
func (p Paths) Check(tb testing.TB, body []byte, rng *rand.Rand) Outcome {
	tb.Helper()
	var strict Outcome
	for _, lenient := range []bool{true, false} {
		opts := stream.Options{Lenient: lenient}
		strict = Parse(p.General(opts), body)
		p.checkSame(tb, "fast path", strict, Parse(p.Fast(opts), body))
		p.checkSame(tb, "fast path in pieces", strict, Parse(p.Fast(opts), cutReply(body, rng)...))
		p.checkSame(tb, "general path in pieces", strict, Parse(p.General(opts), cutReply(body, rng)...))
	}
	return strict
}

func (p Paths) checkSame(tb testing.TB, what string, want, got Outcome) {
	tb.Helper()
	if got != want {
		tb.Fatalf("%s:\n%s\nthe general path on the whole says:\n%s", what, got, want)
	}
}

// CheckEverySplit compares the outcomes of body cut in two at every byte, and
// byte by byte.
func (p Paths) CheckEverySplit(tb testing.TB, body []byte) {
	tb.Helper()
	want := Parse(p.Fast(stream.Options{}), body)
	for i := range len(body) + 1 {
		p.checkSame(tb, "cut in two", want, Parse(p.Fast(stream.Options{}), body[:i], body[i:]))
	}
	p.checkSame(tb, "byte by byte", want, Parse(p.Fast(stream.Options{}), Bytes(body)...))
}

// CheckMutations checks n bodies that differ from body in a few bytes: the
// bytes that JSON and event streams are made of, put in, taken out or doubled.
func (p Paths) CheckMutations(tb testing.TB, body []byte, n int) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(body)), uint64(n)))
	const marks = "\"\\{}[],:0-e. \n\rntu"
	for range n {
		b := bytes.Clone(body)
		for range 1 + rng.IntN(2) {
			i := rng.IntN(len(b))
			switch mark := marks[rng.IntN(len(marks))]; rng.IntN(4) {
			case 0:
				b = slices.Insert(b, i, mark)
			case 1:
				b = slices.Delete(b, i, i+1)
			case 2:
				b[i] = mark
			case 3:
				end := min(len(b), i+1+rng.IntN(20))
				b = slices.Insert(b, i, b[i:end]...)
			}
		}
		p.Check(tb, b, rng)
	}
}

// Fuzz looks for a body on which the paths or the splits disagree, or that
// breaks a parser. The seeds are streams of the provider; the corpus, where it
// is present, adds its shortest.
func (p Paths) Fuzz(f *testing.F, provider string, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s, uint64(1))
		f.Add(bytes.ReplaceAll(s, []byte("\n"), []byte("\r\n")), uint64(2))
	}
	if dir, ok := corpus.Find(); ok {
		exchanges, err := loadCorpus(dir, provider)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range exchanges {
			if e.Status == 200 && len(e.Body) < 2000 && e.Streamed() {
				f.Add(e.Body, uint64(len(e.Body)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		p.Check(t, body, rand.New(rand.NewPCG(seed, 0)))
	})
}
