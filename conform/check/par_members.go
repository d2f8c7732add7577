package check

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// fault is one member of a request that is not as specs/members.yaml describes it.
type fault struct {
	kind faultKind
	at   wire.Place
	rule string
	text string
	// typeName is the type that is not known, "" where another thing is wrong.
	typeName string
	// isUnverified is set where neither a source nor a recording says what the provider does.
	isUnverified bool
}

type faultKind int

const (
	unknownMember faultKind = iota
	missingMember
	wrongType
	outOfRange
	missingBeta
)

// inspection is what a walk over a request's members found, and how many objects it
// compared.
type inspection struct {
	objects int
	faults  []fault
}

// inspectMembers compares a request with the description of its provider's objects.
func inspectMembers(x *exchange) (seen inspection) {
	objects, err := specs.RequestObjects(x.Provider)
	if err != nil || x.req.Doc == nil || x.req.Op != wire.Generate {
		return seen
	}
	w := memberWalk{x: x, objects: objects, betas: betasOf(x), inspection: &seen}
	w.walk(x.req.Doc, "request", "")
	return seen
}

type memberWalk struct {
	*inspection
	x       *exchange
	objects specs.Objects
	betas   []string
}

func (w *memberWalk) add(kind faultKind, n *tree.Node, path, rule, text string) {
	w.faults = append(w.faults, fault{kind: kind, at: wire.Place{Event: -1, Off: n.Offset(), Path: path}, rule: rule, text: text})
}

// walk compares a node that is an object called name, or a list of them.
func (w *memberWalk) walk(n *tree.Node, name, path string) {
	for i, e := range n.List() {
		if at := elementPath(path, i); e.Is(tree.Object) {
			w.walk(e, name, at)
		} else {
			w.add(wrongType, e, at, byProvider(w.x, "A-7", "O-5", "G-3"), "is "+describeKind(e)+", not an object")
		}
	}
	if !n.Is(tree.Object) {
		return
	}
	kind := n.Get("type").Text()
	members := w.objects.Find(name, kind)
	switch {
	case members.IsFree():
		w.inspection.objects++
	case members != nil:
		w.compare(n, members, path)
	case w.objects.IsClosed(name) && (n.Get("type") == nil || kind == "" && w.x.Provider == evidence.OpenAI):
		w.inspection.objects++
		w.add(missingMember, n, path+".type", byProvider(w.x, "A-6", "O-3", ""), "is required and absent")
	case w.objects.IsClosed(name) && (w.x.Provider != evidence.Anthropic || !datedType.MatchString(kind)):
		w.inspection.objects++
		openAI := "O-5"
		if name == "part" || name == "output" {
			openAI = "O-16"
		}
		w.add(unknownMember, n, path, byProvider(w.x, "A-7", openAI, ""), "has the type "+strconv.Quote(cutText(kind, 40))+", which the provider does not know there")
		w.faults[len(w.faults)-1].typeName = kind
	}
}

// datedType is the type of a tool of the provider's own, of which there are ever more.
var datedType = regexp.MustCompile(`_\d{8}$`)

// messageMembers are the members of a WebSocket message beside those of the request.
var messageMembers = []string{"type", "generate", "stream_id"}

// likelyMember says which member was probably meant: one that the object does not have yet.
func likelyMember(name string, sent map[string]bool, members specs.Members) string {
	absent := slices.DeleteFunc(slices.Collect(maps.Keys(members)), func(known string) bool { return sent[known] })
	if meant := spelling.Nearest(name, absent); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}

func (w *memberWalk) compare(n *tree.Node, members specs.Members, path string) {
	w.inspection.objects++
	present := map[string]bool{}
	var sent map[string]bool
	for i, spelled := range n.Names() {
		name, v := spelled, n.Items()[i]
		if w.x.Provider == evidence.Gemini {
			name = camelCase(spelled)
		}
		under := strings.TrimPrefix(path+"."+spelled, ".")
		m, known := members[name]
		if !known && path == "" && w.x.WebSocket > 0 && slices.Contains(messageMembers, name) {
			continue
		}
		if !known {
			if sent == nil {
				sent = setOf(n.Names())
			}
			w.add(unknownMember, v, under, byProvider(w.x, "A-5", "O-4", "G-3"), "is not a member that the provider knows there"+likelyMember(name, sent, members))
			if w.x.Provider == evidence.Gemini && partMember.MatchString(under) {
				w.faults[len(w.faults)-1].typeName = spelled // the kind of a part is the name of its member
			}
			continue
		}
		present[name] = true
		if rule, isEmpty := requiredRule(w.x, name, path, v); m.Required && rule != "" {
			w.add(missingMember, v, under, rule, map[bool]string{true: "is empty", false: "is null"}[isEmpty])
		} else if m.Required && w.x.Provider == evidence.OpenAI && v.Is(tree.Array) && len(v.Items()) == 0 { // our simulator takes it, too
			w.add(missingMember, v, under, "", "is an empty list, of which it is not known whether the provider takes it")
			w.faults[len(w.faults)-1].isUnverified = true
		}
		if m.NotNull && v.Is(tree.Null) {
			w.add(wrongType, v, under, "A-7", "is null; leave it out")
		}
		w.value(v, m, under)
	}
	for name, m := range members {
		if m.Required && !present[name] && !w.isInURL(name, path) {
			rule, _ := requiredRule(w.x, name, path, nil)
			w.add(missingMember, n, strings.TrimPrefix(path+"."+name, "."), rule, "is required and absent")
		}
	}
}

// partMember is the path of a member of one of Gemini's parts.
var partMember = regexp.MustCompile(`^contents\[\d+\]\.parts\[\d+\]\.[^.\[]+$`)

// isName reports whether a member names something, and so is never empty.
func isName(member string) bool {
	return member == "name" || member == "model" || member == "id" || strings.HasSuffix(member, "_id")
}

// isInURL reports whether the clouds name the member in their URL.
func (w *memberWalk) isInURL(name, path string) bool {
	return path == "" && name == "model" && !strings.HasSuffix(strings.SplitN(w.x.Request.URL, "?", 2)[0], "/messages")
}

// requiredRule names the rule that a required member breaks by being absent (v is nil), null or
// empty; "" where it breaks none.
func requiredRule(x *exchange, name, path string, v *tree.Node) (rule string, isEmpty bool) {
	isEmpty = v.Is(tree.Array) && len(v.Items()) == 0 && x.Provider != evidence.OpenAI && !strings.Contains(path, ".") || v.Is(tree.String) && v.Text() == "" && isName(name)
	anthropic, openAI, gemini := "A-6", "O-3", "G-7"
	switch {
	case v == nil:
	case v.Null() && name != "model":
		anthropic, openAI = "A-7", "O-5"
	case v.Null():
	case isEmpty:
		openAI = "O-7"
		anthropic = cmp.Or(map[string]string{"messages": "A-8", "content": "A-12", "name": "A-21", "id": "A-20", "tool_use_id": "A-20"}[name], "A-6")
	default:
		return "", false
	}
	switch {
	case name == "contents":
		gemini = "G-4"
	case name == "name" && strings.Contains(path, "eclarations["):
		gemini = "G-11"
	case name == "name":
		gemini = "G-10"
	}
	return byProvider(x, anthropic, openAI, gemini), isEmpty
}

// value compares one member's value with its description.
func (w *memberWalk) value(v *tree.Node, m specs.Member, path string) {
	if v.Null() {
		return
	}
	rule := byProvider(w.x, "A-7", "O-5", "G-3")
	gemini := w.x.Provider == evidence.Gemini
	isElement := gemini && m.Elements != "" && isOfType(v, m.Elements, gemini) // proto-JSON takes one value for a list
	if m.Types != "" && !isElement && !isOfType(v, m.Types, gemini) {
		w.add(wrongType, v, path, rule, "is "+describeKind(v)+", not "+describeTypes(m.Types))
		return
	}
	isKnown := func(s string) bool { return s == v.Text() || gemini && strings.EqualFold(s, v.Text()) }
	switch {
	case m.Values != nil && v.Is(tree.String) && !slices.ContainsFunc(m.Values, isKnown):
		w.add(wrongType, v, path, rule, "is "+strconv.Quote(cutText(v.Text(), 40))+", not one of "+strings.Join(m.Values, ", "))
	case m.Elements != "":
		for i, e := range v.Items() {
			at := elementPath(path, i)
			if v.Is(tree.Object) {
				at = path + "." + v.Names()[i]
			}
			if e.Null() {
				w.add(wrongType, e, at, rule, "is null, not "+describeTypes(m.Elements))
			}
			w.value(e, specs.Member{Types: m.Elements, Values: m.Values}, at)
		}
	}
	if m.Min != nil || m.Max != nil {
		w.inRange(v, m, path)
	}
	if m.Betas != nil && w.betas != nil && !slices.ContainsFunc(w.betas, func(b string) bool { return hasPrefixOf(b, m.Betas) }) {
		w.add(missingBeta, v, path, "A-5", "belongs to the beta "+strings.Join(m.Betas, " or ")+", which anthropic-beta does not name")
	}
	switch {
	case m.ByName:
		for i, name := range v.Names() {
			w.walk(v.Items()[i], m.Object, path+"."+name)
		}
	case m.Object != "":
		w.walk(v, m.Object, path)
	}
}

func (w *memberWalk) inRange(v *tree.Node, m specs.Member, path string) {
	number, unit, rule := float64(len(v.Items())), map[tree.Kind]string{tree.Array: "elements", tree.Object: "members", tree.String: "characters"}[v.Kind()], byProvider(w.x, "A-7", "O-7", "G-28")
	if v.Is(tree.String) {
		number = float64(utf8.RuneCountInString(v.Text()))
	}
	text := "has " + strconv.Itoa(int(number)) + " " + unit
	if unit == "" {
		var err error
		if number, err = strconv.ParseFloat(v.Raw(), 64); err != nil {
			return
		}
		text, rule = "is "+cutText(v.Raw(), 40), byProvider(w.x, "A-7", "O-6", "G-28")
	}
	if m.Min != nil && number < *m.Min || m.Max != nil && number > *m.Max {
		w.add(outOfRange, v, path, rule, text+", outside "+describeRange(m))
	}
}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// isOfType: proto-JSON takes a number, true and false in quotes.
func isOfType(v *tree.Node, types string, gemini bool) bool {
	switch v.Kind() {
	case tree.String:
		_, err := strconv.ParseFloat(v.Text(), 64)
		return strings.Contains(types, "s") || gemini && strings.ContainsAny(types, "ni") && err == nil ||
			gemini && strings.Contains(types, "b") && (v.Text() == "true" || v.Text() == "false")
	case tree.Integer, tree.Decimal:
		number, err := strconv.ParseFloat(v.Raw(), 64)
		return strings.Contains(types, "n") || strings.Contains(types, "i") && err == nil && number == float64(int64(number))
	case tree.Bool:
		return strings.Contains(types, "b")
	case tree.Array:
		return strings.Contains(types, "a")
	}
	return strings.Contains(types, "o")
}

var typeNames = map[byte]string{'s': "a string", 'n': "a number", 'i': "a whole number", 'b': "true or false", 'a': "a list", 'o': "an object"}

func describeTypes(types string) string {
	names := make([]string, len(types))
	for i := range len(types) {
		names[i] = typeNames[types[i]]
	}
	return strings.Join(names, " or ")
}

func describeKind(v *tree.Node) string {
	if v.Is(tree.Bool) {
		return v.Raw()
	}
	number := "the number " + cutText(v.Raw(), 20)
	return map[tree.Kind]string{tree.String: "a string", tree.Integer: number, tree.Decimal: number, tree.Null: "null", tree.Array: "a list", tree.Object: "an object"}[v.Kind()]
}

func describeRange(m specs.Member) string {
	bound := func(f *float64, none string) string {
		if f == nil {
			return none
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	return bound(m.Min, "…") + " to " + bound(m.Max, "…")
}

// addFaults reports the faults of one kind and counts the objects that were compared.
func (r *report) addFaults(x *exchange, kind faultKind) {
	r.addFaultsIf(x, kind, func(fault) bool { return true })
}

// addFaultsIf is addFaults for those that are to be added.
func (r *report) addFaultsIf(x *exchange, kind faultKind, wanted func(fault) bool) {
	r.addObserved(x.members.objects)
	for _, f := range x.members.faults {
		if f.kind == kind && wanted(f) {
			found := r.addFinding(x, f.at, f.rule, "%s %s", f.at.Path, f.text)
			found.Form = f.rule + f.text
			if f.isUnverified {
				found.Consequence = specs.Degraded
			}
		}
	}
}

// membersKnown: the public APIs refuse what they do not know; clouds and gateways take
// members of their own.
func membersKnown(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.isPublicAPI() && isProvidersModel(x) {
			r.addFaultsIf(x, unknownMember, func(f fault) bool { return f.typeName == "" || !s.wasIssued(f.typeName, x) })
		}
	})
}

// wasIssued reports whether a reply before x holds something of a type: what a provider
// issues it takes back, also where nobody has described it yet.
func (s *Trace) wasIssued(typeName string, x *exchange) bool {
	quoted := []byte(strconv.Quote(typeName))
	return slices.ContainsFunc(s.x[:x.n], func(earlier *exchange) bool {
		return earlier.Provider == x.Provider && bytes.Contains(earlier.Response.Body, quoted)
	})
}

// isIssuedPart reports whether a part of Gemini's is of an unknown kind that the provider
// issued before.
func (s *Trace) isIssuedPart(n *tree.Node, path string, x *exchange) bool {
	if x.Provider != evidence.Gemini || !n.Is(tree.Object) {
		return false
	}
	return slices.ContainsFunc(inspectMembers(x).faults, func(f fault) bool {
		return f.typeName != "" && strings.HasPrefix(f.at.Path, path+".") && s.wasIssued(f.typeName, x)
	})
}

// isProvidersModel reports whether the name is of the provider's own family: an
// address may be that of a gateway that was written over.
func isProvidersModel(x *exchange) bool {
	if x.Provider != evidence.OpenAI || x.req.Model == "" {
		return true
	}
	family := specs.ParseModel(x.req.Model).Family
	return family == "gpt" || family == "o"
}

func membersPresent(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		r.addFaults(x, missingMember)
		prompt, _ := x.member("prompt") // a stored one may name the model
		if model, at := x.member("model"); x.Provider == evidence.OpenAI && model.Null() && prompt.Null() && x.isPublicAPI() {
			r.addFinding(x, at, "O-3", "model is required and absent")
		}
	})
}

func memberTypes(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) { r.addFaults(x, wrongType) })
}

func memberRanges(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		if isProvidersModel(x) {
			r.addFaults(x, outOfRange)
		}
		r.addUnmentionedJSON(x)
	})
}

// addUnmentionedJSON reports a request for JSON of any form whose input does not have the
// word (O-33). Where the provider holds a part of the input, the word may be there.
func (r *report) addUnmentionedJSON(x *exchange) {
	form, at := x.member("text", "format", "type")
	input, _ := x.member("input")
	prompt, _ := x.member("prompt")
	if x.Provider != evidence.OpenAI || form.Text() != "json_object" || input == nil || x.req.Stateful || !prompt.Null() || !isProvidersModel(x) {
		return
	}
	sent := bytes.ToLower(tree.Encode(input))
	if !bytes.Contains(sent, []byte("json")) && !bytes.Contains(sent, []byte(`"item_reference"`)) {
		r.addFinding(x, at, "O-33", "text.format is json_object, and the word JSON is not in the input")
	}
}
