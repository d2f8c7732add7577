package script

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"

	"github.com/meerkat-go/conformance/wires"
)

// The built-in wires import this package. A test of this package that imports them makes Go compile them again, so
// the tests register the facts of the wires alone.
func init() {
	names := []string{"anthropic", "openai", "gemini", "chat"} // in the order of wires/all
	if files, _ := filepath.Glob("../../wires/*/facts.yaml"); len(files) != len(names) {
		panic(fmt.Sprintf("%q: name each of them here", files))
	}
	for _, name := range names {
		facts, err := os.ReadFile("../../wires/" + name + "/facts.yaml")
		if err != nil {
			panic(err)
		}
		w := wires.Read(name, facts)
		w.OwnHosts = regexp.MustCompile(name)
		w.Errors.Body = func(int, string) []byte { return nil }
		w.Errors.Event = func(int, string) (string, []byte) { return "", nil }
		w.Ending.IsLast = func([]byte) bool { return false }
		w.Ending.IsWhole = func([]byte, iter.Seq[[]byte]) bool { return false }
		if err := wires.Register(w); err != nil {
			panic(err)
		}
	}
}
