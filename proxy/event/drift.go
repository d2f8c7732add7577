package event

import (
	"cmp"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// Severity says how bad a finding is; a higher one is worse.
type Severity int

// The severities (see the package's description).
const (
	Cosmetic Severity = iota
	Notable
	Breaking
)

var severityNames = []string{"cosmetic", "notable", "breaking"}

// Severities lists the names, mildest first. The slice belongs to the caller.
func Severities() []string { return slices.Clone(severityNames) }

// ParseSeverity reads a name.
func ParseSeverity(name string) (Severity, error) {
	if i := slices.Index(severityNames, name); i >= 0 {
		return Severity(i), nil
	}
	return 0, fmt.Errorf("%s: no severity; one of %s", name, strings.Join(severityNames, ", "))
}

func (s Severity) String() string { return severityNames[s] }

// MarshalText writes the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one difference of shape. It contains names, statuses and JSON
// types, never what was said, so it may be shown anywhere.
type Finding struct {
	Severity Severity `json:"severity"`
	// Rule names the kind of difference: status, media-type, ending, event-gone,
	// event-new, kind-new, field-gone, field-new, field-rare, type, null, order,
	// stop-reason, header-gone, header-new; duty for what servers owe their clients, which others add.
	Rule string `json:"rule"`
	// Group is the provider and the operation: "anthropic stream".
	Group string `json:"group"`
	// Event is the token of the event or block (Part.Token), Path the field
	// in it; "" when the finding is about the whole reply.
	Event string `json:"event,omitempty"`
	Path  string `json:"path,omitempty"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	// Pairs are the numbers of the pairs in which it occurred, when it is about
	// single ones.
	Pairs []int `json:"interactions,omitempty"`
}

// Reply is what is compared of an interaction.
type Reply struct {
	Group    string
	Status   int
	Media    string // media type without parameters
	Header   http.Header
	Events   []Event
	Complete bool // it reached the end that the provider means ([llm.IsComplete])
	End      cassette.End
}

// ReplyOf reads an interaction's reply.
func ReplyOf(in cassette.Interaction) Reply {
	kind := in.Response.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	provider := Provider(in.Request)
	return Reply{
		Group:  strings.TrimSpace(provider + " " + string(Operation(in.Request))),
		Status: in.Response.Status, Media: media, Header: in.Response.Header, Events: Of(in), End: in.End,
		Complete: in.Response.Status != 0 && llm.IsComplete(provider, kind, in.Response.Body),
	}
}

func (r Reply) isSuccess() bool { return r.Status/100 == 2 }

// Pair is a recorded reply and a later one to the same request.
type Pair struct{ Old, New Reply }

// Inconclusive reports whether a status says nothing about the shape of replies: it is about the
// caller's account or a temporary condition, such as a wrong key, no credit, too many requests
// or an overload.
func Inconclusive(status int) bool {
	return slices.Contains([]int{401, 402, 403, 408, 409, 425, 429}, status) || status >= 500 || status == 0
}

// Compare finds what differs in shape. It learns the grammar of the events from
// all old replies of a group together: the more there are, the better it knows
// what is optional. The worst findings come first; the order is fixed.
func Compare(pairs []Pair) []Finding {
	var found findings
	old, fresh := map[string]*grammar{}, map[string]*grammar{}
	for i, p := range pairs {
		found.comparePair(i, p)
		if p.Old.isSuccess() == p.New.isSuccess() {
			group := p.Old.Group
			if !p.Old.isSuccess() {
				group += " error"
			}
			learnReply(old, group, p.Old)
			learnReply(fresh, group, p.New)
		}
	}
	for group, was := range old {
		found.compareGrammars(group, was, fresh[group])
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Event, b.Event), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Old+"\x00"+a.New, b.Old+"\x00"+b.New))
	})
	return found
}

func learnReply(groups map[string]*grammar, group string, r Reply) {
	if groups[group] == nil {
		groups[group] = newGrammar()
	}
	groups[group].learnEvents(r.Events)
}

// Worst returns the highest severity found, and whether there was any finding.
func Worst(found []Finding) (worst Severity, some bool) {
	for _, f := range found {
		worst = max(worst, f.Severity)
	}
	return worst, len(found) > 0
}

type findings []Finding

func (f *findings) addFinding(x Finding) { *f = append(*f, x) }

// addForPair adds a finding about a pair, or adds the pair to an equal finding.
func (f *findings) addForPair(pair int, x Finding) {
	for i, old := range *f {
		if x.Pairs = old.Pairs; slices.Equal([]any{old.Rule, old.Group, old.Path, old.Old, old.New},
			[]any{x.Rule, x.Group, x.Path, x.Old, x.New}) {
			(*f)[i].Pairs = append((*f)[i].Pairs, pair)
			return
		}
	}
	x.Pairs = []int{pair}
	f.addFinding(x)
}

// comparePair compares two replies to one request.
func (f *findings) comparePair(i int, p Pair) {
	group := p.Old.Group
	if p.Old.Status != p.New.Status {
		severity := Notable
		if p.Old.isSuccess() && !p.New.isSuccess() {
			severity = Breaking
		}
		f.addForPair(i, Finding{Severity: severity, Rule: "status", Group: group, Old: strconv.Itoa(p.Old.Status),
			New: strconv.Itoa(p.New.Status)})
	}
	if p.Old.isSuccess() != p.New.isSuccess() {
		return // an error has its own shape
	}
	if p.Old.Media != p.New.Media {
		f.addForPair(i, Finding{Severity: Breaking, Rule: "media-type", Group: group, Old: p.Old.Media,
			New: p.New.Media})
	}
	if p.Old.Complete && !p.New.Complete {
		f.addForPair(i, Finding{Severity: Breaking, Rule: "ending", Group: group, Old: "complete",
			New: "without the provider's terminal event"})
	}
	if a, b := p.Old.End, p.New.End; a != b && a != "" && b != "" && p.Old.Complete == p.New.Complete {
		f.addForPair(i, Finding{Severity: Notable, Rule: "ending", Group: group, Old: string(a), New: string(b)})
	}
	if a, b := stopReasons(p.Old.Events), stopReasons(p.New.Events); a != b {
		f.addForPair(i, Finding{Severity: Notable, Rule: "stop-reason", Group: group, Old: a, New: b})
	}
	f.compareHeaders(i, group, p)
}

// stopKeys are the fields that say why a reply ended.
var stopKeys = []string{"stop_reason", "finish_reason", "finishReason", "blockReason", "incomplete_details.reason"}

// isStop reports whether a path leads to the reason for an ending.
func isStop(path string) bool {
	return slices.ContainsFunc(stopKeys, func(k string) bool { return path == k || strings.HasSuffix(path, "."+k) })
}

// stopReasons returns the reasons that a reply gives for its ending.
func stopReasons(events []Event) string {
	var list []string
	for _, e := range events {
		for _, n := range Nodes(e.Data) {
			if isStop(n.Path) && n.Kind == '"' {
				list = append(list, n.Text())
			}
		}
	}
	return strings.Join(slices.Compact(list), ", ")
}

// transitHeaders are written by intermediaries or apply to one message only.
// Their absence means nothing.
var transitHeaders = []string{"alt-svc", "cf-", "connection", "content-length", "date", "keep-alive", "nel",
	"report-to",
	"server", "set-cookie", "strict-transport-security", "transfer-encoding", "vary", "via", "x-cloud-trace", "x-envoy"}

// Family returns what a response header's name has in common with those of its
// kind: all rate limits of a provider are one family. It is "" for a header that
// does not come from the provider.
func Family(name string) string {
	name = strings.ToLower(name)
	if slices.ContainsFunc(transitHeaders, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return ""
	}
	if before, _, found := strings.Cut(name, "ratelimit"); found {
		return before + "ratelimit-*"
	}
	return name
}

func headerFamilies(h http.Header) map[string]bool {
	set := map[string]bool{}
	for name := range h {
		if family := Family(name); family != "" {
			set[family] = true
		}
	}
	return set
}

func (f *findings) compareHeaders(i int, group string, p Pair) {
	old, fresh := headerFamilies(p.Old.Header), headerFamilies(p.New.Header)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if !fresh[name] {
			f.addForPair(i, Finding{Severity: Notable, Rule: "header-gone", Group: group, Path: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if !old[name] {
			f.addForPair(i, Finding{Severity: Cosmetic, Rule: "header-new", Group: group, Path: name})
		}
	}
}

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
			Old: "in " + strconv.Itoa(old.replies) + " of " + strconv.Itoa(was.replies),
			New: "in " + strconv.Itoa(fresh.replies) + " of " + strconv.Itoa(is.replies)})
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
		x := Finding{Severity: Cosmetic, Rule: "field-new", Group: group, Event: name, Path: path,
			New: kindNames(fresh.kinds)}
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
