package values

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// LooksLikeKey reports whether a value has the form of a key: one long word of letters
// and digits that change often, and not an id as UUIDs are.
func LooksLikeKey(v string) bool {
	return len(v) >= 20 && len(v) <= maxKey && strings.Trim(v, lex.Alphabet+"-_.~+/=") == "" && !uuid.MatchString(v) &&
		digitGroups(v) >= 2 && GuessBits(v) >= 60
}

// maxKey is the length of the longest key, in bytes.
const maxKey = 16 << 10

// digitGroups counts the runs of digits in v.
func digitGroups(v string) (n int) {
	for i := range len(v) {
		if lex.IsDigit(v[i]) && (i == 0 || !lex.IsDigit(v[i-1])) {
			n++
		}
	}
	return n
}

// countDigits counts the digits of v.
func countDigits(v string) (n int) {
	for i := range len(v) {
		if lex.IsDigit(v[i]) {
			n++
		}
	}
	return n
}

// IsRandom reports whether a value is so random that no name is needed to know that it is
// a secret, or the digest of something.
func IsRandom(v string) bool {
	if len(v) < 20 || strings.Trim(v, lex.Alphabet+"-_.~+/=") != "" || uuid.MatchString(v) || IsSlug(v) || IsDigest(v) {
		return false
	}
	hasManyDigits := func() bool { return 12*countDigits(v) >= len(v) || surpriseOf(v, len(v)/2) > 0 }
	return digitGroups(v) >= 2 && GuessBits(v) >= 70 && hasManyDigits() || IsRandomLetters(v)
}

var uuid = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// IsUUID reports whether a value is a UUID and nothing more.
func IsUUID(v string) bool { return len(v) == 36 && v[8] == '-' && uuid.MatchString(v) }

// HasSecretForm reports whether a value says itself what it is: a signed token, a private
// key or the id of a key at AWS.
func HasSecretForm(v string) bool {
	return strings.HasPrefix(v, "-----BEGIN ") && strings.Contains(v, "PRIVATE KEY-----") ||
		signedToken.MatchString(v) ||
		awsKeyID.MatchString(v) || ephemeralKey.MatchString(v) || salesforceSession.MatchString(v)
}

var (
	signedToken = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}$`)
	awsKeyID    = regexp.MustCompile(`^(AKIA|ASIA|GOOG1E)[A-Z0-9]{16,}$`)
	// salesforceSession matches the id of an organization of Salesforce and of a session.
	salesforceSession = regexp.MustCompile(`^00D[A-Za-z0-9]{2,15}![A-Za-z0-9._]{40,}$`)
	// ephemeralKey matches a client secret of OpenAI's Realtime API.
	ephemeralKey = regexp.MustCompile(`^ek_[A-Za-z0-9_-]{16,}$`)
)

// IsHexadecimal reports whether a value is hexadecimal digits, as the hash of something is.
func IsHexadecimal(v string) bool { return hexadecimal.MatchString(v) }

var hexadecimal = regexp.MustCompile(`^(?i)[0-9a-f-]+$`)

// IsDigest reports whether a value says that it is a digest: sha256:….
func IsDigest(v string) bool { return digest.MatchString(v) }

var digest = regexp.MustCompile(`^(?i:sha\d{1,3}|md5|h1)[-:=]`)

// IsSlug reports whether a value is words and numbers with signs between them: my-cache-key-v2,
// process.env.KEY_2.
func IsSlug(v string) bool { return slug.MatchString(v) }

var slug = regexp.MustCompile(`^(?:v?\d{1,4}|[A-Za-z]+)(?:[-_.:/](?:v?\d{1,4}|[A-Za-z]+))*$`)

// IsSentence reports whether a value is words with a space between them. Somebody else may say
// the same.
func IsSentence(v string) bool { return sentence.MatchString(v) }

var sentence = regexp.MustCompile(`^(?:[A-Za-z]+[,.:!?]? )+[A-Za-z]+[.!?]?$`)

// IsFile reports whether a value ends with the name of a file in a folder.
func IsFile(v string) bool { return fileName.MatchString(v) }

var fileName = regexp.MustCompile(`/[^/]*\.[a-z][a-z0-9]{0,4}$`)

// IsAddress reports whether a value is the URL of something. Of a URL only parts are credentials.
func IsAddress(v string) bool { return address.MatchString(v) }

var address = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.:-]{1,40}://\S+$`)

// IsOneTimeCode reports whether a value is a code of a few digits, as a second factor has it.
func IsOneTimeCode(v string) bool { return oneTimeCode.MatchString(v) }

var oneTimeCode = regexp.MustCompile(`^\d{4,10}$|^\d{3}[ -]\d{3}$`)

// IsOneTimeWord reports whether a value is a code that replaces a second factor once: digits and
// letters, or letters that are no word.
func IsOneTimeWord(v []byte) bool {
	surprise := surpriseOf(string(v), len(v))
	return recoveryCode.Match(v) || len(v) >= MinWord && surprise != 0 && surprise > leastCodeSurprise
}

// leastCodeSurprise is how likely words letters may be to be a code.
const leastCodeSurprise = -3

// recoveryCode matches such a code with digits that replaces a second factor once.
var recoveryCode = regexp.MustCompile(`^[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+$|^[a-z]*\d[a-z0-9]{6,}$`)
