package specs

import (
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlFault turns a decoder's error into one line that names the entry: the
// decoder knows only lines, the author thinks in ids.
func yamlFault(data []byte, err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if te := (*yaml.TypeError)(nil); errors.As(err, &te) {
		text = te.Errors[0]
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "in type specs.", "in ") + nearestKey(text)
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	line, _ := strconv.Atoi(m[1])
	if id := entryAt(data, line); id != "" {
		return id + ": " + text
	}
	return text
}

// entryAt returns the id of the entry that covers line, "" where there is none.
func entryAt(data []byte, line int) string {
	var entries []yaml.Node
	if yaml.Unmarshal(data, &entries) != nil {
		return ""
	}
	id := ""
	for _, n := range entries {
		if n.Line > line {
			break
		}
		var e struct{ ID string }
		id = ""
		if n.Decode(&e) == nil {
			id = e.ID
		}
	}
	return id
}

var unknownKey = regexp.MustCompile(`field (\S+) not found in type specs\.(\w+)`)

// nearestKey names the key that the author of an unknown one may have meant, "" for
// any other error.
func nearestKey(text string) string {
	m := unknownKey.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	var keys []string
	for _, v := range []any{Requirement{}, Where{}, Source{}, Applies{}, Examples{}, Example{}, ExampleExchange{}, ExampleProcess{}, Thread{}} {
		kind := reflect.TypeOf(v)
		for i := range kind.NumField() {
			if kind.Name() == m[2] {
				key, _, _ := strings.Cut(kind.Field(i).Tag.Get("yaml"), ",")
				keys = append(keys, key)
			}
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return "; " + spelling.Advice(m[1], keys)
}
