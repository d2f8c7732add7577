package structure

import (
	"bytes"
	"iter"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// jsonSearch looks through a JSON document: [searchJSON].
type jsonSearch struct {
	b        []byte
	isReply  bool
	isSaid   bool // a part of a conversation: a name alone is not enough
	isIssuer bool // the body is for or of an endpoint that issues credentials
	depth    int  // how many documents it is written in
	names    *names.Cache
	seen     map[string]bool // the public words found
	found    Findings
	previous []byte // the element before, in an array of arguments or of headers
}

// searchJSON finds the credentials in JSON, in a stream of events or in pieces of either. isReply
// says that the body came from a server: there a name needs a value that could be a credential.
// isIssuer says that it is for or of an endpoint that hands out credentials.
func searchJSON(b []byte, isReply, isIssuer bool) Findings {
	return searchIndex(jsonscan.NewIndex(b), isReply, isIssuer)
}

// searchIndex is searchJSON for a text that has an index.
func searchIndex(x *jsonscan.Index, isReply, isIssuer bool) Findings {
	return SearchStrings(x.Text, x.Strings(true), isReply, isIssuer)
}

// SearchStrings is searchJSON for some of the strings of a text.
func SearchStrings(b []byte, strings iter.Seq[jsonscan.String], isReply, isIssuer bool) Findings {
	j := jsonSearch{b: b, isReply: isReply, isIssuer: isIssuer, names: new(names.Cache), seen: map[string]bool{}}
	return j.search(strings)
}

// SearchSaid finds the credentials in a document that somebody said.
func SearchSaid(b []byte) []lex.Span {
	j := jsonSearch{b: b, isReply: true, isSaid: true, names: new(names.Cache), seen: map[string]bool{}}
	return j.search(jsonscan.Strings(b, true)).Credentials
}

// search looks at strings.
func (j *jsonSearch) search(strings iter.Seq[jsonscan.String]) Findings {
	for s := range strings {
		j.lookAt(s)
	}
	return j.found
}

// lookAt looks at one string: what it is said in, or the name above it, decides how.
func (j *jsonSearch) lookAt(s jsonscan.String) {
	previous := j.previous
	j.previous = nil
	if s.Value.End == s.Value.Start || s.IsSearched {
		return
	}
	if s.IsArgument {
		j.lookAtArgument(s, previous)
		return
	}
	text := s.Value.In(j.b)
	if s.IsPair {
		j.lookAtPair(s)
		return
	}
	if plain, ok := documentIn(text); ok {
		j.found.Documents = append(j.found.Documents, plain)
	}
	class, key := j.names.Class(s.Key.In(j.b)), s.Key.In(j.b)
	switch {
	case class == names.Public && j.isIssuer && len(tokenName.Find(text)) > 0:
		at := s.Value.Start + bytes.IndexByte(text, '/') + 1
		j.addIfMeant(lex.Between(at, s.Value.End), []lex.Span{lex.Between(0, s.Value.End-at)})
	case class == names.Public && s.Region != jsonscan.Headers:
		// A value under a public name is remembered, once.
		if isPublicWord(text) && len(j.seen) < mostPublic && !j.seen[string(text)] {
			j.seen[string(text)] = true
			j.found.Public = append(j.found.Public, string(text))
		}
	case s.Region == jsonscan.Conversation || !j.isReply && spokenNames[string(key)]:
		j.lookAtSaid(s, class)

		// The URL may lead to a file of a conversation.
		if text := s.Value.In(j.b); addressNames[string(s.Key.In(j.b))] && bytes.Contains(text, []byte("://")) {
			j.add(s.Value.Start, URLSecrets(string(text)))
		}
	case lex.HasSuffixFold(key, "headers") && j.lookAtHeader(s.Value, previous):
	case IsArguments(key):
		j.previous = text
		j.addIfMeant(s.Value, argumentIn(text, previous))
	default:
		j.lookAtSetting(s, class)
	}
}

// lookAtArgument looks at a value in an object of a tool's arguments as at one in a document that is
// written as a string: that is how other providers write the same arguments.
func (j *jsonSearch) lookAtArgument(s jsonscan.String, previous []byte) {
	said := jsonSearch{b: j.b, isReply: true, isSaid: true, isIssuer: j.isIssuer, depth: j.depth, names: j.names,
		seen: j.seen, previous: previous}
	s.IsArgument = false
	said.lookAt(s)
	j.previous = said.previous
	j.found.Said = append(append(j.found.Said, said.found.Said...), said.found.Credentials...)
	j.found.Documents = append(j.found.Documents, said.found.Documents...)
	j.found.Public = append(j.found.Public, said.found.Public...)
}

// lookAtHeader looks at an element of a list of headers, given the one before it, and reports whether it is the name or
// the value of a credential: "headers": [["X-Api-Key", "…"]].
func (j *jsonSearch) lookAtHeader(value lex.Span, previous []byte) bool {
	text := value.In(j.b)
	switch class := j.names.Class(text); {
	case class == names.Plain && j.names.Class(previous) == names.Strong && !values.IsReference(string(text)):
		j.addIfMeant(value, []lex.Span{lex.Between(0, len(text))})
		return true
	case class == names.Strong:
		j.previous = text
		return true
	}
	return false
}

// tokenName matches the name of a token that an endpoint issues, which is the token: auth_tokens/X.
var tokenName = regexp.MustCompile(`^[a-zA-Z_-]*[tT]okens/[\w-]+$`)

// mostPublic is how many public words of a body are remembered: a list of a million items has as many ids.
const mostPublic = 1 << 14

// lookAtSetting looks at a value outside of what is said. Of a document in it only the
// credentials count, unless it stands in the place of one.
func (j *jsonSearch) lookAtSetting(s jsonscan.String, class names.Class) {
	text := s.Value.In(j.b)
	nested := j.nestedCredentials(s.Value.Start, text)
	j.add(s.Value.Start, nested)
	switch {
	case isCookie(s.Key.In(j.b)):
		j.addIfMeant(s.Value, cookieSpans(text))
	case len(nested) > 0 && (class != names.Strong || j.isSaid):
	case j.isCredential(s, class):
		j.found.Credentials = append(j.found.Credentials, s.Value)
	case !j.isReply && jsonscan.HoldsHeaders(s.Key.In(j.b)) && bytes.IndexAny(text, "=:") > 0:
		at := bytes.IndexAny(text, "=:") // "env": ["NAME=VALUE"]
		name, value := text[:at], bytes.TrimLeft(text[at+1:], " ")
		if v := string(value); v != "" && !isKnownSetting(name, j.names.Class(name), v) && !values.IsReference(v) &&
			!values.IsAddress(v) {
			j.add(s.Value.End-len(value), []lex.Span{lex.Between(0, len(value))})
		} else {
			j.add(s.Value.Start, settingIn(text))
		}
	case !j.isReply:
		j.add(s.Value.Start, settingIn(text))
	case len(text) <= maxSetting:
		j.add(s.Value.Start, dropGuessable(text, AddressSecrets(text)))
	}
}

// lookAtSaid looks at a value in what is said: a member of a tool's arguments, or a document in
// a text.
func (j *jsonSearch) lookAtSaid(s jsonscan.String, class names.Class) {
	text := s.Value.In(j.b)
	switch parent := j.names.Class(s.Parent.In(j.b)); {
	case isCookie(s.Key.In(j.b)):
		j.found.Said = append(j.found.Said, lex.Shifted(secretSpans(text, cookieSpans(text)), s.Value.Start)...)
	case class < names.Weak && parent < names.Weak && !s.IsPair:
	case j.isSaidCredential(s, class):
		j.found.Said = append(j.found.Said, s.Value)
	}
	isDocument := jsonscan.IsDocument(text) || bytes.Contains(text, []byte(`\":`))
	if j.depth < jsonscan.DeepestNested && len(text) <= jsonscan.MaxNested && isDocument {
		j.found.Said = append(j.found.Said,
			lex.Shifted(j.credentialsIn(s.Value.Start, text, true, true), s.Value.Start)...)
	}
}

// isSaidCredential is isCredential for a value in what is said.
func (j *jsonSearch) isSaidCredential(s jsonscan.String, class names.Class) bool {
	said := jsonSearch{b: j.b, isReply: true, isSaid: true, names: j.names}
	if s.Region = jsonscan.Settings; lex.HasSuffixFold(s.Parent.In(j.b), "headers") {
		s.Region = jsonscan.Headers
	}
	return said.isCredential(s, class)
}

// add adds the parts of a value that begins at offset.
func (j *jsonSearch) add(offset int, parts []lex.Span) {
	j.found.Credentials = lex.AppendShifted(j.found.Credentials, parts, offset)
}

// addIfMeant adds the parts of a value; of a reply and of what is said, those that nobody can guess.
func (j *jsonSearch) addIfMeant(value lex.Span, parts []lex.Span) {
	if j.isSaid || j.isReply {
		parts = secretSpans(value.In(j.b), parts)
	}
	j.add(value.Start, parts)
}

// lookAtPair looks at the value of {"name": NAME, "value": VALUE}.
func (j *jsonSearch) lookAtPair(s jsonscan.String) {
	name := s.Key
	class := names.Classify(string(name.In(j.b)))
	if s.Key = name; class != names.Strong && class != names.Weak && s.Region != jsonscan.Headers {
		s.Key = lex.Span{}
	}
	if s.Region == jsonscan.Conversation {
		j.lookAtSaid(s, class)
		return
	}
	found := j.found.Credentials
	if isCookie(name.In(j.b)) {
		if n := len(found); n > 0 && found[n-1] == s.Value {
			j.found.Credentials = found[:n-1] // looked at before its name
		}
		j.addIfMeant(s.Value, cookieSpans(s.Value.In(j.b)))
		return
	}
	if j.isCredential(s, class) && !slices.Contains(found[max(len(found)-8, 0):], s.Value) {
		j.found.Credentials = append(j.found.Credentials, s.Value)
	}
}

// spokenNames are the members of a request that hold words, also where nothing around them
// says so.
var spokenNames = lex.Set("system instructions prompt input content message text description title")

// addressNames are the members of a conversation that lead to a file. Their URLs may be
// signed.
var addressNames = lex.Set("url image_url file_url file_uri fileUri uri")

// isPublicWord reports whether a value under a public name is worth remembering.
func isPublicWord(text []byte) bool {
	return len(text) >= values.MinWord && len(text) <= 200 && bytes.IndexByte(text, ' ') < 0
}
