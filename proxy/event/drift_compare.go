package event

import (
	"strconv"
	"strings"
)

// compareGrammars finds how the events of a group differ. It needs old and new
// replies.
func (f *findings) compareGrammars(group string, was, is *grammar) {
	if was == nil || is == nil || was.replies == 0 || is.replies == 0 {
		return
	}
	for name, old := range was.tokens {
		fresh := is.tokens[name]
		if fresh != nil {
			f.compareFields(group, name, old, fresh)
		} else {
			fresh = &token{}
		}
		if name == done || fresh.replies == is.replies || fresh.replies > 0 && old.replies < was.replies {
			continue
		}
		f.addFinding(Finding{Severity: old.absenceSeverity(was.replies), Rule: "event-gone", Group: group, Event: name,
			Old: "in " + strconv.Itoa(old.replies) + " of " + strconv.Itoa(was.replies), New: "in " + strconv.Itoa(fresh.replies) + " of " + strconv.Itoa(is.replies)})
	}
	for name := range is.tokens {
		if was.tokens[name] == nil && name != done {
			f.addFinding(Finding{Severity: Notable, Rule: "event-new", Group: group, Event: name})
		}
	}
	f.compareOrder(group, was, is)
}

// absenceSeverity rates that a reply lacks what was in some of replies. What a
// reply says depends on the model, and a stream without its terminal event is
// reported separately.
func (t *token) absenceSeverity(replies int) Severity {
	switch {
	case t.replies < replies:
		return Cosmetic
	case t.whole && t.kind == "" && !t.last:
		return Breaking
	}
	return Notable
}

func (f *findings) compareFields(group, name string, was, is *token) {
	for path, old := range was.fields {
		fresh := is.fields[path]
		if fresh != nil {
			f.compareKinds(Finding{Group: group, Event: name, Path: path}, old, fresh)
		}
		if x, gone := missingField(was, is, path); gone {
			x.Group, x.Event, x.Path = group, name, path
			f.addFinding(x)
		}
	}
	for path, fresh := range is.fields {
		if was.fields[path] != nil || is.fields[fresh.parent] != nil && was.fields[fresh.parent] == nil {
			continue // known, or part of something that is new
		}
		x := Finding{Severity: Cosmetic, Rule: "field-new", Group: group, Event: name, Path: path, New: kindNames(fresh.kinds)}
		if strings.HasSuffix(path, ")") {
			x.Severity, x.Rule = Notable, "kind-new"
		} else if strings.HasSuffix(path, "]") {
			continue // a list that happened to be empty
		}
		f.addFinding(x)
	}
}

// missingField reports whether a field of the old replies is absent where it
// could be. When its parent is gone too, only the parent is reported.
func missingField(was, is *token, path string) (Finding, bool) {
	old, fresh := was.fields[path], is.fields[path]
	above := is.fields[old.parent]
	if strings.HasSuffix(path, "]") || strings.HasSuffix(path, ")") || above == nil || above.objects == 0 {
		return Finding{}, false
	}
	there := 0
	if fresh != nil {
		there = fresh.count
	}
	then := "in " + strconv.Itoa(old.count) + " of " + strconv.Itoa(was.fields[old.parent].objects)
	now := "in " + strconv.Itoa(there) + " of " + strconv.Itoa(above.objects)
	switch {
	case was.isAlwaysPresent(path) && there < above.objects:
		return Finding{Severity: old.lossSeverity(), Rule: "field-gone", Old: then, New: now}, true
	case !was.isAlwaysPresent(path) && there == 0:
		return Finding{Severity: Cosmetic, Rule: "field-rare", Old: then, New: now}, true
	}
	return Finding{}, false
}

// lossSeverity rates the loss of a field that was always there. A single
// occurrence is not enough evidence; token counts depend on what is counted;
// padding has no reader.
func (f *field) lossSeverity() Severity {
	switch {
	case f.class == Noise:
		return Cosmetic
	case f.class == Usage, f.count < 2:
		return Notable
	}
	return Breaking
}

// compareKinds compares the JSON types of one field.
func (f *findings) compareKinds(x Finding, was, is *field) {
	x.Old, x.New = kindNames(was.kinds), kindNames(is.kinds)
	onlyNull := len(was.kinds) == 1 && was.kinds['n']
	for kind := range is.kinds {
		if kind != 'n' && !was.kinds[kind] && !onlyNull {
			x.Severity, x.Rule = Breaking, "type"
			f.addFinding(x)
			return
		}
	}
	if is.kinds['n'] && !was.kinds['n'] {
		x.Severity, x.Rule = Notable, "null"
		f.addFinding(x)
	}
}
