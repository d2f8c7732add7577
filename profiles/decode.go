package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Fault is one thing that is wrong with a profile.
type Fault struct {
	File    string
	Line    int
	Message string
}

// Error is "file:line: message".
func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message) }

// decoder fills a struct from YAML nodes. It goes on after a fault, so that all
// of them are found at once.
type decoder struct {
	file      string
	faults    []*Fault
	templates []placedTemplate
	lines     map[string]int // the line of each key, by its path
}

// placedTemplate is a template and where it stands.
type placedTemplate struct {
	Template
	path string
	line int
}

func (d *decoder) addFault(line int, format string, args ...any) {
	d.faults = append(d.faults, &Fault{d.file, line, fmt.Sprintf(format, args...)})
}

var (
	templateType = reflect.TypeFor[Template]()
	durationType = reflect.TypeFor[time.Duration]()
)

// decodeValue fills v from n. path names the value in messages, "" for the document.
func (d *decoder) decodeValue(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.addFault(n.Line, "%s: anchors and aliases are not allowed; write the value out", cmp.Or(path, "document"))
		return
	}
	d.lines[path] = n.Line
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decodeValue(n, v.Elem(), path)
	case reflect.Struct:
		d.decodeStruct(n, v, path)
	case reflect.Map:
		d.decodeMap(n, v, path)
	case reflect.Slice:
		d.decodeList(n, v, path)
	default:
		d.decodeScalar(n, v, path)
	}
}

func (d *decoder) decodeScalar(n *yaml.Node, v reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		d.addFault(n.Line, "key %q is %s; it must be a text", path, describeNode(n))
	case v.Type() == durationType:
		limit, err := time.ParseDuration(n.Value)
		if err != nil || limit <= 0 {
			d.addFault(n.Line, "key %q: %q is not a duration; write it like 90s or 5m", path, n.Value)
		}
		v.SetInt(int64(limit))
	case n.Tag != "!!str":
		d.addFault(n.Line, "key %q is %s; it must be a text, so put it in quotes: %q", path, describeNode(n), n.Value)
	case strings.ContainsRune(n.Value, 0):
		d.addFault(n.Line, "key %q holds a NUL byte, which no argument and no variable can hold", path)
	default:
		v.SetString(n.Value)
		if v.Type() == templateType {
			d.templates = append(d.templates, placedTemplate{Template(n.Value), path, n.Line})
		}
	}
}

func (d *decoder) decodeList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.addFault(n.Line, "key %q is %s; it must be a list with at least one entry", path, describeNode(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, entry := range n.Content {
		d.decodeValue(entry, list.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(list)
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) {
	all := reflect.MakeMap(v.Type())
	for key, value := range d.eachKey(n, path) {
		entry := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(value, entry, joinPath(path, key.Value))
		all.SetMapIndex(reflect.ValueOf(key.Value), entry)
	}
	v.Set(all)
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	known := map[string]reflect.Value{}
	required := map[string]bool{}
	collectFields(v, known, required)
	for key, value := range d.eachKey(n, path) {
		field, ok := known[key.Value]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			d.addFault(key.Line, "key %q unknown; %s", joinPath(path, key.Value), spelling.Advice(key.Value, names))
			continue
		}
		delete(required, key.Value)
		d.decodeValue(value, field, joinPath(path, key.Value))
	}
	if n.Kind == yaml.MappingNode {
		for _, name := range slices.Sorted(maps.Keys(required)) {
			d.addFault(n.Line, "key %q is missing", joinPath(path, name))
		}
	}
}

// collectFields lists the fields of a struct by their keys, those of inlined
// structs with them.
func collectFields(v reflect.Value, known map[string]reflect.Value, required map[string]bool) {
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			collectFields(v.Field(i), known, required)
		case name != "-":
			known[name] = v.Field(i)
			if option == "required" {
				required[name] = true
			}
		}
	}
}

// eachKey yields the keys of a mapping, each once.
func (d *decoder) eachKey(n *yaml.Node, path string) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			d.addFault(n.Line, "%s is %s; it must be a mapping of keys to values", describePath(path), describeNode(n))
			return
		}
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			switch line, stands := first[key.Value]; {
			case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
				d.addFault(key.Line, "%s has %s as a key; keys are texts", describePath(path), describeNode(key))
			case stands:
				d.addFault(key.Line, "key %q stands twice; it stands in line %d already", joinPath(path, key.Value), line)
			default:
				first[key.Value] = key.Line
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func describePath(path string) string {
	if path == "" {
		return "the document"
	}
	return fmt.Sprintf("key %q", path)
}

// describeNode says what a node is, for people.
func describeNode(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!merge":
		return "a merge key"
	case n.Tag == "!!str":
		return "a text"
	}
	return "a value of type " + strings.TrimPrefix(n.Tag, "!!")
}
