package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth ends schemas that contain themselves.
const maxDepth = 12

// fillSchema returns a value that fulfils a JSON Schema as tools have them: what is
// required, with word for free text. Types may be in capitals, as Gemini writes
// them. Of conditions between fields it knows nothing.
func fillSchema(schema map[string]any, word string) any {
	f := filler{root: schema, word: word}
	return f.fillValue(schema, maxDepth)
}

type filler struct {
	root map[string]any
	word string
	// nth counts the items of an array that must differ.
	nth int
}

// fillValue is the given one where the schema gives one, else one of its type.
func (f filler) fillValue(s map[string]any, depth int) any {
	s = f.resolveRef(s, depth)
	if v, ok := s["const"]; ok {
		return plainValue(v)
	}
	for _, given := range []string{"default", "example"} {
		if v, ok := s[given]; ok && v != nil {
			return plainValue(v)
		}
	}
	for _, given := range []string{"enum", "examples"} {
		if list := listIn(s, given); len(list) > 0 {
			return plainValue(list[f.nth%len(list)])
		}
	}
	if depth == 0 {
		return nil
	}
	switch schemaType(s) {
	case "object":
		return f.fillObject(s, depth)
	case "array":
		return f.fillArray(s, depth)
	case "integer", "number":
		return f.fillNumber(s)
	case "boolean":
		return false
	case "null":
		return nil
	}
	return f.fillText(s)
}

// resolveRef follows references and takes the first real alternative.
func (f filler) resolveRef(s map[string]any, depth int) map[string]any {
	for range depth {
		if ref, ok := s["$ref"].(string); ok {
			s = f.lookUpRef(ref)
			continue
		}
		next := firstAlternative(s)
		if next == nil {
			return s
		}
		s = next
	}
	return s
}

// objectIn returns a member of a schema that is an object, nil for any other.
func objectIn(s map[string]any, name string) map[string]any {
	object, _ := s[name].(map[string]any)
	return object
}

// listIn returns a member of a schema that is a list, nil for any other.
func listIn(s map[string]any, name string) []any {
	list, _ := s[name].([]any)
	return list
}

func (f filler) lookUpRef(ref string) map[string]any {
	var at any = f.root
	for _, name := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if m, ok := at.(map[string]any); ok && name != "" {
			at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	m, _ := at.(map[string]any)
	return m
}

// firstAlternative is the first of a choice that is more than null, together with
// what stands beside the choice; nil when there is none. Of parts that must all
// hold it takes all.
func firstAlternative(s map[string]any) map[string]any {
	if all := listIn(s, "allOf"); len(all) > 0 {
		m, _ := all[0].(map[string]any)
		if m = mergeSchemas(s, m, "allOf"); len(all) > 1 {
			m["allOf"] = all[1:]
		}
		return m
	}
	for _, of := range []string{"anyOf", "any_of", "oneOf"} {
		for _, one := range listIn(s, of) {
			m, _ := one.(map[string]any)
			if m == nil || schemaType(m) == "null" {
				continue
			}
			return mergeSchemas(s, m, of)
		}
	}
	return nil
}

func mergeSchemas(outer, inner map[string]any, without string) map[string]any {
	all := maps.Clone(outer)
	delete(all, without)
	maps.Copy(all, inner)
	if has := maps.Clone(objectIn(outer, "properties")); has != nil && objectIn(inner, "properties") != nil {
		maps.Copy(has, objectIn(inner, "properties"))
		all["properties"] = has
	}
	if needs := listIn(outer, "required"); needs != nil && listIn(inner, "required") != nil {
		all["required"] = slices.Concat(needs, listIn(inner, "required"))
	}
	return all
}

// schemaType is the schema's type in lower case; of several the first but null.
func schemaType(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return strings.ToLower(t)
	case []any:
		for _, one := range t {
			if name, _ := one.(string); !strings.EqualFold(name, "null") {
				return strings.ToLower(name)
			}
		}
	}
	if s["properties"] != nil {
		return "object"
	}
	if s["items"] != nil {
		return "array"
	}
	return ""
}

// fillObject has what is required; of one that requires nothing the first property
// by name, so that a call says something.
func (f filler) fillObject(s map[string]any, depth int) Object {
	properties := objectIn(s, "properties")
	o := Object{}
	for _, name := range f.fillNamed(s, properties) {
		property := objectIn(properties, name)
		if property == nil {
			property = objectIn(s, "additionalProperties")
		}
		o = append(o, name, f.fillValue(property, depth-1))
	}
	return o
}

// fillNamed are the names that an object has: those required, then others until
// there are enough.
func (f filler) fillNamed(s, properties map[string]any) []string {
	var names []string
	for _, r := range listIn(s, "required") {
		if name, _ := r.(string); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	least := integerOf(s, "minProperties", 0)
	if len(names) == 0 && len(properties) > 0 {
		least = max(least, 1)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(names) < least && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for n := 1; len(names) < min(least, 64); n++ {
		names = append(names, fmt.Sprintf("key%d", n))
	}
	return names
}

func (f filler) fillArray(s map[string]any, depth int) Array {
	items, tuple := objectIn(s, "items"), listIn(s, "prefixItems")
	least := max(integerOf(s, "minItems", 1), len(tuple))
	least = min(least, integerOf(s, "maxItems", least))
	a := Array{}
	for n := range min(least, 64) {
		item := items
		if n < len(tuple) {
			item, _ = tuple[n].(map[string]any)
		}
		if f.nth = 0; s["uniqueItems"] == true {
			f.nth = n
		}
		a = append(a, f.fillValue(item, depth-1))
	}
	return a
}

// fillNumber is the word where it is a number, else the smallest allowed one that is not
// negative without need, or the nth after it.
func (f filler) fillNumber(s map[string]any) any {
	n, ok := floatOf(s, "minimum")
	if !ok {
		n = 1
	}
	if given, err := strconv.Atoi(f.word); err == nil && float64(given) > n {
		n = float64(given)
	}
	if above, ok := floatOf(s, "exclusiveMinimum"); ok && n <= above {
		n = math.Floor(above) + 1
	}
	step, stepped := floatOf(s, "multipleOf")
	if !stepped || step <= 0 {
		step = 1
	}
	n += float64(f.nth) * step
	if most, ok := floatOf(s, "maximum"); ok && n > most {
		n = most
	}
	if below, ok := floatOf(s, "exclusiveMaximum"); ok && n >= below {
		n = math.Ceil(below) - 1
	}
	if stepped {
		n = math.Ceil(n/step) * step
	}
	if schemaType(s) == "integer" || n == math.Trunc(n) {
		return int64(math.Ceil(n))
	}
	return n
}

// formats are values of the formats that tools name.
var formats = map[string]string{
	"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "time": "03:04:05Z", "duration": "PT1H",
	"email": "someone@example.com", "uri": "https://example.com/", "url": "https://example.com/",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "00000000-0000-4000-8000-000000000000",
}

func (f filler) fillText(s map[string]any) string {
	word := f.word
	if f.nth > 0 {
		word = fmt.Sprintf("%s-%d", word, f.nth+1)
	}
	if format, _ := s["format"].(string); formats[format] != "" {
		return formats[format]
	}
	if pattern, _ := s["pattern"].(string); pattern != "" {
		return matchPattern(pattern, word)
	}
	for least := integerOf(s, "minLength", 0); utf8.RuneCountInString(word) < min(least, 4096); {
		word += "." + word
	}
	if most := integerOf(s, "maxLength", -1); most >= 0 && utf8.RuneCountInString(word) > most {
		word = string([]rune(word)[:most])
	}
	return word
}

func floatOf(s map[string]any, name string) (float64, bool) {
	n, ok := s[name].(float64)
	return n, ok
}

// integerOf reads a count; Gemini writes those as strings.
func integerOf(s map[string]any, name string, otherwise int) int {
	switch n := s[name].(type) {
	case float64:
		return int(max(0, min(n, 1<<20)))
	case string:
		var parsed uint32
		if json.Unmarshal([]byte(n), &parsed) == nil {
			return int(min(parsed, 1<<20))
		}
	}
	return otherwise
}

// plainValue is a decoded value as JSON writes it.
func plainValue(v any) any {
	switch v.(type) {
	case map[string]any, []any, float64:
		out, err := json.Marshal(v)
		if err != nil {
			return nil // decoded JSON always encodes
		}
		return json.RawMessage(out)
	}
	return v
}

// matchPattern is a text that a schema's pattern takes: word when it does, else the
// shortest of its own. A pattern that Go cannot read, or whose assertions cannot
// be met this way, leaves word as it is.
func matchPattern(pattern, word string) string {
	re, err := regexp.Compile(pattern)
	if err != nil || re.MatchString(word) {
		return word
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return word
	}
	var out strings.Builder
	spellPattern(&out, tree, maxDepth)
	if !re.MatchString(out.String()) {
		return word
	}
	return out.String()
}

// maxRepeat bounds what a pattern can make one write.
const maxRepeat = 256

func spellPattern(out *strings.Builder, re *syntax.Regexp, depth int) {
	if depth == 0 || out.Len() > 1<<12 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		out.WriteRune(ordinaryRune(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		spellPattern(out, re.Sub[0], depth-1)
	case syntax.OpRepeat:
		for range min(re.Min, maxRepeat) {
			spellPattern(out, re.Sub[0], depth-1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			spellPattern(out, sub, depth-1)
		}
	case syntax.OpAlternate:
		spellPattern(out, re.Sub[0], depth-1)
	default: // what may be left out, and assertions
	}
}

// ordinaryRune is a character of a class, given as pairs of first and last: a letter
// or a digit where there is one.
func ordinaryRune(class []rune) rune {
	for _, r := range "aA0_- " {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	if len(class) == 0 {
		return 'a' // nothing matches
	}
	return class[0]
}
