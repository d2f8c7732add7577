package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
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
		fmt.Fprintf(w, "equal: %s; ids, signatures and times aside\n", recorderenv.Interactions(equal))
	} else {
		fmt.Fprintf(w, "%d of %s equal\n", equal, recorderenv.Interactions(len(d.Pairs)))
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
		fmt.Fprintf(w, "  time     first event %s → %s ms, all %s → %s ms\n", shortMillis(t.OldFirst), shortMillis(t.NewFirst), shortMillis(t.OldTotal), shortMillis(t.NewTotal))
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
