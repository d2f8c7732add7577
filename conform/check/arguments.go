package check

import (
	"cmp"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
)

// describeArguments says how two arguments differ: where both are JSON, the value that
// differs and not a spelling before it.
func describeArguments(was, is string) difference {
	d := describeTextDifference(was, is)
	a, errA := tree.Parse([]byte(was))
	b, errB := tree.Parse([]byte(is))
	path, what := tree.Diff(a, b)
	if errA != nil || errB != nil || path == "=" {
		return d
	}
	d.sentence = strings.TrimSpace("differs at " + cmp.Or(path, "the top") + ": " + what)
	x, y := valueAt(a, path), valueAt(b, path)
	if x == nil || y == nil || x.Is(tree.Object) || x.Is(tree.Array) {
		return d
	}
	shown := describeTextDifference(x.Raw(), y.Raw())
	d.Comparison = shown.Comparison
	d.sentence = fmt.Sprintf("differs at %s: was %s, is %s", cmp.Or(path, "the top"), cutText(x.Raw(), 3*window),
		cutText(y.Raw(), 3*window))
	if isRounded(x.Raw(), y.Raw()) {
		d.sentence += ", rounded to what a floating-point number holds"
	}
	return d
}

// isRounded reports whether is is the integer was after a detour through a float64.
func isRounded(was, is string) bool {
	f, err := strconv.ParseFloat(was, 64)
	g, err2 := strconv.ParseFloat(is, 64)
	return err == nil && err2 == nil && f == g && !strings.ContainsAny(was, ".eE")
}

// valueAt follows a path of wire.Diff.
func valueAt(n *tree.Node, path string) *tree.Node {
	for path != "" && n != nil {
		if rest, isIndex := strings.CutPrefix(path, "["); isIndex {
			number, rest, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if list := n.List(); err != nil || i >= len(list) {
				return nil
			}
			n, path = n.List()[i], rest
			continue
		}
		name := ""
		for _, candidate := range n.Names() { // a name may hold any character
			if strings.HasPrefix(path[1:], candidate) && len(candidate) >= len(name) {
				name = candidate
			}
		}
		if !n.Is(tree.Object) || len(path) < 1+len(name) {
			return nil
		}
		n, path = n.Get(name), path[1+len(name):]
	}
	return n
}

// editShape is a kind of edit that makes one value of another.
type editShape struct {
	name string
	// editor is what makes such edits on purpose, and no decoder does (R54); empty for others.
	editor string
	fits   func(was, is string) bool
}

const redactor = "the agent's own redactor or sanitiser"

// editShapes recognise what kind of edit made one value of another, the surest first.
var editShapes = []editShape{
	{"it was emptied", "", func(_, is string) bool { return is == "" }},
	{"white space was trimmed or added at its ends", "",
		func(was, is string) bool { return strings.TrimSpace(was) == strings.TrimSpace(is) }},
	{"line ends were changed", redactor,
		func(was, is string) bool { return withoutReturns(was) == withoutReturns(is) }},
	{"it was encoded again, in another base64 alphabet or padding", "",
		func(was, is string) bool { return plainBase64(was) == plainBase64(is) }},
	{"it was escaped for a URL", "",
		func(was, is string) bool { s, err := url.QueryUnescape(is); return err == nil && s == was }},
	{"it was escaped for HTML", redactor, func(was, is string) bool { return html.UnescapeString(is) == was }},
	{"it was escaped for JSON a second time", "", func(was, is string) bool { return jsonEscapes.Replace(is) == was }},
	{"letters changed their case", "", strings.EqualFold},
	{"its Unicode was normalised", redactor,
		func(was, is string) bool { return norm.NFKC.String(was) == norm.NFKC.String(is) }},
	{"its quotes or dashes were made typographic or plain", redactor,
		func(was, is string) bool { return plainMarks.Replace(was) == plainMarks.Replace(is) }},
	{"a redactor wrote over a part of it", redactor, isMaskedWith(redactorMarks)},
	{"bytes were decoded as text and replaced by U+FFFD", redactor, isMaskedWith(replacementMarks)},
	{"it was shortened with an ellipsis", redactor, isMaskedWith(ellipsisMarks)},
	{"its end was cut off", "", strings.HasPrefix},
	{"its beginning was cut off", "", strings.HasSuffix},
	{"something was added behind it", "", func(was, is string) bool { return was != "" && strings.HasPrefix(is, was) }},
	{"something was put before it", "", func(was, is string) bool { return was != "" && strings.HasSuffix(is, was) }},
}

var (
	jsonEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`)
	plainMarks  = strings.NewReplacer("\u201c", `"`, "\u201d", `"`, "\u2018", "'", "\u2019", "'", "\u2013", "-",
		"\u2014", "-", "\u00a0", " ")

	redactorMarks    = regexp.MustCompile(`[\[<({]*(?i:redacted|masked|filtered|scrubbed|removed)[A-Za-z0-9_:-]*[\])>}]*|\*{3,}|\x{2022}{3,}|x{8,}`)
	replacementMarks = regexp.MustCompile(`\x{FFFD}+`)
	ellipsisMarks    = regexp.MustCompile(`\x{2026}|\.{3,}|[\[(]?(?i:truncated)[^\])\n]*[\])]?`)
)

// describeEdit names the kind of edit in words for a message, "" for one of no known kind.
func describeEdit(was, is string) string {
	for _, shape := range editShapes {
		if shape.fits(was, is) {
			return "; " + shape.name
		}
	}
	return ""
}

// cleaningShape is the kind of edit if a redactor or a sanitiser makes such edits, the zero shape for
// every other difference.
func cleaningShape(was, is string) editShape {
	for _, shape := range editShapes {
		if was != is && shape.fits(was, is) {
			if shape.editor == "" {
				break
			}
			return shape
		}
	}
	return editShape{}
}

func withoutReturns(s string) string { return strings.ReplaceAll(s, "\r", "") }

func plainBase64(s string) string {
	return strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
}

// isMaskedWith makes a test whether marks stand in place of parts of a value: the text
// has more of them than it had, and what is left between them stands in the original in
// the same order.
func isMaskedWith(marks *regexp.Regexp) func(was, is string) bool {
	return func(was, is string) bool {
		if len(marks.FindAllString(is, -1)) <= len(marks.FindAllString(was, -1)) {
			return false
		}
		rest := was
		for _, piece := range marks.Split(is, -1) {
			at := strings.Index(rest, piece)
			if at < 0 {
				return false
			}
			rest = rest[at+len(piece):]
		}
		return true
	}
}

// diffMembers is wire.Diff for what a provider reads: proto-JSON takes each of its
// own names in two spellings (reference §1.3).
func diffMembers(provider string, a, b *tree.Node, ignore ...string) (path, what string) {
	path, what = tree.Diff(a, b, ignore...)
	if path == "=" || !wires.Find(provider).Has(wires.TwoSpellings) {
		return path, what
	}
	return tree.Diff(spellLower(a), spellLower(b), ignore...)
}

// freeObjects hold names that are the client's own.
var freeObjects = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true,
	"responseSchema": true, "responseJsonSchema": true, "properties": true,
}

// spellLower returns n with its names in lower camel case, those of free objects aside.
func spellLower(n *tree.Node) *tree.Node {
	if n == nil || len(n.Items()) == 0 {
		return n
	}
	names, items := slices.Clone(n.Names()), slices.Clone(n.Items())
	for i := range items {
		isFree := false
		if n.Is(tree.Object) {
			names[i] = tree.Camel(names[i])
			isFree = freeObjects[names[i]]
		}
		if !isFree {
			items[i] = spellLower(items[i])
		}
	}
	spelled := *n
	spelled.SetMembers(names, items)
	return &spelled
}

// difference says in a sentence how two values differ, and shows it.
type difference struct {
	sentence string
	decide.Comparison
}

// String is the sentence, so that a difference is an argument of a message.
func (d difference) String() string { return d.sentence }

// Bytes of context that excerpts show before and behind a difference.
const (
	textContext    = 32
	tokenContext   = 4
	outlineContext = 100
)
