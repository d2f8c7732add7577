package recorder

import (
	"bytes"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// changes counts what a fresh recording has that the old one had not, by
// requests: equal ones were asked again, the others are new or gone.
type changes struct{ same, added, gone, replies int }

// compare says how the fresh recording differs from the old one.
func (r *refreshing) compare(a *app) {
	fresh, err := cassette.Open(r.recording.path)
	if err != nil {
		a.say("%v", err)
		return
	}
	c := compared(r.old, fresh)
	a.say("%s: %s asked again, %d new, %d gone; %s changed", r.path,
		count(c.same, "request", "requests"), c.added, c.gone, count(c.replies, "reply", "replies"))
}

func compared(old, fresh *cassette.Cassette) (c changes) {
	asked := map[string][]cassette.Interaction{}
	for in := range old.All() {
		id := identity(in.Request)
		asked[id] = append(asked[id], in)
	}
	for in := range fresh.All() {
		id := identity(in.Request)
		before := asked[id]
		if len(before) == 0 {
			c.added++
			continue
		}
		c.same++
		if before[0].Response.Status != in.Response.Status || !bytes.Equal(before[0].Response.Body, in.Response.Body) {
			c.replies++
		}
		asked[id] = before[1:]
	}
	for _, left := range asked {
		c.gone += len(left)
	}
	return c
}

func identity(r cassette.Request) string { return r.Method + " " + r.URL + "\n" + string(r.Body) }
