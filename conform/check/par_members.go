package check

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/members"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// MemberNames are the names of all members that requests may have.
func MemberNames() map[string]bool {
	names := map[string]bool{}
	for _, b := range rules.Books() {
		maps.Copy(names, b.Members().Names())
	}
	return names
}

// messageMembers are the members of a WebSocket message beside those of the request.
var messageMembers = []string{"type", "generate", "stream_id"}

// inspectMembers compares a request with the description of its provider's objects.
func inspectMembers(x *exchange) *members.Found {
	book := rules.Books()[x.Provider]
	if book == nil || x.req.Doc == nil || x.req.Op != wire.Generate {
		return &members.Found{}
	}
	found := book.Members().Walk(x.req.Doc, "request", betasOf(x))
	found.Faults = slices.DeleteFunc(found.Faults, func(f members.Fault) bool {
		path := f.At.String()
		switch {
		case f.Side == members.SimulatorOnly:
			return true
		case f.Kind == members.Missing && path == "model": // the clouds name it in their URL
			return !strings.HasSuffix(strings.SplitN(x.Request.URL, "?", 2)[0], "/messages")
		case f.Kind == members.Unknown && path == f.Name:
			return x.WebSocket > 0 && slices.Contains(messageMembers, f.Name)
		case f.Kind == members.Empty && f.Value.Is(tree.Array):
			return x.Provider != evidence.OpenAI && strings.Count(path, ".") > 1
		}
		return false
	})
	return found
}

// isUnverified reports whether neither a source nor a recording says what the provider does.
func isUnverified(x *exchange, f members.Fault) bool {
	return f.Kind == members.Empty && x.Provider == evidence.OpenAI && f.Value.Is(tree.Array) // our simulator takes it, too
}

// describeFault says what is wrong, behind the path of the member.
func describeFault(x *exchange, f members.Fault) string {
	switch f.Kind {
	case members.Unknown:
		return "is not a member that the provider knows there" + likelyMember(f)
	case members.NoBeta:
		return "belongs to the beta " + strings.Join(f.Member.Betas, " or ") + ", which anthropic-beta does not name"
	case members.UnknownType:
		return "has the type " + strconv.Quote(cutText(f.Name, 40)) + ", which the provider does not know there"
	case members.Missing:
		return "is required and absent"
	case members.Empty:
		if isUnverified(x, f) {
			return "is an empty list, of which it is not known whether the provider takes it"
		}
		return "is empty"
	case members.Null:
		if f.Member.Required {
			return "is null"
		}
		return "is null; leave it out"
	case members.WrongValue:
		return "is " + strconv.Quote(cutText(f.Value.Text(), 40)) + ", not one of " + strings.Join(f.Member.Values, ", ")
	case members.OutOfRange:
		return "is " + cutText(f.Value.Raw(), 40) + ", outside " + describeRange(f.Member)
	case members.WrongLength:
		length, unit := len(f.Value.Items()), map[tree.Kind]string{tree.Array: "elements", tree.Object: "members", tree.String: "characters"}[f.Value.Kind()]
		if f.Value.Is(tree.String) {
			length = utf8.RuneCountInString(f.Value.Text())
		}
		return "has " + strconv.Itoa(length) + " " + unit + ", outside " + describeRange(f.Member)
	case members.WrongType:
		return "is " + describeKind(f.Value) + ", not " + describeTypes(f.Member.Types)
	default: // what only the simulator looks at
		return "is not as it should be"
	}
}

// likelyMember says which member was probably meant: one that the object does not have yet.
func likelyMember(f members.Fault) string {
	var absent []string
	for _, m := range f.Object.Members {
		if !slices.Contains(f.Around.Names(), m.Name) && !slices.Contains(m.Betas, "vertex") && !slices.Contains(m.Betas, "simulator") {
			absent = append(absent, m.Name)
		}
	}
	if meant := spelling.Nearest(f.Name, absent); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

var typeNames = map[byte]string{'s': "a string", 'n': "a number", 'i': "a whole number", 'b': "true or false", 'a': "a list", 'o': "an object", 'y': "a string", 'e': "a string or a number", 't': "an object"}

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

func describeRange(m *members.Member) string {
	bound := func(f *float64, none string) string {
		if f == nil {
			return none
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	return bound(m.Min, "…") + " to " + bound(m.Max, "…")
}

// addFaults reports the faults of some kinds and counts the objects that were compared.
func (r *report) addFaults(x *exchange, wanted func(members.Fault) bool) {
	r.addObserved(x.members.Objects)
	for _, f := range x.members.Faults {
		if wanted(f) {
			at, text := wire.Place{Event: -1, Off: f.Value.Offset(), Path: f.At.String()}, describeFault(x, f)
			found := r.addFinding(x, at, f.Rule, "%s %s", at.Path, text)
			found.Form = f.Rule + text
			if isUnverified(x, f) {
				found.Consequence = specs.Degraded
			}
		}
	}
}

func ofKind(kinds ...members.Kind) func(members.Fault) bool {
	return func(f members.Fault) bool { return slices.Contains(kinds, f.Kind) }
}

// membersKnown: the public APIs refuse what they do not know; clouds and gateways take
// members of their own.
func membersKnown(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.isPublicAPI() && isProvidersModel(x) {
			r.addFaults(x, func(f members.Fault) bool {
				return ofKind(members.Unknown, members.UnknownType)(f) && !(isKindOfBlock(f) && s.wasIssued(f.Name, x))
			})
		}
	})
}

// isKindOfBlock reports whether an unknown name is the type of an object, or the kind of one of
// Gemini's parts, which is the name of its member.
func isKindOfBlock(f members.Fault) bool {
	return f.Kind == members.UnknownType || f.Kind == members.Unknown && f.Object == gemini.Members().Find("part", "")
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
	return slices.ContainsFunc(x.members.Faults, func(f members.Fault) bool {
		return isKindOfBlock(f) && strings.HasPrefix(f.At.String(), path+".") && s.wasIssued(f.Name, x)
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
		r.addFaults(x, func(f members.Fault) bool {
			return ofKind(members.Missing, members.Empty)(f) || f.Kind == members.Null && f.Member.Required
		})
		prompt, _ := x.member("prompt") // a stored one may name the model
		if model, at := x.member("model"); x.Provider == evidence.OpenAI && model.Null() && prompt.Null() && x.isPublicAPI() {
			r.addFinding(x, at, "O-3", "model is required and absent")
		}
	})
}

func memberTypes(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		r.addFaults(x, func(f members.Fault) bool {
			return ofKind(members.WrongType, members.WrongValue)(f) || f.Kind == members.Null && !f.Member.Required
		})
	})
}

func memberRanges(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		if isProvidersModel(x) {
			r.addFaults(x, ofKind(members.OutOfRange, members.WrongLength))
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
