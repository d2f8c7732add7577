package repair

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// place is the value in a refused body that the provider blames; nil when it names none
// that exists.
type place struct{ value any }

var (
	pathForm = regexp.MustCompile(`(?:messages|contents|input)(?:\.\d+|\[\d+\])[\w.\[\]]*`)
	pathStep = regexp.MustCompile(`[A-Za-z_]+|\d+`)
)

// pathOf returns the place in the conversation that a refusal names, "" for none.
func pathOf(e *provider.Error) string {
	if path := pathForm.FindString(e.Param); path != "" {
		return path
	}
	return pathForm.FindString(e.Message)
}

// maxPathSteps bounds the walk: the path is the provider's text.
const maxPathSteps = 32

// findPlace follows a path into a body. Steps that lead nowhere are passed over, because
// providers name the variant of a union as well. At least the message must exist, and
// the place is inside of it.
func findPlace(body []byte, path string) place {
	if path == "" || len(body) == 0 {
		return place{}
	}
	var here any
	if json.Unmarshal(body, &here) != nil {
		return place{}
	}
	depth := 0
	for _, step := range pathStep.FindAllString(path, maxPathSteps) {
		switch v := here.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				next, ok = v[camelCase(step)]
			}
			if ok {
				here = next
				depth++
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err == nil && i >= len(v) {
				return place{} // a place that does not exist
			}
			if err == nil {
				here = v[i]
				depth++
			}
		}
	}
	if depth < 2 {
		return place{}
	}
	return place{here}
}

func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

// holdsPart reports whether the place holds the content of an image or file.
func (p place) holdsPart(part *transcript.Part) bool {
	data := base64.StdEncoding.EncodeToString(part.Data)
	return p.value != nil && anyText(p.value, func(s string) bool {
		return len(part.Data) > 0 && strings.HasSuffix(s, data) || part.URL != "" && s == part.URL
	})
}

// holdsBlock reports whether the place is, or is in, a block of a kind: its type, or a
// member of that name.
func (p place) holdsBlock(kind string) bool {
	object, ok := p.value.(map[string]any)
	if !ok {
		return false
	}
	_, hasMember := object[kind]
	return object["type"] == kind || hasMember
}

// anyText reports whether a string in a JSON value matches.
func anyText(value any, matches func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return matches(v)
	case []any:
		for _, e := range v {
			if anyText(e, matches) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if anyText(e, matches) {
				return true
			}
		}
	}
	return false
}
