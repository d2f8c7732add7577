// Package corpus finds the recorded traffic of other tools that tests read.
//
// The corpus is not part of this repository. It is the folder named by the
// environment variable MEERKAT_TRAFFIC or, without that, the folder
// shared/traffic beside one of the folders above the test. It holds
// manifest.jsonl and, for each recorded exchange, files
// data/PROVIDER/CASE/NN.request.json, NN.response.json and NN.response.body.
//
// A test that needs the corpus is skipped where it is absent:
//
//	for _, file := range corpus.Files(t, "openai/*/*.response.body") {
//		…
//	}
//
// A test of many cases runs a sample of them, which Sample chooses; .ci/run sets
// MEERKAT_WHOLE, and every case runs.
//
// The package imports neither testing nor anything of this module, so that
// tests on both sides of every wall can use it.
package corpus

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Whole reports whether long tests run all of their cases, not a sample.
func Whole() bool { return os.Getenv("MEERKAT_WHOLE") != "" }

// Sample returns a choice of about one case of n, or of every case if Whole. It logs its
// seed; MEERKAT_SEED repeats the choice.
func Sample(tb interface {
	Helper()
	Logf(format string, args ...any)
}, n int,
) (chosen func() bool) {
	tb.Helper()
	if Whole() {
		return func() bool { return true }
	}
	seed, err := strconv.ParseUint(os.Getenv("MEERKAT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64() //nolint:gosec // a sample, no secret
	}
	tb.Logf("a sample, one of %d; MEERKAT_SEED=%d repeats it, MEERKAT_WHOLE=1 runs all", n, seed)
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample, no secret
	return func() bool { return dice.IntN(n) == 0 }
}

// TB is what Dir and Files need of a *testing.T, *testing.B or *testing.F.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Find returns the folder of the corpus, and whether it exists.
func Find() (dir string, found bool) {
	if dir := os.Getenv("MEERKAT_TRAFFIC"); dir != "" {
		return dir, isCorpus(dir)
	}
	at, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if dir := filepath.Join(at, "shared", "traffic"); isCorpus(dir) {
			return dir, true
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", false
		}
		at = parent
	}
}

func isCorpus(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "manifest.jsonl"))
	return err == nil
}

// Dir returns the folder of the corpus, or skips the test.
func Dir(tb TB) string {
	tb.Helper()
	dir, found := Find()
	if !found {
		tb.Skip("no recorded traffic; set MEERKAT_TRAFFIC to the folder that holds its manifest.jsonl")
	}
	return dir
}

// ChatDir returns the folder of the recorded traffic of Chat Completions, which stands beside the
// corpus and has its form, or skips the test.
func ChatDir(tb TB) string {
	tb.Helper()
	dir := Dir(tb) + "-chat"
	if !isCorpus(dir) {
		tb.Skip("no recorded traffic of Chat Completions; its folder is " + dir)
	}
	return dir
}

// Files returns the sorted paths of the corpus files that match pattern, which
// is read below the folder data, as filepath.Glob reads it. It skips the test
// without a corpus and fails it when nothing matches.
func Files(tb TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(tb), "data", filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		tb.Fatal("no file of the corpus matches", pattern, err)
	}
	return files
}
