package redact

import (
	"bytes"
	"cmp"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// findings are what a body shows: where credentials stand in it, and the public words of
// the exchange.
type findings struct {
	credentials []span
	said        []span // those in what is said, where a name alone is not enough
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
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	end := 0 // of the last one
	for _, s := range spans {
		if s.end <= end {
			continue // inside of another one, which is replaced as a whole
		}
		end = s.end
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
		return findings{credentials: dropGuessable(in.Body, pairSecrets(in.Body, 0, nil))}
	}
	return findings{credentials: dropGuessable(in.Body, elementCredentials(in.Body))}
}

// dropGuessable drops spans that are not secrets: a reply has ordinary words under the names of
// credentials, too.
func dropGuessable(b []byte, spans []span) []span {
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
	isSaid   bool // a part of a conversation: a name alone is not enough
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
		j.lookAtSaid(s, class)
		if addressNames[string(s.key.bytesIn(j.b))] && bytes.Contains(text, []byte("://")) {
			j.add(s.value.start, urlSecrets(string(text)))
		}
	case hasSuffixFold(s.key.bytesIn(j.b), "headers") && j.names.class(previous) == strongName && j.names.class(text) == plainName && !isReference(string(text)):
		j.addIfMeant(s.value, []span{{0, len(text)}}) // "headers": [["X-Api-Key", "…"]]
	case hasSuffixFold(s.key.bytesIn(j.b), "headers") && j.names.class(text) == strongName:
		j.previous = text
	case isArguments(s.key.bytesIn(j.b)):
		j.previous = text
		j.addIfMeant(s.value, argumentIn(text, previous))
	default:
		j.lookAtSetting(s, class)
	}
}

// lookAtSetting looks at a value outside of what is said. Of a document in it only the
// credentials count, unless it stands in the place of one.
func (j *jsonSearch) lookAtSetting(s jsonString, class nameClass) {
	text := s.value.bytesIn(j.b)
	nested := j.nestedCredentials(s.value.start, text)
	j.add(s.value.start, nested)
	switch {
	case isCookie(s.key.bytesIn(j.b)):
		j.addIfMeant(s.value, cookieSpans(text))
	case len(nested) > 0 && (class != strongName || j.isSaid):
	case j.isCredential(s, class):
		j.found.credentials = append(j.found.credentials, s.value)
	case !j.isReply:
		j.add(s.value.start, settingIn(text))
	case len(text) <= maxSetting:
		j.add(s.value.start, dropGuessable(text, addressSecrets(text)))
	}
}

func isCookie(name []byte) bool {
	return hasSuffixFold(name, "cookie") || hasSuffixFold(name, "cookies")
}

// lookAtSaid looks at a value in what is said: a member of a tool's arguments, or a document in
// a text.
func (j *jsonSearch) lookAtSaid(s jsonString, class nameClass) {
	text := s.value.bytesIn(j.b)
	switch parent := j.names.class(s.parent.bytesIn(j.b)); {
	case isCookie(s.key.bytesIn(j.b)):
		j.found.said = append(j.found.said, shifted(secretSpans(text, cookieSpans(text)), s.value.start)...)
	case class < weakName && parent < weakName && !s.isPair:
	case j.isSaidCredential(s, class):
		j.found.said = append(j.found.said, s.value)
	}
	if j.depth < deepestNested && len(text) <= maxNested && (isDocument(text) || bytes.Contains(text, []byte(`\":`))) {
		j.found.said = append(j.found.said, shifted(j.credentialsIn(s.value.start, text, true, true), s.value.start)...)
	}
}

// isSaidCredential is isCredential for a value in what is said.
func (j *jsonSearch) isSaidCredential(s jsonString, class nameClass) bool {
	said := jsonSearch{b: j.b, isReply: true, isSaid: true, names: j.names}
	if s.region = settings; hasSuffixFold(s.parent.bytesIn(j.b), "headers") {
		s.region = headers
	}
	return said.isCredential(s, class)
}

// secretSpans returns those spans of a text that nobody can guess.
func secretSpans(text []byte, spans []span) []span {
	return slices.DeleteFunc(spans, func(s span) bool { return !isSecretIn(s.bytesIn(text), literalKeyPlace) })
}

// cookieSpans finds the values in a line of cookies.
func cookieSpans(line []byte) (out []span) {
	at := 0
	for part := range bytes.SplitSeq(line, []byte(";")) {
		name, value, isPair := bytes.Cut(part, []byte("="))
		if end := at + len(part); isPair && len(value) > 0 && !cookieAttributes[strings.ToLower(string(bytes.TrimSpace(name)))] {
			out = append(out, span{end - len(value), end})
		} else if !isPair && at == 0 {
			out = append(out, span{0, end})
		}
		at += len(part) + 1
	}
	return out
}

// add adds the parts of a value that begins at offset.
func (j *jsonSearch) add(offset int, parts []span) {
	for _, p := range parts {
		j.found.credentials = append(j.found.credentials, span{offset + p.start, offset + p.end})
	}
}

// addIfMeant adds the parts of a value; of a reply and of what is said, those that nobody can guess.
func (j *jsonSearch) addIfMeant(value span, parts []span) {
	if j.isSaid || j.isReply {
		parts = secretSpans(value.bytesIn(j.b), parts)
	}
	j.add(value.start, parts)
}

// lookAtPair looks at the value of {"name": NAME, "value": VALUE}.
func (j *jsonSearch) lookAtPair(s jsonString) {
	name := s.key
	s.key = span{}
	class := classifyName(string(name.bytesIn(j.b)))
	if class == strongName || class == weakName {
		s.key = name
	}
	if s.region == conversation {
		j.lookAtSaid(s, class)
		return
	}
	found := j.found.credentials
	if isCookie(name.bytesIn(j.b)) {
		if n := len(found); n > 0 && found[n-1] == s.value {
			j.found.credentials = found[:n-1] // looked at before its name
		}
		j.addIfMeant(s.value, cookieSpans(s.value.bytesIn(j.b)))
		return
	}
	if j.isCredential(s, class) && !slices.Contains(found[max(len(found)-8, 0):], s.value) {
		j.found.credentials = append(j.found.credentials, s.value)
	}
}

// isCredential reports whether a string is a credential, by its name, the name of its
// object and, where these leave it open, its form.
func (j *jsonSearch) isCredential(s jsonString, class nameClass) bool {
	raw := s.value.bytesIn(j.b)
	value := unquoteJSON(raw[:min(len(raw), maxNested)]) // the beginning shows what it is
	return j.meansCredential(s, class, value) && !isReference(value) && !isAddress(value)
}

func (j *jsonSearch) meansCredential(s jsonString, class nameClass, value string) bool {
	key := s.key.bytesIn(j.b)
	if class == weakName && isCodeUnder(key, value) {
		return true
	}
	parent := j.names.class(s.parent.bytesIn(j.b))
	if isValueName(s.parent.bytesIn(j.b)) {
		parent = plainName // {"value": {"stringValue": …}}
	}
	switch {
	case class == strongName && (string(key) == "secretId" || string(key) == "SecretId") && slug.MatchString(value):
		return false // the name of a secret of a secret manager
	case class != strongName && (isValueName(key) && (parent == strongName || j.isIssuer) || parent == strongName && qualifiers[string(key)]):
		class = strongName // {"client_secret": {"value": …}}
	case class != strongName && isListOfPasswords(key):
		class = strongName // {"passwords": ["…"]}
	case class != strongName && j.isIssuer && !j.isReply && isParameter(string(key), []byte(value)):
		class = strongName // as in a form: {"grant_type": …, "code": …}
	case class == plainName && holdsSecrets(s.parent.bytesIn(j.b)) && isHardToGuess(value):
		class = strongName // {"secrets": {"prod": …}}
	case class == weakName && (isPlural(key) || parent == weakName || s.region == headers && !isValueName(key)) && isHardToGuess(value) && !digest.MatchString(value):
		class = strongName // {"tokens": ["…"]}, {"auth": {"value": …}}, {"env": {"ACME_KEY": …}}
	case class == plainName && parent == weakName && !j.isReply:
		class = weakName // {"apiKeys": {"acme": …}}
	case class == weakName && !j.isReply && meansSecret(key) && isHardToGuess(value):
		class = strongName // {"github_pat": …}, {"credentials": …}
	}
	switch {
	case hasSecretForm(value):
		return true
	case class == strongName && j.isSaid:
		return isSecretIn([]byte(withoutScheme(value)), literalPlaceUnder(key)) || isCodeList(key) && isOneTimeWord([]byte(value))
	case class == strongName && j.isReply:
		return isIssued(value) || isHardToGuess(value) || j.isIssuer && isWordOfKey(value) && guessBits(value) >= leastIssuedBits || isCodeList(key) && isWordOfKey(value)
	case class == strongName:
		return strings.Count(withoutScheme(value), " ") < 2 || !sentence.MatchString(value) || isChosen(key)
	case class == weakName && j.isReply && !j.isIssuer && isValueName(key):
		return false // of any list of names and values
	case class == weakName && (digest.MatchString(value) || fileName.MatchString(value)):
		return false // of a file: {"js-tokens": {"integrity": …}}
	case class == weakName:
		return looksLikeKey(withoutScheme(value)) || len(withoutScheme(value)) < len(value)
	case s.region == headers:
		return !isClear(spelledAsHeader(key)) && (looksLikeKey(withoutScheme(value)) && value[0] != '/' && !idVariable.Match(key) || len(withoutScheme(value)) < len(value))
	}
	return false
}

// isCodeUnder reports whether a value is a code of a few digits under the name of one.
func isCodeUnder(name []byte, value string) bool {
	var space [maxName]byte
	return oneTimeCode.MatchString(value) && len(name) <= maxName && isCodeName(splitName(space[:0], string(name)).joined)
}

// literalPlaceUnder is the place of a value in quotes under a name.
func literalPlaceUnder(name []byte) place {
	if isChosen(name) {
		return literalPlace
	}
	return literalKeyPlace
}

// isHardToGuess reports whether a value, given the name of a credential, is one that nobody can
// guess or that people choose.
func isHardToGuess(value string) bool {
	return isUnguessable(value) && !slug.MatchString(value) || isSecretIn([]byte(withoutScheme(value)), literalKeyPlace)
}

// isPlural reports whether a name is that of several credentials. Keys alone may be those of
// anything.
func isPlural(name []byte) bool { return len(name) > len("keys") && hasSuffixFold(name, "s") }

// isCodeList reports whether a name is that of codes that replace a second factor once.
func isCodeList(name []byte) bool { return hasSuffixFold(name, "codes") }

// isListOfPasswords reports whether a name is that of several passwords.
func isListOfPasswords(name []byte) bool {
	return hasSuffixFold(name, "passwords") || hasSuffixFold(name, "passphrases")
}

// isAddress reports whether a value is the URL of something. Of a URL only parts are credentials.
func isAddress(v string) bool { return address.MatchString(v) }

var (
	address  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.:-]{1,40}://\S+$`)
	fileName = regexp.MustCompile(`/[^/]*\.[a-z][a-z0-9]{0,4}$`)
)

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
	return len(key) < 12 && valueNames[strings.ToLower(string(key))]
}

var valueNames = nameSet("value", "data", "key", "stringvalue", "s", "plain", "plaintext", "raw")

func spelledAsHeader(key []byte) string {
	return strings.ToLower(strings.ReplaceAll(string(key), "_", "-"))
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
	}
	return out
}
