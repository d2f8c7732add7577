package gate

import "strings"

// family is a kind of key: the literal it starts with, and how many letters
// must follow for it to be one.
type family struct {
	prefix  string
	kind    string
	letters string // beyond digits and letters
	least   int
}

// families are checked in order, so the special ones come before "sk-". A
// literal counts only where no letter, digit, dash or underscore stands before
// it: that is what keeps random base64url from tripping it.
var families = []family{
	{"sk-ant-", "an Anthropic key", "-_", 16},
	{"sk-proj-", "an OpenAI key", "-_", 16},
	{"sk-svcacct-", "an OpenAI key", "-_", 16},
	{"sk-admin-", "an OpenAI key", "-_", 16},
	{"sk-or-v1-", "an OpenRouter key", "-_", 16},
	{"sk-", "an API key", "", 32},
	{"AIza", "a Google API key", "-_", 35},
	{"ya29.", "a Google access token", "-_.", 20},
	{"GOCSPX-", "a Google client secret", "-_", 20},
	{"gsk_", "a Groq key", "", 40},
	{"xai-", "an xAI key", "", 40},
	{"hf_", "a Hugging Face token", "", 30},
	{"ghp_", "a GitHub token", "", 30},
	{"gho_", "a GitHub token", "", 30},
	{"ghu_", "a GitHub token", "", 30},
	{"ghs_", "a GitHub token", "", 30},
	{"ghr_", "a GitHub token", "", 30},
	{"github_pat_", "a GitHub token", "_", 30},
	{"glpat-", "a GitLab token", "-_", 20},
	{"npm_", "an npm token", "", 36},
	{"xoxb-", "a Slack token", "-", 20},
	{"xoxp-", "a Slack token", "-", 20},
	{"xapp-", "a Slack token", "-", 20},
	{"AKIA", "an AWS key id", "", 16},
	{"ASIA", "an AWS key id", "", 16},
	{"-----BEGIN ", "a private key", "- ", 11},
}

// knownKey returns the first text that is of a known family and is neither
// allowed nor a continuity token.
func knownKey(text string, allowed func(string) bool) (kind, found string) {
	for _, f := range families {
		for at := 0; ; {
			n := strings.Index(text[at:], f.prefix)
			if n < 0 {
				break
			}
			at += n
			key := f.at(text, at)
			if key != "" && !opaque(text, at) && !allowed(key) {
				return f.kind, key
			}
			at += len(f.prefix)
		}
	}
	return "", ""
}

// at returns the key of the family that starts at text[at], or nothing.
func (f family) at(text string, at int) string {
	if at > 0 && (alphanumeric(text[at-1]) || text[at-1] == '-' || text[at-1] == '_') {
		return ""
	}
	end := at + len(f.prefix)
	for end < len(text) && (alphanumeric(text[end]) || strings.IndexByte(f.letters, text[end]) >= 0) {
		end++
	}
	key := text[at:end]
	if len(key)-len(f.prefix) < f.least || f.kind == "a private key" && !strings.Contains(key, "PRIVATE KEY") {
		return ""
	}
	if f.kind == "an AWS key id" && strings.ToUpper(key) != key {
		return ""
	}
	return key
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
