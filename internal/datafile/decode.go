package datafile

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// words are those of one tag, with what stands behind "=".
type words map[string]string

func (w words) hasWord(word string) bool {
	_, ok := w[word]
	return ok
}

// field is a field of a struct and the keys that it is read from.
type field struct {
	keys  []string
	index []int
	words words
}

// decodeNode fills v from n. The words are those of the field that holds the value.
func (f *File) decodeNode(n *yaml.Node, v reflect.Value, path string, w words) {
	if n.Kind == yaml.AliasNode && f.options.Aliases {
		n = n.Alias
	}
	f.nodes[path] = n
	if n.Kind == yaml.AliasNode || n.Anchor != "" && !f.options.Aliases {
		f.Add(path, "anchors and aliases are not allowed; write the value out")
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	unmarshaler, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	switch kind := v.Kind(); {
	case kind == reflect.Interface:
		if err := n.Decode(v.Addr().Interface()); err != nil {
			f.Add(path, "%s", strings.Join(strings.Fields(err.Error()), " "))
		}
	case n.Kind == yaml.ScalarNode && isText:
		f.decodeScalar(n, v, path, w, unmarshaler)
	case kind == reflect.Slice:
		f.decodeList(n, v, path, w)
	case kind == reflect.Map || kind == reflect.Struct:
		f.decodeMapping(n, v, path, w)
	default:
		f.decodeScalar(n, v, path, w, nil)
	}
}

// The types that a scalar is read into, with the tags of YAML that they take.
var scalarKinds = map[reflect.Kind]struct{ name, tags string }{
	reflect.String:  {"a text", "!!str"},
	reflect.Bool:    {"true or false", "!!bool"},
	reflect.Int:     {"a whole number", "!!int"},
	reflect.Float64: {"a number", "!!int !!float"},
	reflect.Int64:   {"a duration such as 90s or 5m", "!!str"},
}

func (f *File) decodeScalar(n *yaml.Node, v reflect.Value, path string, w words, unmarshaler encoding.TextUnmarshaler) {
	want := scalarKinds[v.Kind()]
	var err error
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || unmarshaler == nil && !strings.Contains(want.tags, n.Tag):
		err = fmt.Errorf("is %s; it must be %s", describeNode(n), cmp.Or(want.name, "a text"))
		if v.Kind() == reflect.String && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			err = fmt.Errorf("%w, so put it in quotes", err)
		}
	case w.hasWord("filled") || w.hasWord("required"):
		if strings.TrimSpace(n.Value) == "" {
			err = errors.New("is blank; write a text")
		}
	}
	if err == nil && w.hasWord("one") {
		err = OneOf(strings.Fields(w["one"])...)(path, n.Value)
	}
	if err == nil && w.hasWord("is") {
		err = f.options.Rules[w["is"]](path, n.Value)
	}
	if least, minErr := strconv.ParseFloat(w["min"], 64); err == nil && minErr == nil {
		if number, notFinite := strconv.ParseFloat(n.Value, 64); notFinite != nil || number < least {
			err = fmt.Errorf("%s is not a number from %s", n.Value, w["min"])
		}
	}
	switch {
	case err != nil:
	case unmarshaler != nil:
		err = unmarshaler.UnmarshalText([]byte(n.Value))
	case v.Kind() == reflect.Int64:
		var limit time.Duration
		if limit, err = time.ParseDuration(n.Value); limit <= 0 {
			err = fmt.Errorf("%q is not %s", n.Value, want.name)
		}
		v.SetInt(int64(limit))
	default:
		err = n.Decode(v.Addr().Interface())
	}
	if err != nil {
		f.Add(path, "%s", strings.Replace(err.Error(), "error parsing regexp", "is not a regular expression of RE2", 1))
	}
}

func (f *File) decodeList(n *yaml.Node, v reflect.Value, path string, w words) {
	content := n.Content
	switch {
	case w.hasWord("single") && n.Kind == yaml.ScalarNode:
		content = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode || len(content) == 0 && !w.hasWord("empty"):
		f.Add(path, "is %s; it must be a list with at least one entry", describeNode(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(content), len(content))
	for i, entry := range content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if id := findID(entry); path == "" && id != "" && f.nodes[id] == nil {
			at = id
		}
		f.decodeNode(entry, list.Index(i), at, w)
		isSame := func(other *yaml.Node) bool { return other.Value == entry.Value }
		f.AddUnless(!w.hasWord("unique") || !slices.ContainsFunc(content[:i], isSame), at, "%q stands twice",
			entry.Value)
	}
	v.Set(list)
}

// findID is the id of an entry of the outermost list. Faults call the first entry with an id by it.
func findID(entry *yaml.Node) string {
	i := slices.IndexFunc(entry.Content, func(n *yaml.Node) bool { return n.Value == "id" })
	if entry.Kind != yaml.MappingNode || i < 0 || i%2 > 0 {
		return ""
	}
	return entry.Content[i+1].Value
}

// decodeMapping reads a struct, whose keys are known, or a map with any keys.
func (f *File) decodeMapping(n *yaml.Node, v reflect.Value, path string, w words) {
	fields, names := f.fieldsOf(v.Type())
	if n.Kind != yaml.MappingNode {
		f.Add(path, "is %s; it must be a mapping with the keys %s", describeNode(n),
			cmp.Or(strings.Join(names, ", "), "of your choice"))
		return
	}
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMap(v.Type()))
	}
	lines := map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		key, at := pair[0], Join(path, pair[0].Value)
		i := slices.IndexFunc(fields, func(known field) bool { return slices.Contains(known.keys, key.Value) })
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			f.addAt(key, "%s is a key; keys are texts", describeNode(key))
		case lines[key.Value] > 0:
			f.addAt(key, "key %q stands twice; it stands in line %d already", at, lines[key.Value])
		case v.Kind() == reflect.Map:
			if w.hasWord("keys") {
				if err := f.options.Rules[w["keys"]](at, key.Value); err != nil {
					f.addAt(key, "%s: %s", at, err)
				}
			}
			entry := reflect.New(v.Type().Elem()).Elem()
			f.decodeNode(pair[1], entry, at, w)
			v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), entry)
		case i < 0:
			f.addAt(key, "key %q is not known; %s", at, spelling.Advice(key.Value, names))
		default:
			f.decodeNode(pair[1], v.FieldByIndex(fields[i].index), at, fields[i].words)
		}
		lines[key.Value] = key.Line
	}
	f.checkKeys(n, v, path, lines)
}

// checkKeys holds the keys of a mapping to the tags of a struct.
func (f *File) checkKeys(n *yaml.Node, v reflect.Value, path string, given map[string]int) {
	fields, _ := f.fieldsOf(v.Type())
	var choices []string
	for _, known := range fields {
		if known.words.hasWord("required") && given[known.keys[0]] == 0 {
			f.addAt(n, "key %q is missing", Join(path, known.keys[0]))
		}
		if known.words.hasWord("choice") {
			choices = append(choices, known.keys...)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(choices), func(key string) bool { return given[key] == 0 })
	f.AddUnless(choices == nil || len(chosen) == 1, path, "needs exactly one of the keys %s",
		strings.Join(choices, ", "))
	for _, known := range fields {
		if known.words.hasWord("chosen") && len(chosen) > 0 {
			v.FieldByIndex(known.index).SetString(chosen[0])
		}
	}
}

// fieldsOf lists the fields of a struct type, those of inlined structs with them, and their
// keys in order. Maps have none.
func (f *File) fieldsOf(t reflect.Type) (fields []field, names []string) {
	fields, isKnown := f.known[t]
	for i := 0; !isKnown && t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		key, option, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name := t.Field(i).Name; key == "" && f.options.Untagged && t.Field(i).Type.Kind() != reflect.Func {
			key = strings.ToLower(name[:1]) + name[1:]
		}
		w := words{}
		for word := range strings.SplitSeq(t.Field(i).Tag.Get("data"), ",") {
			name, value, _ := strings.Cut(word, "=")
			w[name] = value
		}
		switch {
		case option == "inline" || t.Field(i).Anonymous:
			inner, _ := f.fieldsOf(t.Field(i).Type)
			for _, known := range inner {
				fields = append(fields, field{known.keys, append([]int{i}, known.index...), known.words})
			}
		case w.hasWord("chosen"):
			fields = append(fields, field{nil, []int{i}, w})
		case key != "" && key != "-":
			fields = append(fields, field{append([]string{key}, strings.Fields(w["or"])...), []int{i}, w})
		}
	}
	f.known[t] = fields
	for _, known := range fields {
		names = append(names, known.keys...)
	}
	slices.Sort(names)
	return fields, names
}

// Join is the path of a key below another path.
func Join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

var nodeNames = map[string]string{
	"!!null": "empty", "!!bool": "true or false", "!!int": "a number", "!!float": "a number", "!!merge": "a merge key",
	"!!str": "a text", "!!map": "a mapping", "!!seq": "a list",
}

// describeNode says what a node is, for people.
func describeNode(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		return "an empty list"
	}
	return cmp.Or(nodeNames[n.ShortTag()], "a value of type "+n.ShortTag())
}
