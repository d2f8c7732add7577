package redact

import (
	"regexp"
	"strings"
)

// pathSecrets finds the credentials among the segments of a URL without its query: what
// follows the name of one (/token/X, /reset-password/X), the token of a bot of Telegram, and
// the segments of a webhook that only its sender knows.
func pathSecrets(path string) (out []span) {
	for _, known := range knownHooks {
		if m := known.FindStringSubmatchIndex(path); m != nil {
			return []span{{m[2], m[3]}}
		}
	}
	var ids []span // of a webhook: a secret only where nothing else is one
	previous, isHook := "", false
	start := 0
	for segment := range strings.SplitSeq(path, "/") {
		end := start + len(segment)
		switch {
		case len(segment) < minSecret || strings.IndexByte(segment, '.') >= 0:
		case strings.HasPrefix(segment, "bot") && botToken.MatchString(segment):
			out = append(out, span{start + len("bot"), end})
		case !isPathToken(segment) && !isUUID(segment):
		case isHook && isUUID(segment):
			ids = append(ids, span{start, end})
		case isHook || isBeforeSecret(previous, segment):
			out = append(out, span{start, end})
		}
		isHook = isHook || strings.Contains(strings.ToLower(segment), "hook") || strings.HasPrefix(segment, "hc-ping.")
		previous, start = segment, end+1
	}
	if len(out) == 0 {
		return ids
	}
	return out
}

func isUUID(v string) bool { return len(v) == 36 && v[8] == '-' && uuid.MatchString(v) }

// isPathToken reports whether a segment of a path is random.
func isPathToken(v string) bool {
	return strings.Trim(v, alphabet+"-_~") == "" && !slug.MatchString(v) && guessBits(v) >= 60 && (strings.ContainsAny(v, digits) || isRandomLetters(v))
}

// isBeforeSecret reports whether a segment of a path says that the next one is a credential.
func isBeforeSecret(previous, segment string) bool {
	switch classifyName(previous) {
	case strongName:
		return true
	case weakName:
		return strings.EqualFold(previous, "key") && !isUUID(segment) && !hexadecimal.MatchString(segment)
	}
	return linkWord.MatchString(previous)
}

var (
	// botToken matches a segment with the token of a bot.
	botToken = regexp.MustCompile(`^bot\d{6,}(?::|%3A|%3a)[\w-]{20,}$`)
	// knownHooks match webhooks whose host does not say so, or whose secret is a short word.
	knownHooks = []*regexp.Regexp{
		regexp.MustCompile(`/services/T\w{6,}/B\w{6,}/(\w{16,})`),
		regexp.MustCompile(`/hooks/catch/\d+/(\w{4,})`),
	}
	// linkWord matches what a link is for that is sent to one person only.
	linkWord = regexp.MustCompile(`(?i)reset|verif|confirm|activat|unsubscribe|magic|recover|invit`)
)
