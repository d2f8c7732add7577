package structure

import (
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// pathSecrets finds the credentials among the segments of a URL without its query: what
// follows the name of one (/token/X, /reset-password/X), the token of a bot of Telegram, and
// the segments of a webhook that only its sender knows.
func pathSecrets(path string) (out []lex.Span) {
	if known := knownHookIn(path); known != nil {
		return known
	}
	var ids []lex.Span // of a webhook: a secret only where nothing else is one
	previous, isHook := "", false
	start := 0
	for segment := range strings.SplitSeq(path, "/") {
		end := start + len(segment)
		switch {
		case len(segment) < values.MinSecret || strings.IndexByte(segment, '.') >= 0:
		case strings.HasPrefix(segment, "bot") && botToken.MatchString(segment):
			out = append(out, lex.Between(start+len("bot"), end))
		case !isPathToken(segment) && !values.IsUUID(segment):
		case isHook && values.IsUUID(segment):
			ids = append(ids, lex.Between(start, end))
		case isHook || isBeforeSecret(previous, segment):
			out = append(out, lex.Between(start, end))
		}
		isHook = isHook || isHookWord(segment)
		previous, start = segment, end+1
	}
	if len(out) == 0 {
		return ids
	}
	return out
}

// isHookWord reports whether a segment of a path says that a webhook follows.
func isHookWord(segment string) bool {
	return strings.Contains(strings.ToLower(segment), "hook") || strings.HasPrefix(segment, "hc-ping.")
}

// knownHookIn finds the secret of a webhook whose host does not say so, or whose secret is a short word.
func knownHookIn(path string) []lex.Span {
	for _, known := range knownHooks {
		if m := known.FindStringSubmatchIndex(path); m != nil {
			return []lex.Span{lex.Between(m[2], m[3])}
		}
	}
	return nil
}

// isPathToken reports whether a segment of a path is random.
func isPathToken(v string) bool {
	return strings.Trim(v, lex.Alphabet+"-_~") == "" && !values.IsSlug(v) && values.GuessBits(v) >= 60 &&
		(strings.ContainsAny(v, lex.Digits) || values.IsRandomLetters(v))
}

// isBeforeSecret reports whether a segment of a path says that the next one is a credential.
func isBeforeSecret(previous, segment string) bool {
	switch names.Classify(previous) {
	case names.Strong:
		return true
	case names.Weak:
		return strings.EqualFold(previous, "key") && !values.IsUUID(segment) && !values.IsHexadecimal(segment)
	default:
		return linkWord.MatchString(previous)
	}
}

var (
	// botToken matches a segment with the token of a bot.
	botToken = regexp.MustCompile(`^bot\d{6,}(?::|%3A|%3a)[\w-]{20,}$`)
	// knownHooks match webhooks whose host does not say so, or whose secret is a short word.
	knownHooks = []*regexp.Regexp{
		regexp.MustCompile(`/services/T\w{6,}/B\w{6,}/(\w{16,})`),
		regexp.MustCompile(`/hooks/catch/\d+/(\w{4,})`),
		regexp.MustCompile(`\bzapier\.com/api/mcp/s/([\w-]{16,})`),
		regexp.MustCompile(`\.alchemy\.com/v2/([\w-]{20,})`),
		regexp.MustCompile(`\.quiknode\.pro/([0-9a-f]{32,})`),
	}
	// linkWord matches what a link is for that is sent to one person only.
	linkWord = regexp.MustCompile(`(?i)reset|verif|confirm|activat|unsubscribe|magic|recover|invit`)
)
