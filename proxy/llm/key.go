package llm

import "net/http"

// SetKey puts a key where its provider expects it. Of an unknown provider it does nothing.
func SetKey(header http.Header, provider, key string) {
	switch provider {
	case Anthropic:
		header.Set("X-Api-Key", key)
	case OpenAI:
		header.Set("Authorization", "Bearer "+key)
	case Gemini:
		header.Set("X-Goog-Api-Key", key)
	}
}
