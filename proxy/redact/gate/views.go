package gate

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// unescaped undoes percent and JSON escapes wherever they stand in text.
func unescaped(text string) string {
	if !strings.ContainsAny(text, `%\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, n := escape(text[i:])
		if n == 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(r)
		i += n
	}
	return out.String()
}

// escape reads the escape at the start of text and says how long it was.
func escape(text string) (string, int) {
	switch {
	case len(text) >= 3 && text[0] == '%':
		if v, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return string([]byte{byte(v)}), 3
		}
	case len(text) >= 6 && text[0] == '\\' && text[1] == 'u':
		if v, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
			return string(rune(v)), 6
		}
	case len(text) >= 2 && text[0] == '\\' && strings.IndexByte(`"\/`, text[1]) >= 0:
		return text[1:2], 2
	}
	return "", 0
}

// joined puts the strings of a streamed reply together again, name by name: a
// secret may arrive in pieces. Each data line is a JSON document of its own.
func joined(body []byte) string {
	texts := map[string][]byte{}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			collect(texts, data)
		}
	}
	return string(bytes.Join(slices.Collect(maps.Values(texts)), []byte("\n")))
}

// collect appends the string values of a document to the texts of their names,
// as far as the document can be read.
func collect(texts map[string][]byte, document []byte) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(document), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var name string
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return
		}
		if t.Kind() != '"' {
			continue
		}
		// Inside an object every other token is a name.
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
			name = t.String()
		} else {
			texts[name] = append(texts[name], t.String()...)
		}
	}
}

// continuity are the keys under which the providers hand out opaque tokens.
// Random letters there look like anything sooner or later.
var continuity = []string{"signature", "thoughtSignature", "thought_signature", "encrypted_content"}

// opaque reports whether text[at] lies in a base64 value of such a key.
func opaque(text string, at int) bool {
	start := strings.LastIndexByte(text[:at], '"')
	if start < 0 {
		return false
	}
	for _, c := range []byte(text[start+1 : at]) {
		if sextet[c] < 0 {
			return false
		}
	}
	before := strings.TrimRight(text[:start], " \t\n")
	before = strings.TrimRight(strings.TrimSuffix(before, ":"), " \t\n")
	if !strings.HasSuffix(before, `"`) {
		return false
	}
	before = before[:len(before)-1]
	return slices.Contains(continuity, before[strings.LastIndexByte(before, '"')+1:])
}
