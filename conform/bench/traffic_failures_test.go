package bench

import (
	"math/rand/v2"
	"regexp"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// failure is an answer for which the form of the request is not to blame.
type failure struct {
	status int
	body   string
}

type failures map[string]failure

var (
	overload = failures{
		evidence.Anthropic: {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {503, `{"error":{"message":"The server is overloaded or not ready yet.","type":"server_error","param":null,"code":null}}`},
		evidence.Gemini:    {503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`},
	}
	rateLimit = failures{
		evidence.Anthropic: {429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50,000 input tokens per minute."},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {429, `{"error":{"message":"Rate limit reached for gpt-5.2 in organization org-x on tokens per min (TPM): Limit 500000, Used 499000, Requested 2000. Please try again in 120ms.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		evidence.Gemini:    {429, `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 48.93s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}`},
	}
	quota = failures{
		evidence.Anthropic: {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		evidence.Gemini:    {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`},
	}
	serverError = failures{
		evidence.Anthropic: {500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {500, `{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":"server_error"}}`},
		evidence.Gemini:    {500, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`},
	}
	badKey = failures{
		evidence.Anthropic: {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {401, `{"error":{"message":"Incorrect API key provided: sk-inval***-key. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		evidence.Gemini:    {400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]}}`},
	}
	tooLong = failures{
		evidence.Anthropic: {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
		evidence.Gemini:    {400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`},
	}
	noModel = failures{
		evidence.Anthropic: {404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-next-9"},"request_id":"req_011CBench"}`},
		evidence.OpenAI:    {400, `{"error":{"message":"The requested model 'gpt-next-9' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		evidence.Gemini:    {404, `{"error":{"code":404,"message":"models/gemini-next-9 is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}`},
	}
	nextModel = map[string]string{evidence.Anthropic: "claude-next-9", evidence.OpenAI: "gpt-next-9", evidence.Gemini: "gemini-next-9"}
)

func anyGeneration(d *draft, r *rand.Rand) int {
	list := d.modelCalls()
	return list[r.IntN(len(list))]
}

func refusedFirst(with failures) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		k := anyGeneration(d, r)
		d.repeatExchange(k)
		d.refuseExchange(k, with)
		return d.placeAt(k, nil), true
	}
}

// refuseExchange puts a failure in the place of a reply. When the reply came, and how long
// the provider asked to wait, is not the failure's.
func (d *draft) refuseExchange(k int, with failures) {
	d.setReply(k, with[d.provider].status, []byte(with[d.provider].body))
	res := &d.ev.Exchanges[k].Response
	res.Header = res.Header.Clone()
	for _, name := range []string{"Date", "Retry-After", "Retry-After-Ms"} {
		res.Header.Del(name)
	}
}

func refusedOften(with failures, times int) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		k := anyGeneration(d, r)
		for range times {
			d.repeatExchange(k)
			d.refuseExchange(k, with)
		}
		return d.placeAt(k, nil), true
	}
}

func lastRefused(with failures) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		k := list[len(list)-1]
		if len(list) < 2 {
			return Place{}, false
		}
		d.setReply(k, with[d.provider].status, []byte(with[d.provider].body))
		return d.placeAt(k, nil), true
	}
}

func unknownModelFirst(d *draft, r *rand.Rand) (Place, bool) {
	if d.hasTokens() {
		return Place{}, false
	}
	k := anyGeneration(d, r)
	p := d.editableRequest(k)
	d.repeatExchange(k)
	ex := &d.ev.Exchanges[k]
	if d.provider == evidence.Gemini {
		ex.Request.URL = replaceModel(ex.Request.URL, d.modelName(k), nextModel[d.provider])
	} else {
		p.root.setMember("model", stringNode(nextModel[d.provider]))
		d.commitPage(k, p)
	}
	d.setReply(k, noModel[d.provider].status, []byte(noModel[d.provider].body))
	return d.placeAt(k, nil), true
}

func resetFirst(d *draft, r *rand.Rand) (Place, bool) {
	k := anyGeneration(d, r)
	if d.isCutByBudget(k) {
		return Place{}, false
	}
	d.repeatExchange(k)
	d.setReply(k, 0, nil)
	d.ev.Exchanges[k].Response.End = "reset"
	d.ev.Exchanges[k].Response.Header = nil
	return d.placeAt(k, nil), true
}

// cutFirst lets the first try end in mid-stream; the second succeeds.
func cutFirst(d *draft, r *rand.Rand) (Place, bool) { return streamFirst(d, r, cutStream) }

func streamErrorFirst(d *draft, r *rand.Rand) (Place, bool) { return streamFirst(d, r, errorStream) }

func streamFirst(d *draft, r *rand.Rand, edit func(string, []byte) []byte) (Place, bool) {
	k := anyGeneration(d, r)
	body := d.ev.Exchanges[k].Response.Body
	if !isStreamed(body) || d.replyHasTokens(k) {
		return Place{}, false
	}
	cut := edit(d.provider, body)
	if cut == nil {
		return Place{}, false
	}
	d.repeatExchange(k)
	d.setReply(k, 200, renewTokens(cut, d.replies[k]))
	d.ev.Exchanges[k].Response.End = "reset"
	return d.placeAt(k, nil), true
}

func exchangeTwice(d *draft, r *rand.Rand) (Place, bool) {
	k := anyGeneration(d, r)
	if d.isCutByBudget(k) {
		return Place{}, false
	}
	d.repeatExchange(k)
	d.setReply(k, 200, renewTokens(d.ev.Exchanges[k].Response.Body, d.replies[k]))
	return d.placeAt(k, nil), true
}

var cutByBudget = regexp.MustCompile(`"(stop_reason|reason|finishReason)"\s*:\s*"(max_tokens|max_output_tokens|MAX_TOKENS)"`)

// isCutByBudget reports whether a reply ended at its limit of tokens. To ask for it again
// is a fault, see BUD-002.
func (d *draft) isCutByBudget(k int) bool {
	return cutByBudget.Match(d.ev.Exchanges[k].Response.Body)
}
