package check

import (
	"html"
	"net/url"
	"strings"
)

// editShapes recognise what kind of edit made one value of another, the surest first.
var editShapes = []struct {
	name string
	fits func(was, is string) bool
}{
	{"it was emptied", func(_, is string) bool { return is == "" }},
	{"white space was trimmed or added at its ends", func(was, is string) bool { return strings.TrimSpace(was) == strings.TrimSpace(is) }},
	{"line ends were changed", func(was, is string) bool { return withoutReturns(was) == withoutReturns(is) }},
	{"it was encoded again, in another base64 alphabet or padding", func(was, is string) bool { return plainBase64(was) == plainBase64(is) }},
	{"it was escaped for a URL", func(was, is string) bool { s, err := url.QueryUnescape(is); return err == nil && s == was }},
	{"it was escaped for HTML", func(was, is string) bool { return html.UnescapeString(is) == was }},
	{"it was escaped for JSON a second time", func(was, is string) bool { return jsonEscapes.Replace(is) == was }},
	{"letters changed their case", strings.EqualFold},
	{"a redactor wrote over a part of it", func(was, is string) bool {
		return addsAny(was, is, "REDACTED", "[MASKED", "***", "<redacted")
	}},
	{"bytes were decoded as text and replaced by U+FFFD", func(was, is string) bool { return addsAny(was, is, "\uFFFD") }},
	{"it was shortened with an ellipsis", func(was, is string) bool { return addsAny(was, is, "…", "...", "[truncated", "(truncated") }},
	{"its end was cut off", strings.HasPrefix},
	{"its beginning was cut off", strings.HasSuffix},
	{"something was added behind it", func(was, is string) bool { return was != "" && strings.HasPrefix(is, was) }},
	{"something was put before it", func(was, is string) bool { return was != "" && strings.HasSuffix(is, was) }},
}

var jsonEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`)

// editShape names the kind of edit in words for a message, "" for one of no known kind.
func editShape(was, is string) string {
	for _, shape := range editShapes {
		if shape.fits(was, is) {
			return "; " + shape.name
		}
	}
	return ""
}

func withoutReturns(s string) string { return strings.ReplaceAll(s, "\r", "") }

func plainBase64(s string) string {
	return strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
}

// addsAny reports whether is holds one of the parts and was does not.
func addsAny(was, is string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(is, p) && !strings.Contains(was, p) {
			return true
		}
	}
	return false
}
