package cassette

import (
	"fmt"
	"strings"
)

// Lose says that n interactions more will not be in the recording, because they
// could not be saved: the closing line will tell. Those that Revise leaves out
// count by themselves.
func (w *Writer) Lose(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lacks.lost += max(n, 0)
}

// Lost returns how many interactions could not be saved when the cassette was
// recorded, as far as its closing line says.
func (c *Cassette) Lost() int { return c.end.lost }

// Recovered reports whether the recording was interrupted: what was open then is
// not in the cassette, however much that was.
func (c *Cassette) Recovered() bool { return c.end.recovered }

// Lacks says in words what the recording as a whole lacks, "" when nothing is
// known to: a gate rejects it for that, unless it declares to be incomplete.
func (c *Cassette) Lacks() string {
	var lacks []string
	if n := c.end.lost; n == 1 {
		lacks = append(lacks, "1 interaction was lost when it was recorded")
	} else if n > 1 {
		lacks = append(lacks, fmt.Sprintf("%d interactions were lost when it was recorded", n))
	}
	if c.end.recovered {
		lacks = append(lacks, "it was interrupted and recovered, so what was open then is not in it")
	}
	return strings.Join(lacks, "; ")
}
