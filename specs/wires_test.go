package specs

import (
	"iter"
	"os"
	"regexp"

	"github.com/meerkat-go/conformance/wires"
)

// The built-in wires import this package. A test of this package that imports them makes Go compile them again, so
// the tests register the facts of the wires alone.
func init() {
	for _, name := range []string{"anthropic", "openai", "gemini", "chat"} {
		facts, err := os.ReadFile("../wires/" + name + "/facts.yaml")
		if err != nil {
			panic(err)
		}
		w := wires.Read(facts)
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
