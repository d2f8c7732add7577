package recorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/drift"
	"github.com/meerkat-go/conformance/proxy/event"
)

// difference is what two cassettes, or two interactions, do not have in common.
type difference struct {
	Schema string `json:"schema"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Equal  bool   `json:"equal"`
	Pairs  []pair `json:"pairs"`
}

// pair is an interaction of the old cassette and its like in the new one. One
// that is alone has nil on the other side.
type pair struct {
	Old     *int            `json:"old"`
	New     *int            `json:"new"`
	Request string          `json:"request"`
	Asked   []drift.Change  `json:"asked,omitempty"`
	Shape   []drift.Finding `json:"shape,omitempty"`
	Said    []drift.Change  `json:"said,omitempty"`
	Times   *times          `json:"times,omitempty"`
}

// times are how long the replies took, in milliseconds. They never make two
// recordings different.
type times struct {
	OldFirst float64 `json:"old_first_event_ms"`
	NewFirst float64 `json:"new_first_event_ms"`
	OldTotal float64 `json:"old_total_ms"`
	NewTotal float64 `json:"new_total_ms"`
}

func (p pair) equal() bool {
	return p.Old != nil && p.New != nil && len(p.Asked)+len(p.Shape)+len(p.Said) == 0
}

func (a *app) diffCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Show what two cassettes, or two interactions F#N, say differently",
		Long: `Show what two cassettes say differently: the shape first (events, fields,
stop reasons, statuses, headers), then texts and arguments, each in one piece.
Ids, signatures and times that only have other values are no difference.

Exit codes: 0 equal, 1 different, 2 wrong usage.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("%s: name two cassettes, or two interactions as F#N", cmd.Name())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diff(args[0], args[1], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the differences as JSON")
	return cmd
}

func (a *app) diff(old, fresh string, asJSON bool) error {
	x, err := readSide(old)
	if err != nil {
		return err
	}
	y, err := readSide(fresh)
	if err != nil {
		return err
	}
	d := differ(x, y)
	d.Old, d.New = old, fresh
	exit := exitGate
	if d.Equal {
		exit = exitOK
	}
	if asJSON {
		if err := a.json(d); err != nil {
			return err
		}
		return code(exit)
	}
	a.printDiff(d)
	return code(exit)
}

// side is one of the two recordings, its ids by their common names.
type side struct {
	list   []cassette.Interaction
	first  int
	asked  [][]event.Field
	said   [][]event.Item
	lonely bool // one interaction was named
}

func readSide(arg string) (*side, error) {
	file, n, err := place(arg)
	if err != nil {
		return nil, err
	}
	t, err := read(file, n)
	if err != nil {
		return nil, err
	}
	return sideOf(t.list, t.first, n != everything), nil
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
	_, path := hostAndPath(s.list[i].Request.URL)
	return s.list[i].Request.Method + " " + path
}

func differ(a, b *side) difference {
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
	p.Times = timesOf(x, y)
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

func timesOf(a, b cassette.Interaction) *times {
	first := func(in cassette.Interaction) float64 {
		if events := event.Of(in); len(events) > 0 {
			return millis(events[0].At)
		}
		return 0
	}
	return &times{first(a), first(b), millis(a.Duration), millis(b.Duration)}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// printDiff tells people.
func (a *app) printDiff(d difference) {
	w := a.human()
	equal := 0
	for _, p := range d.Pairs {
		switch {
		case p.equal():
			equal++
		case p.New == nil:
			fmt.Fprintf(w, "#%d is gone: %s\n", *p.Old, p.Request)
		case p.Old == nil:
			fmt.Fprintf(w, "#%d is new: %s\n", *p.New, p.Request)
		default:
			fmt.Fprintf(w, "#%d ↔ #%d  %s\n", *p.Old, *p.New, p.Request)
			a.printPair(p)
		}
	}
	if d.Equal {
		fmt.Fprintf(w, "equal: %s; ids, signatures and times aside\n", interactions(equal))
	} else {
		fmt.Fprintf(w, "%d of %s equal\n", equal, interactions(len(d.Pairs)))
	}
}

func (a *app) printPair(p pair) {
	w := a.human()
	for _, f := range p.Shape {
		fmt.Fprintf(w, "  shape    %s\n", sentence(f))
	}
	section := func(title string, list []drift.Change, want func(drift.Kind) bool) {
		for _, c := range list {
			if want(c.Kind) {
				fmt.Fprintf(w, "  %-8s %s\n", title, changed(c))
			}
		}
	}
	section("shape", p.Said, drift.Kind.Shape)
	section("asked", p.Asked, func(drift.Kind) bool { return true })
	section("said", p.Said, func(k drift.Kind) bool { return !k.Shape() && k != drift.Count })
	section("tokens", p.Said, func(k drift.Kind) bool { return k == drift.Count })
	if t := p.Times; t != nil {
		fmt.Fprintf(w, "  time     first event %s → %s ms, all %s → %s ms\n", short(t.OldFirst), short(t.NewFirst), short(t.OldTotal), short(t.NewTotal))
	}
}

func short(ms float64) string { return fmt.Sprintf("%.4g", ms) }

// changed is a change in one line, or for a text of several lines in a block.
func changed(c drift.Change) string {
	where := strings.TrimSpace(c.Item + " " + c.Path)
	switch c.Kind {
	case drift.Added:
		return strings.TrimSpace("+ " + where + " " + printable(c.New))
	case drift.Removed:
		return strings.TrimSpace("- " + where + " " + printable(c.Old))
	case drift.Text:
		return where + ": " + printableLine(wordDiff(c.Old, c.New))
	default: // a value
	}
	switch {
	case c.Old == "":
		return "+ " + where + ": " + printable(c.New)
	case c.New == "":
		return "- " + where + ": " + printable(c.Old)
	case len(c.Old)+len(c.New) > maxShown:
		return where + ": " + printableLine(wordDiff(c.Old, c.New))
	}
	return where + ": " + printable(c.Old) + " → " + printable(c.New)
}

// sentence is a finding in words.
func sentence(f drift.Finding) string {
	where := strings.TrimSpace(f.Event + " " + f.Path)
	if strings.HasPrefix(f.Rule, "header-") {
		where = "header " + where
	}
	switch f.Rule {
	case "status", "media-type", "ending", "stop-reason":
		return fmt.Sprintf("%s: %s → %s", strings.ReplaceAll(f.Rule, "-", " "), printable(f.Old), printable(f.New))
	case "event-gone", "header-gone":
		return strings.TrimSpace(fmt.Sprintf("- %s %s", where, was(f)))
	case "event-new", "header-new", "kind-new":
		return "+ " + where
	case "field-gone", "field-rare":
		return strings.TrimSpace(fmt.Sprintf("- %s %s", where, was(f)))
	case "field-new":
		return fmt.Sprintf("+ %s (%s)", where, f.New)
	case "type", "null":
		return fmt.Sprintf("%s: %s → %s", where, f.Old, f.New)
	}
	return fmt.Sprintf("%s: %s, now %s", where, f.Old, f.New) // order
}

func was(f drift.Finding) string {
	if f.Old == "" {
		return ""
	}
	return "(" + f.Old + ", now " + strings.TrimPrefix(f.New, "in ") + ")"
}
