package scrub

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// step is one part of a JSON path.
type step struct {
	name  string // of a member, "" for an element or any
	index int    // of an element
	any   bool   // every member, or every element
	deep  bool   // at any depth below
}

type path []step

var errPath = errors.New("is not a path; use $ and then .NAME, [N], [*], ..NAME or ['NAME'], as in $.messages[*].content")

// isSpecific reports whether a path names a member or an element somewhere: $..* does not.
func (p path) isSpecific() bool {
	return slices.ContainsFunc(p, func(s step) bool { return !s.any })
}

// parsePath reads a JSON path up to a blank, and returns what follows it.
func parsePath(text string) (p path, rest string, err error) {
	p, rest = path{}, text[1:]
	for rest != "" && rest[0] != ' ' {
		var s step
		switch {
		case strings.HasPrefix(rest, ".."):
			s.deep, rest = true, rest[2:]
			if s.name, rest = cutName(rest); s.name == "" {
				return nil, "", errPath
			}
		case rest[0] == '.':
			if s.name, rest = cutName(rest[1:]); s.name == "" {
				return nil, "", errPath
			}
		case strings.HasPrefix(rest, "[*]"):
			s.any, rest = true, rest[3:]
		case rest[0] == '[':
			if s, rest, err = bracketStep(rest); err != nil {
				return nil, "", err
			}
		default:
			return nil, "", errPath
		}
		if s.name == "*" {
			s.name, s.any = "", true
		}
		p = append(p, s)
	}
	return p, rest, nil
}

// cutName cuts a member's name off.
func cutName(text string) (name, rest string) {
	end := strings.IndexAny(text, ".[ ")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

func bracketStep(text string) (s step, rest string, err error) {
	for _, quote := range []string{"'", `"`} {
		if inner, ok := strings.CutPrefix(text, "["+quote); ok {
			name, rest, ok := strings.Cut(inner, quote+"]")
			if !ok || name == "" {
				return s, "", errPath
			}
			return step{name: name}, rest, nil
		}
	}
	inner, rest, ok := strings.Cut(text[1:], "]")
	n, nerr := strconv.ParseUint(inner, 10, 31)
	if !ok || nerr != nil {
		return s, "", fmt.Errorf("[%s is not an index, so it %w", inner, errPath)
	}
	return step{index: int(n)}, rest, nil
}

// editEach replaces every value that the path leads to. f returns the new value, and
// false to remove a member; a removed element becomes null, so that those behind it
// keep their index.
func (p path) editEach(v any, f func(any) (any, bool)) any {
	if len(p) == 0 {
		v, _ = f(v)
		return v
	}
	s, below := p[0], p[1:]
	change := func(v any) (any, bool) {
		if len(below) == 0 {
			return f(v)
		}
		return below.editEach(v, f), true
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) { // in the order that [Taken] promises
			value := x[name]
			if s.any || s.name == name && s.name != "" {
				if kept, ok := change(value); ok {
					value, x[name] = kept, kept
				} else {
					delete(x, name)
					continue
				}
			}
			if s.deep {
				x[name] = p.editEach(value, f)
			}
		}
	case []any:
		for i, value := range x {
			if s.any && !s.deep || s.name == "" && !s.any && s.index == i {
				value, _ = change(value)
			}
			if s.deep {
				value = p.editEach(value, f)
			}
			x[i] = value
		}
	}
	return v
}
