package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/wires"
)

// Parse reads a plan. Unknown, repeated, missing and misplaced keys are errors:
// "faults.yaml:7: unknown key "after"; …". name is the file's, for those.
func Parse(name string, data []byte) (plan Plan, err error) {
	p := parser{name}
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			plan, err = Plan{}, errors.New(string(fault))
		}
	}()
	return p.readPlan(p.readDocument(data)), nil
}

type parser struct{ name string }

// syntaxError carries an error message up to Parse.
type syntaxError string

func (p parser) failAt(line int, format string, args ...any) {
	panic(syntaxError(fmt.Sprintf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...))))
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// readDocument returns the root of the only document in data.
func (p parser) readDocument(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.failAt(1, "is empty; write a list under the key faults")
	case err != nil:
		text, line := err.Error(), 1
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			line = max(line, lineNumber(m[1]))
		}
		p.failAt(line, "no YAML: %s", strings.ReplaceAll(text, "\n", " "))
	}
	if !errors.Is(dec.Decode(&more), io.EOF) {
		p.failAt(max(more.Line, 1), "a second document; a plan is one")
	}
	return doc.Content[0]
}

func lineNumber(digits string) int {
	n, _ := strconv.Atoi(digits) // "" is not a line
	return n
}

func (p parser) readPlan(root *yaml.Node) Plan {
	plan := Plan{Name: p.name}
	p.readFields(root, map[string]func(*yaml.Node){
		"seed": func(n *yaml.Node) {
			seed, err := strconv.ParseUint(p.readText(n), 10, 64)
			if err != nil {
				p.failAt(n.Line, "seed: %q is not a whole number from 0 to 18446744073709551615", n.Value)
			}
			plan.Seed = &seed
		},
		"faults": func(n *yaml.Node) {
			if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
				p.failAt(n.Line, "faults: expected a list with at least one entry")
			}
			for _, entry := range n.Content {
				plan.Faults = append(plan.Faults, p.readFault(entry))
			}
		},
	}, "faults")
	return plan
}

// readFields reads a mapping by its keys. It refuses aliases: errors could not name the line of
// their value.
func (p parser) readFields(n *yaml.Node, known map[string]func(*yaml.Node), required ...string) {
	if n.Kind != yaml.MappingNode {
		p.failAt(n.Line, "expected a mapping with %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		switch {
		case !ok:
			p.failAt(key.Line, "unknown key %q; known here: %s", key.Value,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[key.Value]:
			p.failAt(key.Line, "key %q stands twice", key.Value)
		case value.Kind == yaml.AliasNode:
			p.failAt(value.Line, "%s: aliases are not read; write the value out", key.Value)
		}
		seen[key.Value] = true
		read(value)
	}
	for _, name := range required {
		if !seen[name] {
			p.failAt(n.Line, "key %q is missing", name)
		}
	}
}

// readFault reads one entry. It reads the kind first, which decides what other
// keys are allowed.
func (p parser) readFault(n *yaml.Node) Fault {
	f := Fault{Line: n.Line, Interaction: -1, Chance: 1, Times: defaultTimes, Count: defaultPings, Value: defaultValue}
	f.Kind = p.readKind(n)
	if f.Kind == kindErrorEvent {
		f.Then = thenTruncate
	}
	form := forms[f.Kind]
	all := p.keyReaders(&f)
	known := map[string]func(*yaml.Node){}
	for _, key := range slices.Concat(commonKeys, form.keys) {
		known[key] = all[key]
	}
	for _, spot := range form.spots {
		known[string(spot)] = func(n *yaml.Node) { p.readPlace(&f, spot, n) }
	}
	p.readFields(n, known, form.required...)
	if f.Place.At == nowhere && len(form.spots) > 0 {
		p.failAt(n.Line, "%s: says not where; add one of %s", f.Kind, joinNames(form.spots))
	}
	if f.Kind == kindStall && f.Place.At == beforeHeader && f.Then == thenTruncate {
		p.failAt(n.Line, "stall: before_header nothing can be truncated; use then: close or reset")
	}
	return f
}

func (p parser) readKind(n *yaml.Node) Kind {
	if n.Kind != yaml.MappingNode {
		p.failAt(n.Line, "expected a mapping with fault, a place, and what else it needs")
	}
	kinds := slices.Sorted(maps.Keys(forms))
	for i := 0; i < len(n.Content); i += 2 {
		if value := n.Content[i+1]; n.Content[i].Value == "fault" {
			if _, ok := forms[Kind(value.Value)]; !ok || value.Kind != yaml.ScalarNode {
				p.failAt(value.Line, "fault: %q is none of %s", value.Value, joinWithHint(value.Value, kinds))
			}
			return Kind(value.Value)
		}
	}
	p.failAt(n.Line, "key \"fault\" is missing; it is one of %s", joinNames(kinds))
	return ""
}

func (p parser) readPlace(f *Fault, spot faultSpot, n *yaml.Node) {
	if f.Place.At != nowhere {
		p.failAt(n.Line, "%s: a fault has one place, this has %s already", spot, f.Place.At)
	}
	f.Place.At = spot
	switch spot {
	case afterEvent:
		f.Place.N = p.readInt(n, 1, math.MaxInt32)
	case atByte:
		f.Place.N = p.readInt(n, 0, math.MaxInt32)
	default:
		if !p.readBool(n) {
			p.failAt(n.Line, "%s: can only be true; leave it out otherwise", spot)
		}
	}
}

// keyReaders returns the reader of each key of a fault, except its places.
func (p parser) keyReaders(f *Fault) map[string]func(*yaml.Node) {
	return map[string]func(*yaml.Node){
		"fault":       func(*yaml.Node) {},
		"interaction": func(n *yaml.Node) { f.Interaction = p.readInt(n, 0, math.MaxInt32) },
		"provider":    func(n *yaml.Node) { f.Provider = p.oneOf(n, wires.Names()...) },
		"operation": func(n *yaml.Node) {
			f.Operation = llm.Operation(p.oneOf(n, string(llm.Stream), string(llm.Unary),
				string(llm.Count), string(llm.Models), string(llm.Other)))
		},
		"nth":     func(n *yaml.Node) { f.Nth = p.readInt(n, 1, math.MaxInt32) },
		"chance":  func(n *yaml.Node) { f.Chance = p.readChance(n) },
		"times":   func(n *yaml.Node) { f.Times = p.readInt(n, 1, math.MaxInt32) },
		"consume": func(n *yaml.Node) { yes := p.readBool(n); f.Consume = &yes },
		"for":     func(n *yaml.Node) { f.For = p.readDuration(n) },
		"every":   func(n *yaml.Node) { f.For = p.readDuration(n) },
		"then": func(n *yaml.Node) {
			f.Then = Then(p.oneOf(n, string(thenContinue), string(thenReset), string(thenClose), string(thenTruncate)))
		},
		"status":      func(n *yaml.Node) { f.Status = p.readInt(n, 400, 599) },
		"retry_after": func(n *yaml.Node) { f.RetryAfter = p.headerValue(n) },
		"headers":     func(n *yaml.Node) { f.Header = p.readHeaders(n) },
		"message":     func(n *yaml.Node) { f.Message = p.readText(n) },
		"text":        func(n *yaml.Node) { f.Text = p.readText(n) },
		"value":       func(n *yaml.Node) { f.Value = p.headerValue(n) },
		"count":       func(n *yaml.Node) { f.Count = p.readInt(n, 1, 100_000) },
		"by": func(n *yaml.Node) {
			if f.By = p.readInt(n, -math.MaxInt32, math.MaxInt32); f.By == 0 {
				p.failAt(n.Line, "by: 0 would be the right length")
			}
		},
	}
}

func (p parser) readText(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.failAt(n.Line, "expected a text; write \"\" for an empty one")
	}
	return n.Value
}

func (p parser) oneOf(n *yaml.Node, allowed ...string) string {
	text := p.readText(n)
	if !slices.Contains(allowed, text) {
		p.failAt(n.Line, "%q is none of %s", text, joinWithHint(text, allowed))
	}
	return text
}

func (p parser) readInt(n *yaml.Node, least, most int) int {
	v, err := strconv.Atoi(p.readText(n))
	if err != nil || v < least || v > most {
		p.failAt(n.Line, "%q is not a whole number from %d to %d", n.Value, least, most)
	}
	return v
}

func (p parser) readChance(n *yaml.Node) float64 {
	v, err := strconv.ParseFloat(p.readText(n), 64)
	if err != nil || !(v > 0 && v <= 1) {
		p.failAt(n.Line, "chance: %q is not a number above 0 and up to 1", n.Value)
	}
	return v
}

func (p parser) readBool(n *yaml.Node) bool { return p.oneOf(n, "true", "false") == "true" }

// maxWait is the longest time in a plan. No client waits as long.
const maxWait = 24 * time.Hour

func (p parser) readDuration(n *yaml.Node) time.Duration {
	v, err := time.ParseDuration(p.readText(n))
	if err != nil || v < 0 || v > maxWait {
		p.failAt(n.Line, "%q is not a time from 0s to 24h; write 30s or 250ms", n.Value)
	}
	return v
}

func (p parser) headerValue(n *yaml.Node) string {
	text := p.readText(n)
	if !httpguts.ValidHeaderFieldValue(text) {
		p.failAt(n.Line, "%q cannot be a header's value", text)
	}
	return text
}

func (p parser) readHeaders(n *yaml.Node) http.Header {
	if n.Kind != yaml.MappingNode {
		p.failAt(n.Line, "headers: expected a mapping of names and values")
	}
	h := http.Header{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i]
		if !httpguts.ValidHeaderFieldName(name.Value) {
			p.failAt(name.Line, "%q cannot be a header's name", name.Value)
		}
		h.Add(name.Value, p.headerValue(n.Content[i+1]))
	}
	return h
}
