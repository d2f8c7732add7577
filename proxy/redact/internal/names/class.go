// Package names decides from a name alone what may stand under it: [Classify]. Names of headers,
// parameters, members, flags and variables are one kind of name, in any spelling. The package
// never sees a value, so it answers what a name promises, not whether a credential is there.
package names

import (
	"bytes"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// Class says what stands under a name.
type Class uint8

const (
	// Plain names say nothing.
	Plain Class = iota
	// Public names hold a public word of the exchange: an id, a model, a version.
	Public
	// Weak names hold a credential when the value looks like one: key, auth, value.
	Weak
	// Strong names hold a credential, whatever the value.
	Strong
)

// MaxLength is the length of the longest name that is classified, in bytes.
const MaxLength = 80

// Classify says what stands under the name of a header, a parameter, a member, a flag
// or a variable, however it is spelt: x-api-key, apiKey, API_KEY and ApiKey are one name. A
// credential may have a word behind it: API_KEY_OPENAI, PASSWORD_FOR_ANNA.
func Classify(name string) Class {
	class, lastAt := classifyWords(name)
	if class != Plain {
		return class
	}
	if before, owner, ok := cutOwner(name); ok && owner != "" {
		class, _ = classifyWords(before)
		return class
	}
	if lastAt > 0 {
		if before, _ := classifyWords(name[:lastAt]); before == Strong {
			return Weak
		}
	}
	if before, ok := cutHost(name); ok && Classify(before) == Strong {
		return Weak
	}
	return class
}

// cutHost cuts a name before the host that the credential is for: fs.azure.account.key.HOST.
func cutHost(name string) (before string, ok bool) {
	if strings.Count(name, ".") < 3 {
		return name, false
	}
	for _, word := range []string{".key.", ".token.", ".secret.", ".password."} {
		if at := strings.Index(name, word); at > 0 && strings.Count(name[at+len(word):], ".") >= 2 {
			return name[:at+len(word)-1], true
		}
	}
	return name, false
}

// cutOwner cuts a name before the word that says whose credential it is.
func cutOwner(name string) (before, owner string, ok bool) {
	if strings.IndexByte(name, 'f') < 0 && strings.IndexByte(name, 'F') < 0 {
		return name, "", false
	}
	for _, word := range []string{"_for_", "-for-", "_FOR_", "_of_", "_OF_"} {
		if before, owner, ok = strings.Cut(name, word); ok {
			return before, owner, true
		}
	}
	return name, "", false
}

// classifyWords is Classify for a name whose last word says what it is. It also returns
// where that word begins, if it may stand behind the name of a credential; 0 otherwise.
func classifyWords(name string) (class Class, lastAt int) {
	if len(name) > MaxLength {
		return Plain, 0
	}
	var space [MaxLength]byte
	words := splitName(space[:0], name)
	if len(words.joined) == 0 {
		return Plain, 0
	}
	if class, ok := wholeNames[string(words.joined)]; ok {
		return class, 0
	}
	if bytes.HasSuffix(words.joined, []byte("secretid")) {
		return Strong, 0 // VAULT_SECRET_ID
	}
	if words.lastAt > 0 && (qualifiers[string(words.last)] || holders[string(words.last)]) {
		class, lastAt = classifyWords(name[:words.lastAt])
		if class == Strong || qualifiers[string(words.last)] {
			return class, lastAt
		}
	}
	return words.class()
}

// class says what the last word of a name makes of it.
func (w nameWords) class() (class Class, lastAt int) {
	switch last := w.last; {
	case weakLast[string(last)] || string(last) == "pin" || codeLast[string(last)] && isCodeName(w.joined):
		return Weak, 0
	case publicLast[string(last)]:
		return Public, 0
	case aboutCredential[string(last)]:
		return Plain, 0
	case string(last) == "key":
		return keyClass(w.previous), 0
	case string(last) == "keys":
		return min(keyClass(w.previous), Weak), 0
	case string(last) == "pass" || string(last) == "pw":
		return Strong, 0
	}
	for _, end := range strongByLast[w.joined[len(w.joined)-1]] {
		if len(w.joined) >= len(end) && string(w.joined[len(w.joined)-len(end):]) == end {
			return w.strongUnlessPosition(end), 0
		}
	}
	if w.isBehindCredential() {
		return Plain, w.lastAt
	}
	return Plain, 0
}

// isBehindCredential reports whether the last word stands behind the name of a credential.
func (w nameWords) isBehindCredential() bool {
	n := len(w.previous)
	isEnd := func(end string) bool { return bytes.HasSuffix(w.previous, []byte(end)) }
	return n > 0 && slices.ContainsFunc(namedByLast[w.previous[n-1]], isEnd)
}

// strongUnlessPosition returns Strong, but not for the tokens that mark a position in
// a list or in a text: nextPageToken, eos_token. The word before decides, not its last
// letters: a helper_token is none per item.
func (w nameWords) strongUnlessPosition(end string) Class {
	if end != "token" {
		return Strong
	}
	before := string(w.previous)
	if string(w.last) != end { // written as one word: nextpagetoken
		before = strings.TrimPrefix(strings.TrimSuffix(string(w.last), end), "next")
	}
	if slices.Contains(positionTokens, before) {
		return Plain
	}
	return Strong
}

// keyClass says what a key is, given the word before "key", if there is one.
func keyClass(previous []byte) Class {
	switch {
	case harmlessKeys[string(previous)]:
		return Plain
	case secretKeys[string(previous)]:
		return Strong
	}
	return Weak
}

// Cache classifies the names in a body and remembers the last ones: a body repeats a few names
// many times. Its zero value is ready to use. A name must not change as long as the cache is used.
type Cache [32]struct {
	name  []byte
	class Class
}

// Class is [Classify] for a name as JSON writes it.
func (n *Cache) Class(name []byte) Class {
	if len(name) == 0 || len(name) > MaxLength {
		return Plain
	}
	last := &n[(31*len(name)+7*int(name[0])+int(name[len(name)-1]))%len(n)]
	if !bytes.Equal(last.name, name) {
		plain := name
		if bytes.IndexByte(name, '\\') >= 0 {
			plain = []byte(lex.UnquoteJSON(name))
		}
		last.name, last.class = name, Classify(string(plain))
	}
	return last.class
}
