package inspect

import (
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/drift"
	"github.com/meerkat-go/conformance/proxy/event"
)

// side is one of the two recordings, its ids by their common names.
type side struct {
	list   []cassette.Interaction
	first  int
	asked  [][]event.Field
	said   [][]event.Item
	lonely bool // one interaction was named
}

func ReadSide(arg string) (*side, error) {
	file, n, err := place(arg)
	if err != nil {
		return nil, err
	}
	t, err := Read(file, n)
	if err != nil {
		return nil, err
	}
	return sideOf(t.List, t.first, n != Everything), nil
}

func sideOf(list []cassette.Interaction, first int, lonely bool) *side {
	s := &side{list: list, first: first, lonely: lonely}
	names := event.NewNames()
	for _, in := range list {
		s.asked = append(s.asked, event.Fields(in.Request.Body, names))
		s.said = append(s.said, event.Fold(event.Of(in), names))
	}
	return s
}

// key is what equal requests have in common, whatever their ids are called.
func (s *side) key(i int) string {
	key := s.list[i].Request.Method + " " + s.list[i].Request.URL
	for _, f := range s.asked[i] {
		if f.Class == event.ID || f.Class == event.Opaque {
			f.Value = ""
		}
		key += "\n" + f.Path + " " + f.Value
	}
	return key
}

// address is what requests to one operation have in common.
func (s *side) address(i int) string {
	_, path := recorderenv.HostAndPath(s.list[i].Request.URL)
	return s.list[i].Request.Method + " " + path
}

func Differ(a, b *side) difference {
	d := difference{Schema: "recorder.diff.v1", Equal: true, Pairs: []pair{}}
	renaming := drift.NewRenaming()
	for _, m := range matched(a, b) {
		p := pairOf(a, b, m, renaming)
		d.Equal = d.Equal && p.equal()
		d.Pairs = append(d.Pairs, p)
	}
	return d
}

// matched pairs the interactions whose requests are equal, in order; of those
// between them the ones that ask the same operation, in order; two that were
// named belong together.
func matched(a, b *side) [][2]int {
	if a.lonely && b.lonely {
		return [][2]int{{0, 0}}
	}
	var out, gap [][2]int
	for _, m := range drift.Match(all(a, a.key), all(b, b.key)) {
		if m[0] >= 0 && m[1] >= 0 {
			out = append(append(out, near(a, b, gap)...), m)
			gap = nil
		} else {
			gap = append(gap, m)
		}
	}
	return append(out, near(a, b, gap)...)
}

func all(s *side, of func(int) string) []string {
	list := make([]string, len(s.list))
	for i := range list {
		list[i] = of(i)
	}
	return list
}

// near pairs what is alone on either side by what it asks.
func near(a, b *side, gap [][2]int) (out [][2]int) {
	var left, right []int
	var leftKeys, rightKeys []string
	for _, m := range gap {
		if m[0] >= 0 {
			left, leftKeys = append(left, m[0]), append(leftKeys, a.address(m[0]))
		} else {
			right, rightKeys = append(right, m[1]), append(rightKeys, b.address(m[1]))
		}
	}
	for _, m := range drift.Match(leftKeys, rightKeys) {
		x := [2]int{-1, -1}
		if m[0] >= 0 {
			x[0] = left[m[0]]
		}
		if m[1] >= 0 {
			x[1] = right[m[1]]
		}
		out = append(out, x)
	}
	return out
}

func pairOf(a, b *side, m [2]int, renaming *drift.Renaming) (p pair) {
	number := func(s *side, i int) *int {
		if i < 0 {
			return nil
		}
		n := s.first + i
		return &n
	}
	p.Old, p.New = number(a, m[0]), number(b, m[1])
	if p.New == nil {
		p.Request = a.address(m[0])
		return p
	}
	p.Request = b.address(m[1])
	if p.Old == nil {
		return p
	}
	x, y := a.list[m[0]], b.list[m[1]]
	p.Asked = asked(a, b, m, renaming)
	p.Said = drift.Changes(a.said[m[0]], b.said[m[1]], renaming)
	p.Shape = shape(drift.Compare([]drift.Pair{{Old: drift.Of(x), New: drift.Of(y)}}), p.Said)
	p.Times = TimesOf(x, y)
	return p
}

// shape leaves out the findings that the changes of what was said show better.
func shape(found []drift.Finding, said []drift.Change) []drift.Finding {
	for i := range found {
		found[i].Pairs = nil // there is only one
	}
	return slices.DeleteFunc(found, func(f drift.Finding) bool {
		return slices.ContainsFunc(said, func(c drift.Change) bool {
			token, _, _ := strings.Cut(c.Item, " ")
			alone := c.Kind == drift.Added || c.Kind == drift.Removed
			return c.Kind == drift.Stop && f.Rule == "stop-reason" ||
				alone && token == f.Event && (f.Rule == "event-gone" || f.Rule == "event-new")
		})
	})
}

// asked is how the requests differ.
func asked(a, b *side, m [2]int, renaming *drift.Renaming) []drift.Change {
	list := drift.Fields(a.asked[m[0]], b.asked[m[1]], renaming)
	x, y := a.list[m[0]].Request, b.list[m[1]].Request
	for _, c := range []drift.Change{{Path: "URL", Old: x.URL, New: y.URL}, {Path: "method", Old: x.Method, New: y.Method}} {
		if c.Kind = drift.Value; c.Old != c.New {
			list = append([]drift.Change{c}, list...)
		}
	}
	return list
}

func TimesOf(a, b cassette.Interaction) *Times {
	first := func(in cassette.Interaction) float64 {
		if events := event.Of(in); len(events) > 0 {
			return millis(events[0].At)
		}
		return 0
	}
	return &Times{first(a), first(b), millis(a.Duration), millis(b.Duration)}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
