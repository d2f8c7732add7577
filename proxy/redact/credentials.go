package redact

import (
	"bytes"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// findings are what a body shows: where credentials stand in it, and the public words of
// the exchange.
type findings struct {
	credentials []span
	own         []span // of credentials, those that only the user's rules name
	public      []string
	documents   [][]byte // texts that stand in the body in base64
}

// isForm reports whether a text may be form-encoded: then no white space is in it but the end of
// a line after it.
func isForm(text []byte) bool {
	return bytes.IndexAny(bytes.TrimRight(text, "\r\n"), " \t\r\n") < 0
}

// addWords adds what was found in words, where nothing was found by structure.
func (f *findings) addWords(spans []span) {
	known := slices.SortedFunc(slices.Values(f.credentials), func(a, b span) int { return a.start - b.start })
	reach, next := 0, 0 // how far those reach that begin before the end of a span
	slices.SortFunc(spans, func(a, b span) int { return a.end - b.end })
	for _, s := range spans {
		for ; next < len(known) && known[next].start < s.end; next++ {
			reach = max(reach, known[next].end)
		}
		if reach <= s.start {
			f.credentials = append(f.credentials, s)
		}
	}
}

// requestFindings looks through a request body. The format is recognised by the body
// itself, because clients declare the wrong type, as curl -d does for JSON.
func requestFindings(in cassette.Request) findings {
	_, params, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	text := bytes.TrimLeft(in.Body, " \t\r\n\ufeff")
	switch {
	case len(text) == 0:
		return findings{}
	case params["boundary"] != "" && bytes.HasPrefix(text, []byte("--")):
		return findings{credentials: multipartCredentials(in.Body, params["boundary"])}
	case text[0] == '{' || text[0] == '[':
		return searchJSON(in.Body, false, issuesSecrets(in))
	}
	found := searchJSON(in.Body, false, issuesSecrets(in))
	if isForm(text) {
		found.credentials = append(pairSecrets(in.Body, 0, nil), found.credentials...)
	}
	found.credentials = append(found.credentials, elementCredentials(in.Body)...)
	return found
}

// responseFindings looks through a reply for credentials that it issues. They have not
// been used yet, so only their names show what they are. Streams of models issue none;
// their beginnings name the ids.
func responseFindings(in cassette.Response, issuesSecrets bool) findings {
	text := bytes.TrimLeft(in.Body, " \t\r\n\ufeff")
	kind := in.Header.Get("Content-Type")
	switch {
	case len(text) == 0:
		return findings{}
	case strings.HasPrefix(kind, "text/event-stream"):
		return findings{public: searchJSON(in.Body[:min(len(in.Body), window)], true, false).public}
	case text[0] == '{' || text[0] == '[':
		return searchJSON(in.Body, true, issuesSecrets)
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"), issuesSecrets && bytes.IndexByte(text, '=') > 0:
		return findings{credentials: keepEntropy(in.Body, pairSecrets(in.Body, 0, nil))}
	}
	return findings{credentials: keepEntropy(in.Body, elementCredentials(in.Body))}
}

// keepEntropy drops spans that are not secrets: a reply has ordinary words under the names of
// credentials, too.
func keepEntropy(b []byte, spans []span) []span {
	return slices.DeleteFunc(spans, func(s span) bool { return !isIssued(string(s.bytesIn(b))) })
}

// isIssued reports whether a value in a reply has what a credential has.
func isIssued(v string) bool {
	return len(v) >= minWord && !strings.ContainsAny(v, " \t") && (hasSecretForm(v) || hasEntropy(v) && (len(v) >= minSecret || hasLettersAndDigits(v)))
}

// jsonSearch looks through a JSON document.
type jsonSearch struct {
	b        []byte
	isReply  bool
	isIssuer bool // the body is for or of an endpoint that issues credentials
	depth    int  // how many documents it is written in
	names    *names
	seen     map[string]bool // the public words found
	found    findings
	previous []byte // the argument before, in an array of arguments
}

func searchJSON(b []byte, isReply, isIssuer bool) findings {
	j := jsonSearch{b: b, isReply: isReply, isIssuer: isIssuer, names: new(names), seen: map[string]bool{}}
	return j.search()
}

func (j *jsonSearch) search() findings {
	for s := range jsonStrings(j.b, true) {
		j.lookAt(s)
	}
	return j.found
}

func (j *jsonSearch) lookAt(s jsonString) {
	previous := j.previous
	j.previous = nil
	if s.value.end == s.value.start {
		return
	}
	text := s.value.bytesIn(j.b)
	if s.isPair {
		j.lookAtPair(s)
		return
	}
	if plain, ok := documentIn(text); ok {
		j.found.documents = append(j.found.documents, plain)
	}
	class := j.names.class(s.key.bytesIn(j.b))
	switch {
	case class == publicName && s.region != headers:
		if isPublicWord(text) && !j.seen[string(text)] {
			j.seen[string(text)] = true
			j.found.public = append(j.found.public, string(text))
		}
	case s.region == conversation || !j.isReply && spokenNames[string(s.key.bytesIn(j.b))]:
		if addressNames[string(s.key.bytesIn(j.b))] && bytes.Contains(text, []byte("://")) {
			j.add(s.value.start, urlSecrets(string(text)))
		}
	case isArguments(s.key.bytesIn(j.b)):
		j.previous = text
		j.add(s.value.start, argumentIn(text, previous))
	default:
		j.lookAtSetting(s, class)
	}
}

// lookAtSetting looks at a value outside of what is said. Of a document in it only the
// credentials count, unless it stands in the place of one.
func (j *jsonSearch) lookAtSetting(s jsonString, class nameClass) {
	text := s.value.bytesIn(j.b)
	nested := j.nestedCredentials(text)
	j.add(s.value.start, nested)
	switch {
	case len(nested) > 0 && class != strongName:
	case j.isCredential(s, class):
		j.found.credentials = append(j.found.credentials, s.value)
	case !j.isReply:
		j.add(s.value.start, settingIn(text))
	case len(text) <= maxSetting:
		j.add(s.value.start, keepEntropy(text, addressSecrets(text)))
	}
}

// add adds the parts of a value that begins at offset.
func (j *jsonSearch) add(offset int, parts []span) {
	for _, p := range parts {
		j.found.credentials = append(j.found.credentials, span{offset + p.start, offset + p.end})
	}
}

// lookAtPair looks at the value of {"name": NAME, "value": VALUE}.
func (j *jsonSearch) lookAtPair(s jsonString) {
	if s.region == conversation {
		return
	}
	name := s.key
	s.key = span{}
	class := classifyName(string(name.bytesIn(j.b)))
	if class == strongName || class == weakName {
		s.key = name
	}
	found := j.found.credentials
	if j.isCredential(s, class) && !slices.Contains(found[max(len(found)-8, 0):], s.value) {
		j.found.credentials = append(j.found.credentials, s.value)
	}
}

// isCredential reports whether a string is a credential, by its name, the name of its
// object and, where these leave it open, its form.
func (j *jsonSearch) isCredential(s jsonString, class nameClass) bool {
	raw := s.value.bytesIn(j.b)
	value := unquoteJSON(raw[:min(len(raw), maxNested)]) // the beginning shows what it is
	if isReference(value) {
		return false
	}
	key := s.key.bytesIn(j.b)
	switch parent := j.names.class(s.parent.bytesIn(j.b)); {
	case class != strongName && isValueName(key) && (parent == strongName || j.isIssuer):
		class = strongName // {"client_secret": {"value": …}}
	case class != strongName && j.isIssuer && !j.isReply && isParameterSecret(string(key)):
		class = strongName // as in a form: {"grant_type": …, "code": …}
	case class == plainName && !j.isReply && holdsSecrets(s.parent.bytesIn(j.b)) && (isUnguessable(value) || isRandomLetters(value)):
		class = strongName // {"secrets": {"prod": …}}
	case class == plainName && parent == weakName && !j.isReply:
		class = weakName // {"apiKeys": {"acme": …}}
	case class == weakName && parent == weakName && !j.isReply && isValueName(key) && isUnguessable(value):
		class = strongName // {"auth": {"value": …}}
	case class == weakName && s.region == headers && isWordOfKey(value) && hasLettersAndDigits(value):
		class = strongName // {"env": {"ACME_KEY": …}}
	case class == weakName && !j.isReply && meansSecret(key) && isUnguessable(value):
		class = strongName // {"github_pat": …}, {"credentials": …}
	}
	switch {
	case hasSecretForm(value):
		return true
	case class == strongName && j.isReply:
		return isIssued(value) || j.isIssuer && isWordOfKey(value) && guessBits(value) >= leastIssuedBits
	case class == strongName:
		return strings.Count(withoutScheme(value), " ") < 2 || !sentence.MatchString(value) || isChosen(key)
	case class == weakName && j.isReply && !j.isIssuer && isValueName(key):
		return false // of any list of names and values
	case class == weakName && digest.MatchString(value):
		return false // of a file: {"js-tokens": {"integrity": …}}
	case class == weakName:
		return looksLikeKey(withoutScheme(value)) || len(withoutScheme(value)) < len(value)
	case s.region == headers:
		return !isClear(spelledAsHeader(key)) && (looksLikeKey(withoutScheme(value)) || hasEntropy(value) && len(value) >= minSecret || len(withoutScheme(value)) < len(value))
	}
	return false
}

// holdsSecrets reports whether the members of an object of this name are secrets, whatever
// they are called.
func holdsSecrets(name []byte) bool {
	plain := spellingOf(name[:min(len(name), maxName)])
	return strings.HasSuffix(plain, "secrets") || strings.HasSuffix(plain, "passwords")
}

// meansSecret reports whether a weak name means a secret where its value is no word.
func meansSecret(name []byte) bool {
	plain := spellingOf(name[:min(len(name), maxName)])
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.HasSuffix(plain, word) })
}

var secretWords = []string{"auth", "authentication", "credentials", "secrets", "tokens", "passwords", "pat", "cred", "creds", "otp"}

func isValueName(key []byte) bool {
	return len(key) < 8 && (bytes.EqualFold(key, []byte("value")) || bytes.EqualFold(key, []byte("data")) || bytes.EqualFold(key, []byte("key")))
}

func spelledAsHeader(key []byte) string {
	return strings.ToLower(strings.ReplaceAll(string(key), "_", "-"))
}

// isReference reports whether a value only leads to a credential: a variable or a
// template that somebody else fills in.
func isReference(v string) bool {
	v = withoutScheme(v)
	return v != "" && strings.Trim(v, "*") == "" || strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">") || strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}") || strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}") ||
		strings.HasPrefix(v, "$") && strings.Trim(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

// spokenNames are the members of a request that hold words, also where nothing around them
// says so.
var spokenNames = nameSet("system", "instructions", "prompt", "input", "content", "message", "text", "description", "title")

// addressNames are the members of a conversation that lead to a file. Their URLs may be
// signed.
var addressNames = nameSet("url", "image_url", "file_url", "file_uri", "fileUri", "uri")

// isPublicWord reports whether a value under a public name is worth remembering.
func isPublicWord(text []byte) bool {
	return len(text) >= minWord && len(text) <= 200 && bytes.IndexByte(text, ' ') < 0
}

// secretsIn returns the secrets at the spans of a body, decoded.
func secretsIn(b []byte, spans []span) (out []string) {
	for _, s := range spans {
		text := strings.TrimSpace(unquoteJSON(s.bytesIn(b)))
		out = append(out, withoutScheme(text))
		out = append(out, basicPassword(text)...)
		if plain, err := url.QueryUnescape(text); err == nil {
			out = append(out, withoutScheme(plain))
		}
		if _, password, ok := strings.Cut(text, ":"); ok && bytes.HasPrefix(b[s.end:], []byte("@")) {
			out = append(out, password)
		}
	}
	return out
}
