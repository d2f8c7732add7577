package cassette

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// itemStart is the first line of every item. No other line looks like it: the
// lines of a body are indented further.
const itemStart = "    - request:\n"

// appendItem writes one element of the interactions sequence, in the layout of
// go-vcr v2: keys at 8 spaces, header names and literal lines at 12, header
// values at 16.
func appendItem(dst []byte, in Interaction) []byte {
	dst = appendBody(append(dst, bodyStart...), in.Request.Body)
	dst = appendBody(appendMiddle(dst, in), in.Response.Body)
	return appendEnd(dst, in)
}

// appendMiddle writes what stands between the two bodies of an item.
func appendMiddle(dst []byte, in Interaction) []byte {
	dst = append(dst, "        form: {}\n"...)
	dst = appendHeader(dst, withReserved(in))
	dst = appendField(dst, "url", in.Request.URL)
	dst = appendField(dst, "method", in.Request.Method)
	return append(append(dst, responseStart...), "        body: "...)
}

// appendEnd writes what follows the second body.
func appendEnd(dst []byte, in Interaction) []byte {
	dst = appendHeader(dst, in.Response.Header)
	dst = appendField(dst, "status", statusText(in.Response.Status))
	dst = append(dst, "        code: "...)
	dst = strconv.AppendInt(dst, int64(in.Response.Status), 10)
	dst = append(dst, "\n        duration: "...)
	return append(append(dst, in.Duration.String()...), '\n')
}

// bodyStart is what stands before the first body of an item.
const bodyStart = itemStart + "        body: "

const responseStart = "      response:\n"

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, "        "...), name...), ": "...)
	return append(appendQuoted(dst, value), '\n')
}

// statusText returns go-vcr's status line text. HTTP/2 sends none, so it is
// derived.
func statusText(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code) + " " + http.StatusText(code)
}

// maxImplicitKey is the longest quoted key that may stand before its colon. YAML
// allows 1024 characters, yaml.v3 stops at 128 when it writes.
const maxImplicitKey = 128

func appendHeader(dst []byte, h http.Header) []byte {
	if len(h) == 0 {
		return append(dst, "        headers: {}\n"...)
	}
	dst = append(dst, "        headers:\n"...)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		dst = appendValues(appendKey(dst, name), h[name])
	}
	return dst
}

func appendKey(dst []byte, name string) []byte {
	start := len(dst)
	dst = appendQuoted(append(dst, bodyIndent...), name)
	if len(dst)-start <= len(bodyIndent)+maxImplicitKey {
		return append(dst, ':')
	}
	dst = appendQuoted(append(append(dst[:start], bodyIndent...), "? "...), name)
	return append(append(append(dst, '\n'), bodyIndent...), ':')
}

func appendValues(dst []byte, values []string) []byte {
	if len(values) == 0 {
		return append(dst, " []\n"...)
	}
	dst = append(dst, '\n')
	for _, v := range values {
		dst = append(appendQuoted(append(dst, "                - "...), v), '\n')
	}
	return dst
}
