package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// nameClass says what stands under a name.
type nameClass uint8

const (
	plainName  nameClass = iota
	publicName           // a public word of the exchange: an id, a model, a version
	weakName             // a credential when its value looks like one: key, auth, value
	strongName           // a credential, whatever its value
)

// maxName is the length of the longest name that is classified, in bytes.
const maxName = 80

// classifyName says what stands under the name of a header, a parameter, a member, a flag
// or a variable, however it is spelt: x-api-key, apiKey, API_KEY and ApiKey are one name. A
// credential may have a word behind it: API_KEY_OPENAI, PASSWORD_FOR_ANNA.
func classifyName(name string) nameClass {
	class, lastAt := classifyWords(name)
	if class != plainName {
		return class
	}
	if before, owner, ok := cutOwner(name); ok && owner != "" {
		class, _ = classifyWords(before)
		return class
	}
	if lastAt > 0 {
		if before, _ := classifyWords(name[:lastAt]); before == strongName {
			return weakName
		}
	}
	return plainName
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

// classifyWords is classifyName for a name whose last word says what it is. It also returns
// where that word begins, if it may stand behind the name of a credential; 0 otherwise.
func classifyWords(name string) (class nameClass, lastAt int) {
	if len(name) > maxName {
		return plainName, 0
	}
	var space [maxName]byte
	words := splitName(space[:0], name)
	if len(words.joined) == 0 {
		return plainName, 0
	}
	if class, ok := wholeNames[string(words.joined)]; ok {
		return class, 0
	}
	if words.lastAt > 0 && (qualifiers[string(words.last)] || holders[string(words.last)]) {
		class, lastAt = classifyWords(name[:words.lastAt])
		if class == strongName || qualifiers[string(words.last)] {
			return class, lastAt
		}
	}
	return words.class()
}

// class says what the last word of a name makes of it.
func (w nameWords) class() (class nameClass, lastAt int) {
	switch last := w.last; {
	case string(last) == "pin" || codeLast[string(last)] && isCodeName(w.joined):
		return weakName, 0
	case publicLast[string(last)]:
		return publicName, 0
	case aboutCredential[string(last)]:
		return plainName, 0
	case string(last) == "key":
		return keyClass(w.previous), 0
	case string(last) == "keys":
		return min(keyClass(w.previous), weakName), 0
	case weakLast[string(last)]:
		return weakName, 0
	case string(last) == "pass" || string(last) == "pw":
		return strongName, 0
	}
	for _, end := range strongByLast[w.joined[len(w.joined)-1]] {
		if len(w.joined) >= len(end) && string(w.joined[len(w.joined)-len(end):]) == end {
			return w.strongUnlessPosition(end), 0
		}
	}
	if len(w.previous) > 0 && slices.ContainsFunc(namedByLast[w.previous[len(w.previous)-1]], func(end string) bool { return bytes.HasSuffix(w.previous, []byte(end)) }) {
		return plainName, w.lastAt
	}
	return plainName, 0
}

// namedLast are ends of the last words of credentials behind whose names another word may stand.
var namedLast = []string{"token", "secret", "password", "passwd", "passphrase", "pwd", "jwt", "bearer", "credential", "authorization", "key", "pass", "pw", "psk", "cookie"}

// strongUnlessPosition returns strongName, but not for the tokens that mark a position in
// a list or in a text: nextPageToken, eos_token. The word before decides, not its last
// letters: a helper_token is none per item.
func (w nameWords) strongUnlessPosition(end string) nameClass {
	if end != "token" {
		return strongName
	}
	before := string(w.previous)
	if string(w.last) != end { // written as one word: nextpagetoken
		before = strings.TrimPrefix(strings.TrimSuffix(string(w.last), end), "next")
	}
	if slices.Contains(positionTokens, before) {
		return plainName
	}
	return strongName
}

// keyClass says what a key is, given the word before "key", if there is one.
func keyClass(previous []byte) nameClass {
	switch {
	case harmlessKeys[string(previous)]:
		return plainName
	case secretKeys[string(previous)]:
		return strongName
	}
	return weakName
}

// wholeNames are names that the words in them do not explain, all in lower case and
// without separators.
var wholeNames = map[string]nameClass{
	"code": plainName, "signature": plainName, "sig": plainName, "thoughtsignature": plainName,
	"authorization": strongName, "cookie": strongName, "setcookie": strongName, "cookies": strongName,
	"assertion": strongName, "clientassertion": strongName, "codeverifier": strongName, "devicecode": strongName,
	"samlresponse": strongName, "samlassertion": strongName, "secretid": strongName, "honeycombteam": strongName, "xhoneycombteam": strongName,
	"accesskeyid": weakName, "awsaccesskeyid": weakName, "privatekeydata": strongName, "clientkeydata": strongName, "xjfrogartapi": strongName, "authenticationinfo": strongName, "clientsecretvalue": strongName,
	"secretvalue": strongName, "secretstring": strongName, "secretdata": strongName, "keyvalue": weakName,
	"wwwauthenticate": plainName, "proxyauthenticate": plainName, "signingsecrets": weakName,
	"githubpat": strongName, "pat": weakName, "sas": weakName, "passcode": strongName,
	"recoverycodes": strongName, "recoverycode": strongName, "backupcodes": strongName, "backupcode": strongName, "scratchcodes": strongName,
	"mnemonic": strongName, "seedphrase": strongName, "recoveryphrase": strongName, "mnemonicphrase": strongName, "passe": strongName,
	"sshpass": strongName, "dbpass": strongName, "userpass": strongName, "smtppass": strongName, "mailpass": strongName, "rootpass": strongName,
	"hmac": weakName, "genkey": strongName, "privatekeyid": strongName, "tokenaccessor": weakName, "requirepass": strongName, "appsecretproof": strongName, "masterauth": strongName, "oauthverifier": strongName, "salt": weakName, "sharedaccesssignature": strongName, "gsaccesskeyid": weakName,
	"access": weakName, "refresh": weakName, "sessioncookie": strongName, "csrf": weakName, "xsrf": weakName, "jsessionid": strongName, "phpsessid": strongName,
}

// publicLast are the last words of names whose values everybody in the exchange may know.
var publicLast = nameSet("id", "ids", "uuid", "model", "models", "name", "version", "type", "role", "status", "object",
	"deployment", "region", "language", "method", "event", "kind", "tokenizer")

// aboutCredential are the last words of names that say something about a credential
// and do not hold it: token_type, key_count, secret_url.
var aboutCredential = nameSet("count", "limit", "usage", "budget", "url", "uri", "endpoint", "expires", "expiry",
	"expiration", "ttl", "lifetime", "issuer", "mode", "scheme", "scope", "scopes", "policy", "format", "length", "size",
	"provider", "style", "hint", "required", "enabled", "description", "algorithm", "alg", "param", "prefix", "file",
	"path", "dir", "source", "index", "at", "in", "remaining", "reset", "details", "valid", "supported", "user", "email",
	"author", "stdin", "sign", "command", "helper", "manager", "bucket", "store", "arn", "ref", "label", "title", "code", "rule", "rules", "validator", "generator", "service", "handler", "class", "created", "updated", "rotation", "strategy", "flow", "realm", "field", "placeholder", "schema", "example")

// strongEndings end the names of credentials.
var strongEndings = []string{
	"token", "secret", "password", "passwd", "passphrase", "pwd", "pswd", "jwt", "bearer", "credential", "authorization",
	"apikey", "accesskey", "secretkey", "privatekey", "authkey", "accountkey", "masterkey", "signingkey", "encryptionkey",
	"subscriptionkey", "licensekey", "servicekey", "sharedkey", "storagekey", "appkey", "tokenheader", "authheader",
	"passwordconfirmation", "secretkeybase", "passwort", "psk", "passwordconfirm", "passwordrepeat", "storepass", "keypass", "securestring", "authident",
}

// strongByLast and namedByLast are strongEndings and namedLast by their last letters.
var strongByLast, namedByLast = byLastLetter(strongEndings), byLastLetter(namedLast)

func byLastLetter(ends []string) (out [256][]string) {
	for _, end := range ends {
		last := end[len(end)-1]
		out[last] = append(out[last], end)
	}
	return out
}

// weakLast are last words under which a credential or something else may stand.
var weakLast = nameSet("hmac", "auth", "authentication", "credentials", "secrets", "tokens", "passwords", "value", "session", "sid", "pat", "bearertoken", "cred", "creds", "cookie")

// positionTokens are the tokens of lists and of texts.
var positionTokens = []string{
	"page", "continuation", "sync", "eos", "bos", "pad", "unk", "mask", "sep", "cls", "stop", "next", "previous", "prev",
	"last", "first", "progress", "pagination", "paging", "marker", "special", "change", "delta", "max", "min", "per", "image", "audio",
	"input", "output", "prompt", "completion", "cached", "reasoning", "total", "start", "end", "skip",
	"conversation", "thread", "trace", "request", "correlation", "response", "message", "chat", "turn", "resume", "cursor",
}

// secretKeys and harmlessKeys are the words before "key" that settle what it is.
var (
	secretKeys = nameSet("api", "jwt", "access", "secret", "private", "subscription", "functions", "function", "auth", "signing",
		"signature", "encryption", "instrumentation", "account", "shared", "master", "storage", "service", "app", "application", "admin", "ingest",
		"license", "server", "preshared", "webhook", "sas", "consumer", "integration", "personal", "team", "hmac", "decryption", "rapidapi",
		"bot", "client", "deploy", "host", "routing", "write", "read", "anon", "user", "api2")
	harmlessKeys = nameSet("idempotency", "cache", "websocket", "public", "partition", "sort", "foreign", "row", "verifier", "verification", "socket",
		"object", "surrogate", "range", "hash", "message", "prompt", "map", "group", "dedupe", "deduplication", "dedup", "issue", "by",
		"translation", "label", "lookup", "metric", "feature", "shortcut", "hot", "join", "attribute", "resource")
)

// qualifiers are last words that say which of several credentials a name is of: PASSWORD_OLD.
var qualifiers = nameSet("old", "new", "current", "backup", "prod", "production", "staging", "dev", "primary", "secondary", "default", "v", "live", "test", "sandbox")

// holders are last words that say how a credential is written: tokenValue, private_key_pem.
var holders = nameSet("value", "string", "header", "pem", "plain", "plaintext", "raw", "base", "encoded", "encrypted", "hash")

// isCodeName reports whether a name, in lower case and without separators, is that of a code of
// a few digits that proves who somebody is.
func isCodeName(joined []byte) bool {
	return string(joined) == "pin" || slices.ContainsFunc(codeEndings, func(end string) bool { return bytes.HasSuffix(joined, []byte(end)) })
}

// codeLast are the last words of such names.
var codeLast = nameSet("code", "otp", "totp", "pin", "pincode", "cvv")

var codeEndings = []string{"otp", "pincode", "passcode", "otpcode", "mfacode", "tokencode", "authcode", "verificationcode", "securitycode", "twofactorcode", "smscode", "cvv"}

// oneTimeCode matches such a code.
var oneTimeCode = regexp.MustCompile(`^\d{4,10}$|^\d{3}[ -]\d{3}$`)

// nameWords are the words of a name: all of them joined, the last one, where it begins, and
// the one before it.
type nameWords struct {
	joined, last, previous []byte
	lastAt                 int
}

// splitName splits a name at separators and at changes of case, in lower case, without
// digits: "x-goog-APIKey2" is x, goog, api, key. The words are written to space, which has
// room for the name.
func splitName(space []byte, name string) nameWords {
	joined, last, previous, lastAt, isInside := space, 0, 0, 0, false
	for i := range len(name) {
		c := name[i]
		if !isLetter(c) {
			isInside = false
			continue
		}
		isHump := isUpper(c) && isInside && (!isUpper(name[i-1]) || i+1 < len(name) && isLetter(name[i+1]) && !isUpper(name[i+1]))
		if !isInside || isHump {
			previous, last, lastAt = last, len(joined), i
		}
		isInside = true
		joined = append(joined, c|0x20) // in lower case
	}
	return nameWords{joined, joined[last:], joined[previous:last], lastAt}
}

func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLetter(c byte) bool { return isUpper(c) || 'a' <= c && c <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// names classifies the names in a body and remembers the last ones: a body repeats a few
// names many times.
type names [32]struct {
	name  []byte
	class nameClass
}

func (n *names) class(name []byte) nameClass {
	if len(name) == 0 || len(name) > maxName {
		return plainName
	}
	last := &n[(31*len(name)+7*int(name[0])+int(name[len(name)-1]))%len(n)]
	if !bytes.Equal(last.name, name) {
		plain := name
		if bytes.IndexByte(name, '\\') >= 0 {
			plain = []byte(unquoteJSON(name))
		}
		last.name, last.class = name, classifyName(string(plain))
	}
	return last.class
}
