// Package datafile reads YAML files into structs whose tags say what the file may hold:
//
//	type Target struct {
//		Model  string   `yaml:"model" data:"required"`
//		Effort string   `yaml:"effort" data:"one=low medium high"`
//		Only   []string `yaml:"only" data:"is=provider,unique"`
//	}
//	var targets map[string]Target
//	d := datafile.Read("targets.yaml", text, &targets, datafile.Options{Rules: rules})
//	if d.OK() && targets["a"].Effort != "" {
//		d.Add("a.effort", "needs a model that thinks")
//	}
//	return d.Err()
//
// Reading is strict: unknown, repeated and missing keys, values of another type, and unless
// [Options] allow them aliases, are faults. All faults are found in one reading, each with file, line, column and
// what to write instead. The words of the tag data, separated by commas:
//
//	required    the key is there; a text is not blank
//	filled      a text is not blank
//	choice      exactly one of the keys with this word is there
//	one=A B     the value, or each entry of a list, is one of these words
//	is=RULE     the text, or each text of a list or mapping, follows the rule of [Options]
//	keys=RULE   each key of a mapping follows the rule
//	min=N       a number is not less, and finite
//	empty       a list may be empty
//	single      one value may stand for a list with one entry
//	unique      no entry of a list stands twice
//	or=A B      other keys for the same field
//	chosen      not read: the key with the word choice that is there
//
// A type with UnmarshalText takes any scalar through it.
package datafile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Rule says what is wrong with the text at a path such as "turns[2].agent", nil when it is
// right.
type Rule func(path, text string) error

// OneOf is the rule that a text is one of some words. Its error names the nearest one.
func OneOf(words ...string) Rule {
	return func(_, text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("%q is not known; use %s%s", text, strings.Join(words, ", "), spelling.Hint(text, words))
	}
}

// Matching is the rule that a text matches an expression; form describes the expression.
func Matching(expression *regexp.Regexp, form string) Rule {
	return func(_, text string) error {
		if expression.MatchString(text) {
			return nil
		}
		return fmt.Errorf("%q is not %s", text, form)
	}
}

// Options bound a file and hold the rules that tags name.
type Options struct {
	// MaxBytes is the longest file that is read; 0 is no limit.
	MaxBytes int
	Rules    map[string]Rule
	// Aliases says that anchors and aliases are allowed: for files of our own.
	Aliases bool
	// Untagged says that a field without a tag is read as well: the key is the field's name with a small
	// first letter.
	Untagged bool
}

// Fault is one thing that is wrong with a file. Line and Column are 0 where the fault is one
// of the whole file.
type Fault struct {
	File         string
	Line, Column int
	Text         string
}

// Error is "file:line:column: text".
func (f *Fault) Error() string {
	at := f.File
	for _, n := range []int{f.Line, f.Column} {
		if n > 0 {
			at += ":" + strconv.Itoa(n)
		}
	}
	return at + ": " + f.Text
}

// File is a file that was read, with what is wrong with it so far.
type File struct {
	name    string
	options Options
	nodes   map[string]*yaml.Node // by path
	faults  []*Fault
	known   map[reflect.Type][]field
}

// Read fills the value that into points to. What [File.Err] returns says whether it may be used.
func Read(name string, data []byte, into any, options Options) *File {
	f := &File{name: name, options: options, nodes: map[string]*yaml.Node{}, known: map[reflect.Type][]field{}}
	if options.MaxBytes > 0 && len(data) > options.MaxBytes {
		f.addAt(new(yaml.Node), "has %d bytes, at most %d are read", len(data), options.MaxBytes)
		return f
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	root := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1}
	switch err := decoder.Decode(&doc); {
	case err != nil && !errors.Is(err, io.EOF):
		// The data is not YAML. The decoder does not always name the line.
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		line := 1
		if m := syntaxLine.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1])
			text = text[len(m[0]):]
		} else if m := syntaxAnchor.FindStringSubmatch(text); m != nil {
			line += bytes.Count(data[:max(0, bytes.Index(data, []byte("*"+m[1])))], []byte("\n"))
		}
		f.addAt(&yaml.Node{Line: line}, "not YAML: %s", strings.Join(strings.Fields(text), " "))
		return f
	case err == nil && !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF):
		f.addAt(new(yaml.Node), "more than one YAML document; keep one")
		return f
	case err == nil:
		root = doc.Content[0]
	}
	f.decodeNode(root, reflect.ValueOf(into).Elem(), "", nil)
	return f
}

// Embedded reads a file that is part of the program. It panics with all that is wrong with the file.
func Embedded[T any](name string, data []byte, options Options) (value T) {
	if err := Read(name, data, &value, options).Err(); err != nil {
		panic(err)
	}
	return value
}

// OK reports whether nothing is wrong with the file so far.
func (f *File) OK() bool { return len(f.faults) == 0 }

// Err joins a [*Fault] for each thing that is wrong, in the order of their places, or is nil.
func (f *File) Err() error {
	slices.SortStableFunc(f.faults, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	var all []error
	for _, fault := range slices.CompactFunc(f.faults, func(a, b *Fault) bool { return *a == *b }) {
		all = append(all, fault)
	}
	return errors.Join(all...)
}

// Line is the line of the value at a path, 0 where there is none.
func (f *File) Line(path string) int {
	if n := f.nodes[path]; n != nil {
		return n.Line
	}
	return 0
}

// Entry is the path of an entry of the outermost list: its id, unless an earlier entry has it.
func (f *File) Entry(i int, id string) string {
	if at := fmt.Sprintf("[%d]", i); f.nodes[at] != nil {
		return at
	}
	return id
}

// Add notes a fault of the value at a path, or where there is none, of what should hold it.
func (f *File) Add(path, format string, args ...any) {
	n, within := f.nodes[path], path
	for n == nil && within != "" {
		within = within[:max(0, strings.LastIndexAny(within, ".["))]
		n = f.nodes[within]
	}
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	f.addAt(cmp.Or(n, &yaml.Node{Line: 1}), "%s", text)
}

// AddUnless is [File.Add] where ok is false.
func (f *File) AddUnless(ok bool, path, format string, args ...any) {
	if !ok {
		f.Add(path, format, args...)
	}
}

func (f *File) addAt(n *yaml.Node, format string, args ...any) {
	f.faults = append(f.faults, &Fault{f.name, n.Line, n.Column, fmt.Sprintf(format, args...)})
}

var (
	syntaxLine   = regexp.MustCompile(`^line (\d+): `)
	syntaxAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// EachFile calls read for every file below fsys that a pattern matches, in order of name, and
// joins the errors. That no file matches is an error as well.
func EachFile(fsys fs.FS, pattern string, read func(name string, data []byte) error) error {
	names, err := fs.Glob(fsys, pattern)
	errs := []error{err}
	if err == nil && len(names) == 0 {
		errs = append(errs, fmt.Errorf("%s: there is no such file", pattern))
	}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err == nil {
			err = read(name, data)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
