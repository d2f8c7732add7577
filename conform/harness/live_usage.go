package harness

import "encoding/json"

// Usage is what one or more replies cost, in tokens. Tokens that were read from or
// written to the provider's cache are not part of Input.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int
}

// Total is the number of all tokens.
func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

func (u Usage) minusUsage(v Usage) Usage {
	return Usage{u.Input - v.Input, u.CacheRead - v.CacheRead, u.CacheWrite - v.CacheWrite, u.Output - v.Output}
}

func (u Usage) plusUsage(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// usageFields are the members of a reply, or of an event of one, that count tokens.
// The providers' names do not collide.
type usageFields struct {
	// Anthropic and OpenAI.
	InputTokens         int `json:"input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	CacheReadTokens     int `json:"cache_read_input_tokens"`
	CacheCreationTokens int `json:"cache_creation_input_tokens"`
	InputTokensDetails  struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	// Gemini.
	PromptTokens     int `json:"promptTokenCount"`
	CachedTokens     int `json:"cachedContentTokenCount"`
	CandidatesTokens int `json:"candidatesTokenCount"`
	ThoughtsTokens   int `json:"thoughtsTokenCount"`
	ToolPromptTokens int `json:"toolUsePromptTokenCount"`
}

// maxTokens is the highest number that is believed: sums of it do not overflow.
const maxTokens = 1 << 40

// raiseTo keeps the higher number of each kind: providers send running totals.
func (f *usageFields) raiseTo(g usageFields) {
	for _, pair := range [][2]*int{
		{&f.InputTokens, &g.InputTokens}, {&f.OutputTokens, &g.OutputTokens}, {&f.CacheReadTokens, &g.CacheReadTokens},
		{&f.CacheCreationTokens, &g.CacheCreationTokens}, {&f.InputTokensDetails.CachedTokens, &g.InputTokensDetails.CachedTokens},
		{&f.PromptTokens, &g.PromptTokens}, {&f.CachedTokens, &g.CachedTokens}, {&f.CandidatesTokens, &g.CandidatesTokens},
		{&f.ThoughtsTokens, &g.ThoughtsTokens}, {&f.ToolPromptTokens, &g.ToolPromptTokens},
	} {
		*pair[0] = min(max(*pair[0], *pair[1]), maxTokens)
	}
}

// toUsage puts the fields into one form. OpenAI and Gemini count cached tokens as a part
// of the input, Anthropic beside it.
func (f usageFields) toUsage() Usage {
	cached := f.InputTokensDetails.CachedTokens + f.CachedTokens
	return Usage{
		Input:      max(0, f.InputTokens+f.PromptTokens+f.ToolPromptTokens-cached),
		CacheRead:  f.CacheReadTokens + cached,
		CacheWrite: f.CacheCreationTokens,
		Output:     f.OutputTokens + f.CandidatesTokens + f.ThoughtsTokens,
	}
}

// usageHolder is where each provider puts the fields: in the reply itself or in one
// of its events.
type usageHolder struct {
	Usage    *usageFields                 `json:"usage"`
	Metadata *usageFields                 `json:"usageMetadata"`
	Message  struct{ Usage *usageFields } `json:"message"`
	Response struct{ Usage *usageFields } `json:"response"`
}

// addFrame keeps what a piece of a reply reports, and says whether it reports anything.
func (f *usageFields) addFrame(frame []byte) (ok bool) {
	var in usageHolder
	if frame == nil || json.Unmarshal(frame, &in) != nil {
		return false
	}
	for _, fields := range []*usageFields{in.Usage, in.Metadata, in.Message.Usage, in.Response.Usage} {
		if fields != nil {
			f.raiseTo(*fields)
			ok = true
		}
	}
	return ok
}

// estimateUsage stands for a reply that reports nothing, such as one that was cut: a
// token for every four bytes that passed.
func estimateUsage(request, response int64) Usage {
	return Usage{Input: int(request / 4), Output: int(response / 4)}
}
