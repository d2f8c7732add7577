package check

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

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
	{"white space was trimmed or added at its ends", "the agent", func(was, is string) bool { return strings.TrimSpace(was) == strings.TrimSpace(is) }},
	{"line ends were changed", redactor, func(was, is string) bool { return withoutReturns(was) == withoutReturns(is) }},
	{"it was encoded again, in another base64 alphabet or padding", "", func(was, is string) bool { return plainBase64(was) == plainBase64(is) }},
	{"it was escaped for a URL", "", func(was, is string) bool { s, err := url.QueryUnescape(is); return err == nil && s == was }},
	{"it was escaped for HTML", redactor, func(was, is string) bool { return html.UnescapeString(is) == was }},
	{"it was escaped for JSON a second time", "", func(was, is string) bool { return jsonEscapes.Replace(is) == was }},
	{"letters changed their case", "", strings.EqualFold},
	{"its Unicode was normalised", redactor, func(was, is string) bool { return norm.NFKC.String(was) == norm.NFKC.String(is) }},
	{"its quotes or dashes were made typographic or plain", redactor, func(was, is string) bool { return plainMarks.Replace(was) == plainMarks.Replace(is) }},
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
	plainMarks  = strings.NewReplacer("\u201c", `"`, "\u201d", `"`, "\u2018", "'", "\u2019", "'", "\u2013", "-", "\u2014", "-", "\u00a0", " ")

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
