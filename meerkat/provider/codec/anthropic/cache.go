package anthropic

// Prompt caching: the end of what never changes, and the last two messages
// that are not the model's, so that the next request finds what this one
// leaves. Three marks at most, of four, and none on thinking or
// on an empty text.

// markLastBlock marks the block that was written last.
func (w *requestWriter) markLastBlock() {
	if w.CacheTTL == "" {
		return
	}
	w.Reopen(func() {
		w.Key("cache_control").Object(func() {
			w.Key("type").Str("ephemeral")
			if w.CacheTTL != "5m" { // the provider's default
				w.Key("ttl").Text(w.CacheTTL)
			}
		})
	})
}
