package cassette

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// Loss is what a recording as a whole lacks, according to its closing line. A
// gate rejects a cassette for it, unless the cassette declares to be incomplete.
type Loss struct {
	// Lost is how many interactions could not be saved.
	Lost int `json:"lost"`
	// Recovered is true when the recording was interrupted: what was open then is
	// missing, however much that was.
	Recovered bool `json:"recovered"`
}

// String describes the loss in words, "" when nothing is lacking.
func (l Loss) String() string {
	var lacks []string
	if l.Lost == 1 {
		lacks = append(lacks, "1 interaction was lost when it was recorded")
	} else if l.Lost > 1 {
		lacks = append(lacks, fmt.Sprintf("%d interactions were lost when it was recorded", l.Lost))
	}
	if l.Recovered {
		lacks = append(lacks, "it was interrupted and recovered, so what was open then is not in it")
	}
	return strings.Join(lacks, "; ")
}

// Unfinished returns ErrBusy while a recording of the cassette path continues,
// and ErrTorn when one was interrupted, whether or not there is a finished one.
func Unfinished(path string) error {
	if _, err := os.Lstat(partialPath(path)); err == nil {
		return cmp.Or(unlessBusy(path), newError(partialPath(path), ErrTorn, "an unfinished recording is beside the cassette; run: recorder recover %s, or delete it", terminal.ShellWord(path)))
	}
	return nil
}

// Lose adds to the loss that the closing line will state. Interactions that
// Revise leaves out are counted automatically.
func (w *Writer) Lose(l Loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = Loss{w.loss.Lost + max(l.Lost, 0), w.loss.Recovered || l.Recovered}
}

// Loss returns the loss that the closing line states. A file without seals
// cannot state one.
func (c *Cassette) Loss() Loss { return c.end.Loss }
