package recorder

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/event"
)

// PrintDiff prints the differences for people.
func PrintDiff(w io.Writer, d difference) {
	equal := 0
	for _, p := range d.Pairs {
		switch {
		case p.isEqual():
			equal++
		case p.New == nil:
			fmt.Fprintf(w, "#%d is gone: %s\n", *p.Old, p.Request)
		case p.Old == nil:
			fmt.Fprintf(w, "#%d is new: %s\n", *p.New, p.Request)
		default:
			fmt.Fprintf(w, "#%d ↔ #%d  %s\n", *p.Old, *p.New, p.Request)
			printPair(w, p)
		}
	}
	if d.Equal {
		fmt.Fprintf(w, "equal: %s; ids, signatures and times aside\n", Interactions(equal))
	} else {
		fmt.Fprintf(w, "%d of %s equal\n", equal, Interactions(len(d.Pairs)))
	}
}

func printPair(w io.Writer, p pair) {
	for _, f := range p.Shape {
		fmt.Fprintf(w, "  shape    %s\n", FindingText(f))
	}
	section := func(title string, list []event.Change, want func(event.Change) bool) {
		for _, c := range list {
			if want(c) {
				fmt.Fprintf(w, "  %-8s %s\n", title, changeText(c))
			}
		}
	}
	isError := func(c event.Change) bool { return c.Kind == event.Added && isErrorItem(c) }
	gone := 0 // of a reply in whose place an error came
	if slices.ContainsFunc(p.Said, isError) {
		for _, c := range p.Said {
			if c.Kind == event.Removed {
				gone++
			}
		}
	}
	section("shape", p.Said, isError)
	if gone > 0 {
		fmt.Fprintf(w, "  shape    - the old reply, %s\n", cli.Count(gone, "event or block", "events and blocks"))
	}
	section("shape", p.Said, func(c event.Change) bool {
		return c.Kind.Shape() && !isError(c) && (gone == 0 || c.Kind != event.Removed)
	})
	section("asked", p.Asked, func(event.Change) bool { return true })
	section("said", p.Said, func(c event.Change) bool { return !c.Kind.Shape() && c.Kind != event.Count })
	section("tokens", p.Said, func(c event.Change) bool { return c.Kind == event.Count })
	if t := p.Times; t != nil {
		fmt.Fprintf(w, "  time     first event %s → %s ms, all %s → %s ms\n", shortMillis(t.OldFirst),
			shortMillis(t.NewFirst), shortMillis(t.OldTotal), shortMillis(t.NewTotal))
	}
}

func shortMillis(ms float64) string { return fmt.Sprintf("%.4g", ms) }

// maxError is how many characters of an error are shown: its last words may name the member that
// the provider refused.
const maxError = 1000

func isErrorItem(c event.Change) bool { return strings.HasPrefix(c.Item, "error") }

// changeText returns a change as one line.
func changeText(c event.Change) string {
	where := cmp.Or(terminal.Line(strings.TrimSpace(c.Item+" "+c.Path)), "the body")
	most := maxShown
	if isErrorItem(c) {
		most = maxError
	}
	switch c.Kind {
	case event.Added:
		return strings.TrimSpace("+ " + where + " " + abbreviateTo(most, c.New))
	case event.Removed:
		return strings.TrimSpace("- " + where + " " + abbreviateTo(most, c.Old))
	case event.Text:
		return where + ": " + terminal.Line(wordDiff(c.Old, c.New))
	default: // a value
	}
	switch {
	case c.Old == "":
		return "+ " + where + ": " + Abbreviate(c.New)
	case c.New == "":
		return "- " + where + ": " + Abbreviate(c.Old)
	case len(c.Old)+len(c.New) > maxShown:
		return where + ": " + terminal.Line(wordDiff(c.Old, c.New))
	}
	return where + ": " + Abbreviate(c.Old) + " → " + Abbreviate(c.New)
}

// FindingText returns a finding in words.
func FindingText(f event.Finding) string {
	where := terminal.Line(strings.TrimSpace(f.Event + " " + f.Path))
	if strings.HasPrefix(f.Rule, "header-") {
		where = "header " + where
	}
	switch f.Rule {
	case "status", "media-type", "ending", "stop-reason":
		return fmt.Sprintf("%s: %s → %s", strings.ReplaceAll(f.Rule, "-", " "), Abbreviate(f.Old), Abbreviate(f.New))
	case "event-gone", "header-gone":
		return strings.TrimSpace(fmt.Sprintf("- %s %s", where, oldValue(f)))
	case "event-new", "header-new", "kind-new":
		return "+ " + where
	case "field-gone", "field-rare":
		return strings.TrimSpace(fmt.Sprintf("- %s %s", where, oldValue(f)))
	case "field-new":
		return fmt.Sprintf("+ %s (%s)", where, f.New)
	case "duty":
		return "neglects " + f.New
	case "type", "null":
		return fmt.Sprintf("%s: %s → %s", where, f.Old, f.New)
	}
	return fmt.Sprintf("%s: %s, now %s", where, f.Old, f.New) // order
}

func oldValue(f event.Finding) string {
	if f.Old == "" {
		return ""
	}
	return "(" + f.Old + ", now " + strings.TrimPrefix(f.New, "in ") + ")"
}

const (
	// contextWords is how many words, spaces and signs of what did not change
	// are shown on each side of what did.
	contextWords = 12
	// islandWords is how many unchanged words between two changes are shown as unchanged.
	// Fewer are equal by chance.
	islandWords = 4
	// maxDiffed is how many bytes two texts have together at most to be compared word by word.
	maxDiffed = 1 << 20
	// maxMiddle is how many bytes of a longer text are shown where it differs.
	maxMiddle = 1000
)

// stretch is a run of words that both texts have, or the words of each where they differ.
type stretch struct{ kept, gone, added []string }

// wordDiff returns two texts as one: removed words as [-…-], added words as {+…+}, and
// contextWords of the rest around them.
func wordDiff(old, fresh string) string {
	if old == fresh {
		return old
	}
	if len(old)+len(fresh) > maxDiffed {
		return middleDiff(old, fresh)
	}
	var out strings.Builder
	list := wordStretches(splitWords(old), splitWords(fresh))
	for i, s := range list {
		if s.kept != nil {
			out.WriteString(abridgeWords(s.kept, i > 0, i < len(list)-1))
		}
		if s.gone != nil {
			out.WriteString("[-" + strings.Join(s.gone, "") + "-]")
		}
		if s.added != nil {
			out.WriteString("{+" + strings.Join(s.added, "") + "+}")
		}
	}
	return out.String()
}

// middleDiff is wordDiff for long texts: what is between their common beginning and their common
// end, each part shown to maxMiddle bytes.
func middleDiff(old, fresh string) string {
	begin, shorter := 0, min(len(old), len(fresh))
	for begin < shorter && old[begin] == fresh[begin] {
		begin++
	}
	end := 0
	for end < shorter-begin && old[len(old)-1-end] == fresh[len(fresh)-1-end] {
		end++
	}
	middle := func(text string) string {
		if text = text[begin : len(text)-end]; len(text) > maxMiddle {
			text = text[:maxMiddle] + "…"
		}
		return text
	}
	before, after := old[max(0, begin-maxMiddle/10):begin], old[len(old)-end:][:min(end, maxMiddle/10)]
	return strings.ToValidUTF8("…"+before+"[-"+middle(old)+"-]{+"+middle(fresh)+"+}"+after+"…", "")
}

// wordStretches alternates between what is kept and what is changed.
func wordStretches(a, b []string) (list []stretch) {
	for _, m := range event.Match(a, b) {
		both := m[0] >= 0 && m[1] >= 0
		if n := len(list); n == 0 || (list[n-1].kept != nil) != both {
			list = append(list, stretch{})
		}
		switch last := &list[len(list)-1]; {
		case both:
			last.kept = append(last.kept, a[m[0]])
		case m[0] >= 0:
			last.gone = append(last.gone, a[m[0]])
		default:
			last.added = append(last.added, b[m[1]])
		}
	}

	// Short unchanged runs between two changes are part of the changes.
	var out []stretch
	for i, s := range list {
		inside := i > 0 && i < len(list)-1
		if n := len(out); n > 0 && out[n-1].kept == nil && (s.kept == nil || inside && len(s.kept) < islandWords) {
			out[n-1].gone = append(append(out[n-1].gone, s.kept...), s.gone...)
			out[n-1].added = append(append(out[n-1].added, s.kept...), s.added...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// abridgeWords leaves out the middle of words that did not change, or their
// beginning or end where no change is on that side.
func abridgeWords(kept []string, before, after bool) string {
	head, tail := 0, 0
	if before {
		head = contextWords
	}
	if after {
		tail = contextWords
	}
	if len(kept) <= head+tail {
		return strings.Join(kept, "")
	}
	return strings.Join(kept[:head], "") + "…" + strings.Join(kept[len(kept)-tail:], "")
}

// splitWords splits a text so that nothing is lost: letters and digits stay
// together, and so does white space; every other sign is for itself.
func splitWords(text string) (list []string) {
	start, last := 0, -1
	for i, r := range text {
		kind := i // every sign is a kind of its own
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			kind = -2
		case unicode.IsSpace(r):
			kind = -3
		}
		if i > start && kind != last {
			list = append(list, text[start:i])
			start = i
		}
		last = kind
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}
