package recorder

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/proxy/event"
)

// difference is how two recordings, or two interactions, differ.
type difference struct {
	Schema string `json:"schema"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Equal  bool   `json:"equal"`
	Pairs  []pair `json:"pairs"`
	// Lost names the interactions that another tool did not keep whole. They are not compared.
	Lost []string `json:"lost,omitempty"`
}

// pair is an interaction of the old recording and the one in the new recording that corresponds to
// it. One without a counterpart has nil on the other side.
type pair struct {
	Old     *int            `json:"old"`
	New     *int            `json:"new"`
	Request string          `json:"request"`
	Asked   []event.Change  `json:"asked,omitempty"`
	Shape   []event.Finding `json:"shape,omitempty"`
	Said    []event.Change  `json:"said,omitempty"`
	Times   *Times          `json:"times,omitempty"`
}

// Times are how long the replies took, in milliseconds. They never make two
// recordings different.
type Times struct {
	OldFirst float64 `json:"old_first_event_ms"`
	NewFirst float64 `json:"new_first_event_ms"`
	OldTotal float64 `json:"old_total_ms"`
	NewTotal float64 `json:"new_total_ms"`
}

func (p pair) isEqual() bool {
	return p.Old != nil && p.New != nil && len(p.Asked)+len(p.Shape)+len(p.Said) == 0
}

func (a *app) diffCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Example: "  recorder diff old.yaml new.yaml\n  recorder diff monday.har tuesday.har\n  recorder diff old.yaml#3 new.yaml#3",
		Use:     "diff A B", Short: "Show what two recordings, or two interactions F#N, say differently",
		Long: `Show what two recordings say differently: the shape first (events, fields,
stop reasons, statuses, headers), then texts and arguments, each in one piece.
Ids, signatures and times that only have other values are not differences.

A and B are cassettes, or anything that recorder import reads: HAR files of a
browser or of mitmproxy, and files of go-vcr, vcrpy, VCR for Ruby and nock.
Those are redacted first, as an import of them is. An interaction without a
body that was there is named and left out.

Exit codes: 0 equal, 1 different, 2 wrong usage, 3 equal but for what was left out.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage("%s: name two recordings, or two interactions as F#N", cmd.Name())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diffRecordings(args[0], args[1], asJSON) },
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) diffRecordings(old, fresh string, asJSON bool) error {
	done := a.ShowElapsed("comparing with " + old)
	d, err := a.DiffFiles(old, fresh)
	done()
	if err != nil {
		return err
	}
	d.Old, d.New = old, fresh
	exit := ExitGate
	switch {
	case d.Equal && len(d.Lost) > 0:
		exit = ExitIncomplete
	case d.Equal:
		exit = ExitOK
	}
	a.SayList("left out", d.Lost)
	if asJSON {
		if err := a.WriteJSON(d); err != nil {
			return err
		}
		return cli.Exit(exit)
	}
	PrintDiff(a.Stdout, d)
	return cli.Exit(exit)
}

// DiffFiles compares two recordings or interactions, each given as FILE or FILE#N.
func (a *app) DiffFiles(old, fresh string) (difference, error) {
	x, err := a.readSide(old)
	if err != nil {
		return difference{}, err
	}
	y, err := a.readSide(fresh)
	if err != nil {
		return difference{}, err
	}
	return compareSides(x, y), nil
}

// side is one of two recordings that are compared, with ids by their common names.
type side struct {
	list     []cassette.Interaction
	numbers  []int // of the interactions in list
	requests [][]event.Field
	replies  [][]event.Item
	isSingle bool     // one interaction was named
	lost     []string // names the interactions that another tool did not keep whole
}

// readSide reads one side of a comparison: FILE, or FILE#N for one interaction.
func (a *app) readSide(arg string) (*side, error) {
	file, n, err := parsePlace(arg)
	if err != nil {
		return nil, err
	}
	if isOfOtherTool(file) {
		return a.readForeignSide(file, n)
	}
	t, err := Read(file, n)
	if err != nil {
		return nil, err
	}
	s := &side{list: t.List, isSingle: n != Everything}
	for i := range t.List {
		s.numbers = append(s.numbers, t.first+i)
	}
	return s.fold(), nil
}

// readForeignSide is readSide for another tool's file. It is redacted and screened as an import
// is, or a diff would print keys.
func (a *app) readForeignSide(file string, n int) (*side, error) {
	rec, err := readRecording(file)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if count := len(rec.Interactions); n >= count {
		return nil, cli.Usage("%s#%d: has %s, counted from 0", file, n, Interactions(count))
	}
	redacts, err := a.Redaction(Own{}, nil)
	if err != nil {
		return nil, err
	}
	s := &side{isSingle: n != Everything}
	list, numbers, lost := prepareAll(redacts, rec)
	for i, in := range list {
		if in, _, err = redacts.Screened(in, true); err != nil {
			return nil, cli.Fail(ExitGate, "%s: interaction %d: %w", file, numbers[i], err)
		}
		if n == Everything || n == numbers[i] {
			s.list, s.numbers = append(s.list, in), append(s.numbers, numbers[i])
		}
	}
	if len(s.list) == 0 {
		return nil, cli.Usage("%s: nothing to compare: %s", file, lost[0])
	}
	if n == Everything {
		for _, what := range lost {
			s.lost = append(s.lost, file+": "+what)
		}
	}
	return s.fold(), nil
}

// isOfOtherTool reports whether a path is a folder, or a file other than a cassette. Such recordings are
// read as a whole; a cassette is read one interaction at a time.
func isOfOtherTool(path string) bool {
	opened, err := os.Open(path)
	if err != nil {
		return false // the reader of cassettes says why
	}
	defer func() { _ = opened.Close() }()
	head := make([]byte, 16)
	length, _ := io.ReadFull(opened, head) // none of a folder
	return !interchange.IsCassette(head[:length])
}

// fold reads the fields of each request and what each reply says.
func (s *side) fold() *side {
	names := event.NewNames()
	for _, in := range s.list {
		s.requests = append(s.requests, event.Fields(in.Request.Body, names))
		s.replies = append(s.replies, event.Fold(event.Of(in), names))
	}
	return s
}

// requestKey is what equal requests have in common, whatever their ids are called.
func (s *side) requestKey(i int) string {
	key := s.list[i].Request.Method + " " + s.list[i].Request.URL
	for _, f := range s.requests[i] {
		if f.Class == event.ID || f.Class == event.Opaque {
			f.Value = ""
		}
		key += "\n" + f.Path + " " + f.Value
	}
	return key
}

// requestAddress is what requests to one operation have in common.
func (s *side) requestAddress(i int) string {
	_, path := HostAndPath(s.list[i].Request.URL)
	return s.list[i].Request.Method + " " + path
}

// compareSides pairs the interactions of two sides and lists where each pair differs.
func compareSides(a, b *side) difference {
	d := difference{Schema: "recorder.diff.v1", Equal: true, Pairs: []pair{}, Lost: slices.Concat(a.lost, b.lost)}
	renaming := event.NewRenaming()
	for _, m := range matchInteractions(a, b) {
		p := pairOf(a, b, m, renaming)
		d.Equal = d.Equal && p.isEqual()
		d.Pairs = append(d.Pairs, p)
	}
	return d
}

// matchInteractions pairs the interactions whose requests are equal, in order, and between them
// those that ask for the same operation, in order. Two interactions that were named by number
// are a pair.
func matchInteractions(a, b *side) [][2]int {
	if a.isSingle && b.isSingle {
		return [][2]int{{0, 0}}
	}
	var out, gap [][2]int
	for _, m := range event.Match(sideKeys(a, a.requestKey), sideKeys(b, b.requestKey)) {
		if m[0] >= 0 && m[1] >= 0 {
			out = append(append(out, matchByAddress(a, b, gap)...), m)
			gap = nil
		} else {
			gap = append(gap, m)
		}
	}
	return append(out, matchByAddress(a, b, gap)...)
}

func sideKeys(s *side, of func(int) string) []string {
	list := make([]string, len(s.list))
	for i := range list {
		list[i] = of(i)
	}
	return list
}

// matchByAddress pairs interactions without an equal request by what they ask for.
func matchByAddress(a, b *side, gap [][2]int) (out [][2]int) {
	var left, right []int
	var leftKeys, rightKeys []string
	for _, m := range gap {
		if m[0] >= 0 {
			left, leftKeys = append(left, m[0]), append(leftKeys, a.requestAddress(m[0]))
		} else {
			right, rightKeys = append(right, m[1]), append(rightKeys, b.requestAddress(m[1]))
		}
	}
	for _, m := range event.Match(leftKeys, rightKeys) {
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

func pairOf(a, b *side, m [2]int, renaming *event.Renaming) (p pair) {
	number := func(s *side, i int) *int {
		if i < 0 {
			return nil
		}
		return &s.numbers[i]
	}
	p.Old, p.New = number(a, m[0]), number(b, m[1])
	if p.New == nil {
		p.Request = a.requestAddress(m[0])
		return p
	}
	p.Request = b.requestAddress(m[1])
	if p.Old == nil {
		return p
	}
	x, y := a.list[m[0]], b.list[m[1]]
	p.Asked = requestChanges(a, b, m, renaming)
	p.Said = event.Changes(a.replies[m[0]], b.replies[m[1]], renaming)
	p.Shape = shapeFindings(event.Compare([]event.Pair{{Old: event.ReplyOf(x), New: event.ReplyOf(y)}}), p.Said)
	p.Times = TimesOf(x, y)
	return p
}

// shapeFindings leaves out the findings that are among the changes of what was said.
func shapeFindings(found []event.Finding, said []event.Change) []event.Finding {
	for i := range found {
		found[i].Pairs = nil // there is only one
	}
	return slices.DeleteFunc(found, func(f event.Finding) bool {
		return slices.ContainsFunc(said, func(c event.Change) bool {
			token, _, _ := strings.Cut(c.Item, " ")
			alone := c.Kind == event.Added || c.Kind == event.Removed
			return c.Kind == event.Stop && f.Rule == "stop-reason" ||
				alone && token == f.Event && (f.Rule == "event-gone" || f.Rule == "event-new")
		})
	})
}

// requestChanges lists how two requests differ.
func requestChanges(a, b *side, m [2]int, renaming *event.Renaming) []event.Change {
	list := event.FieldChanges(a.requests[m[0]], b.requests[m[1]], renaming)
	x, y := a.list[m[0]].Request, b.list[m[1]].Request
	for _, c := range []event.Change{{Path: "URL", Old: x.URL, New: y.URL},
		{Path: "method", Old: x.Method, New: y.Method}} {
		if c.Kind = event.Value; c.Old != c.New {
			list = append([]event.Change{c}, list...)
		}
	}
	return list
}

// TimesOf compares the times of two interactions, in milliseconds.
func TimesOf(a, b cassette.Interaction) *Times {
	first := func(in cassette.Interaction) float64 {
		if events := event.Of(in); len(events) > 0 {
			return inMillis(events[0].At)
		}
		return 0
	}
	return &Times{first(a), first(b), inMillis(a.Duration), inMillis(b.Duration)}
}

func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
