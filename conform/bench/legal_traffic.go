package bench

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// legalTraffic adds or removes whole exchanges: retries, forks, side requests.
var legalTraffic = []Kind{
	{Name: "retry-after-overload", Rule: "§4 retry", Providers: all, alter: refusedFirst(overload)},
	{Name: "retry-after-rate-limit", Rule: "§4 retry A-/O-31 G-30", Providers: all, alter: refusedFirst(rateLimit)},
	{Name: "retry-after-quota", Rule: "§4", Providers: all, alter: refusedFirst(quota)},
	{Name: "retry-after-server-error", Rule: "§4 retry", Providers: all, alter: refusedFirst(serverError)},
	{Name: "retry-with-another-key", Rule: "A-2 O-1 G-1", Providers: all, alter: refusedFirst(badKey)},
	{Name: "retry-after-context-length", Rule: "A-45 O-27 G-29", Providers: all, alter: refusedFirst(tooLong)},
	{Name: "retry-after-unknown-model", Rule: "A-3 O-2 G-2", Providers: all, alter: unknownModelFirst},
	{Name: "retry-three-times", Rule: "§4 retry", Providers: all, alter: refusedOften(overload, 3)},
	{Name: "rate-limit-three-times", Rule: "§4 retry G-30", Providers: all, alter: refusedOften(rateLimit, 3)},
	{Name: "retry-after-reset", Rule: "§4 retry", Providers: all, alter: resetFirst},
	{Name: "retry-after-cut-stream", Rule: "D-32", Providers: all, alter: cutFirst},
	{Name: "retry-after-stream-error", Rule: "D-32 A3", Providers: all, alter: streamErrorFirst},
	{Name: "same-request-twice", Rule: "retry", Providers: all, alter: exchangeTwice},
	{Name: "fork", Rule: "R39", Providers: all, alter: forkAtEnd},
	{Name: "fork-interleaved", Rule: "R39", Providers: all, alter: forkInside},
	{Name: "sub-agent-before", Rule: "sub-agent", Providers: all, alter: sideConversation("You are a search helper.", "Find the file that declares main.", "It is main.go.", 0)},
	{Name: "sub-agent-between", Rule: "sub-agent", Providers: all, alter: sideConversation("You are a search helper.", "Find the file that declares main.", "It is main.go.", 1)},
	{Name: "sub-agent-same-words", Rule: "sub-agent", Providers: all, alter: sideSamePrompt},
	{Name: "title-request", Rule: "side request", Providers: all, alter: sideConversation("Write a title of five words for the conversation.", "User: please look at the tests.", "Looking at the tests", 1)},
	{Name: "topic-request", Rule: "side request", Providers: all, alter: sideConversation("Say whether the message begins a new topic. Answer as JSON.", "go on", `{"isNewTopic": false, "title": null}`, 1)},
	{Name: "quota-probe", Rule: "side request", Providers: all, alter: sideConversation("x", "quota", "I", 0)},
	{Name: "text-only-copy", Rule: "side request", Providers: all, alter: textCopy(false)},
	{Name: "summary-request", Rule: "side request", Providers: all, alter: textCopy(true)},
	{Name: "summary-in-conversation", Rule: "side request", Providers: all, alter: summaryAppended},
	{Name: "small-model-request", Rule: "side request", Providers: all, alter: smallModel},
	{Name: "compaction-new-conversation", Rule: "compaction", Providers: all, alter: newCompactedSession},
	{Name: "cleared-session", Rule: "new session", Providers: all, alter: sideConversation("", "hello again", "Hello.", 9)},
	{Name: "twins-side-by-side", Rule: "twins", Providers: all, alter: runTwice(true)},
	{Name: "twins-one-after-other", Rule: "twins", Providers: all, alter: runTwice(false)},
	{Name: "continue-twice", Rule: "repeated prompt", Providers: all, alter: continueTwice("continue", "Going on with part one.", "Going on with part two.")},
	{Name: "continue-equal-answers", Rule: "repeated prompt, equal texts", Providers: all, alter: continueTwice("continue", "Done.", "Done.")},
	{Name: "prompt-repeated", Rule: "repeated prompt", Providers: all, alter: repeatFirstPrompt},
	{Name: "starts-in-mid-session", Rule: "mid-session", Providers: all, alter: dropEarlier},
	{Name: "mid-session-prompt-repeated", Rule: "mid-session", Providers: all, alter: midSessionRepeated},
	{Name: "exchange-not-recorded", Rule: "turn nobody recorded", Providers: all, alter: dropMiddle},
	{Name: "interrupted-reply-dropped", Rule: "user's interrupt", Providers: all, alter: interruptReply(false)},
	{Name: "interrupted-reply-kept", Rule: "user's interrupt", Providers: all, alter: interruptReply(true), lossy: true},
	{Name: "interrupted-tool", Rule: "user's interrupt R11", Providers: all, alter: onBlock(interruptedResult, isKind(resultBlock), isNew)},
	{Name: "reply-body-not-kept", Rule: "missing bodies", Providers: all, alter: bodyNotKept},
	{Name: "headers-not-kept", Rule: "missing headers", Providers: all, alter: headersNotKept},
	{Name: "resumed-unchanged", Rule: "legal resume", Providers: all, alter: resumedUnchanged},
	{Name: "refused-model-then-stopped", Rule: "refusal, no fault", Providers: all, alter: lastRefused(tooLong)},
	{Name: "last-call-over-quota", Rule: "quota, no fault", Providers: all, alter: lastRefused(quota)},
}

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

// forkAtEnd asks something else from the point where the last request stood.
func forkAtEnd(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		if len(d.blocks[k]) > 0 && d.continuesReply(k) && d.isComposable(k) {
			return d.forkOf(k, len(d.ev.Exchanges))
		}
	}
	return Place{}, false
}

func forkInside(d *draft, _ *rand.Rand) (Place, bool) {
	for _, k := range d.modelCalls() {
		if len(d.blocks[k]) > 0 && d.continuesReply(k) && d.isComposable(k) {
			return d.forkOf(k, k)
		}
	}
	return Place{}, false
}

func (d *draft) forkOf(k, at int) (Place, bool) {
	p := d.editableRequest(k)
	last := p.blocks[len(p.blocks)-1]
	switch {
	case last.role != "user":
		return Place{}, false
	case last.kind == textBlock:
		p.setText(last, "Or rather, do it the other way round.")
	default:
		return Place{}, false
	}
	d.insertExchange(at, d.exchangeLike(k, p.root, "The other way round, then.", "fork"))
	return Place{Exchange: at}, true
}

// sideConversation adds a conversation of one request: before everything (0),
// between two requests (1) or at the end (9).
func sideConversation(system, prompt, answer string, where int) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, r *rand.Rand) (Place, bool) {
		k := anyGeneration(d, r)
		if !d.isComposable(k) || d.requests[k].at("input") != nil && d.requests[k].at("prompt") != nil {
			return Place{}, false
		}
		at := map[int]int{0: 0, 1: 1, 9: len(d.ev.Exchanges)}[where]
		if where == 1 && len(d.ev.Exchanges) < 2 {
			return Place{}, false
		}
		root := d.freshRequest(k, system, prompt)
		if system == "" {
			root = d.freshRequest(k, "You are a helpful agent.", prompt)
		}
		d.insertExchange(at, d.exchangeLike(k, root, answer, "side"))
		return Place{Exchange: at}, true
	}
}

// sideSamePrompt lets a sub-agent ask exactly what the user asked first.
func sideSamePrompt(d *draft, _ *rand.Rand) (Place, bool) {
	k := d.modelCalls()[0]
	for _, b := range d.blocks[k] {
		if b.kind == textBlock && b.role == "user" && b.text != "" && d.isComposable(k) && len(d.ev.Exchanges) > 1 {
			root := d.freshRequest(k, "You are a helper of another agent.", b.text)
			d.insertExchange(1, d.exchangeLike(k, root, "The helper has looked into it.", "same"))
			return Place{Exchange: 1}, true
		}
	}
	return Place{}, false
}

// textCopy sends the texts of the history, and nothing else, to a model.
func textCopy(asSummary bool) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		list := d.modelCalls()
		k := list[len(list)-1]
		var said []string
		for _, b := range d.blocks[k] {
			if b.kind == textBlock && b.text != "" && (b.role == "user" || b.role == "assistant") {
				said = append(said, b.role+": "+b.text)
			}
		}
		if len(said) < 2 || !d.isComposable(k) || strings.HasPrefix(d.modelName(k), smallModels[d.provider]) {
			return Place{}, false
		}
		root := d.freshRequest(k, "Summarise the conversation in one sentence.", "Please summarise:\n"+strings.Join(said, "\n\n"))
		if !asSummary {
			p := &page{provider: d.provider, root: root}
			p.turnList().members = nil
			for _, b := range d.blocks[k] {
				if b.kind == textBlock && strings.TrimSpace(b.text) != "" && (b.role == "user" || b.role == "assistant") {
					p.turnList().appendValue(p.newTurn(b.role, b.text))
				}
			}
			p.turnList().appendValue(p.newTurn("user", "Write a title for the conversation so far."))
		}
		d.insertExchange(len(d.ev.Exchanges), d.toSmallModel(k, root, "A short talk"))
		return Place{Exchange: len(d.ev.Exchanges) - 1}, true
	}
}

// summaryAppended asks for a summary at the end of the conversation itself.
func summaryAppended(d *draft, _ *rand.Rand) (Place, bool) {
	k, p, ok := d.withPrompt("Summarise the conversation so far for a new session.")
	if !ok {
		return Place{}, false
	}
	d.insertExchange(len(d.ev.Exchanges), d.exchangeLike(k, p.root, "We talked about it.", "summ"))
	return Place{Exchange: len(d.ev.Exchanges) - 1}, true
}

// withPrompt is the last request with its reply and one more prompt, for replies
// of plain text.
func (d *draft) withPrompt(prompt string) (int, *page, bool) {
	list := d.modelCalls()
	k := list[len(list)-1]
	reply := d.replies[k]
	if len(reply) != 1 || reply[0].kind != textBlock || reply[0].token != "" || strings.TrimSpace(reply[0].text) == "" || reply[0].text != strings.TrimSpace(reply[0].text) || !d.isComposable(k) {
		return 0, nil, false
	}
	p := d.editableRequest(k)
	if p.turnList().countMembers() == 0 || p.root.at("conversation") != nil || len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].role != "user" {
		return 0, nil, false
	}
	if d.provider == evidence.OpenAI && (p.root.at("previous_response_id") != nil || hasPhase(d.ev.Exchanges[k].Response.Body)) {
		return 0, nil, false
	}
	p.turnList().appendValue(p.newTurn("assistant", reply[0].text))
	p.turnList().appendValue(p.newTurn("user", prompt))
	return k, p, true
}

// hasPhase holds for replies whose messages name a phase, which must come back.
func hasPhase(body []byte) bool { return bytes.Contains(body, []byte(`"phase"`)) }

var smallModels = map[string]string{evidence.Anthropic: "claude-haiku-4-5", evidence.OpenAI: "gpt-5.4-nano", evidence.Gemini: "gemini-3.1-flash-lite"}

// smallModel asks a small model for a title.
func smallModel(d *draft, r *rand.Rand) (Place, bool) {
	k := anyGeneration(d, r)
	if !d.isComposable(k) {
		return Place{}, false
	}
	root := d.freshRequest(k, "Write a title for the message.", "Please look at the failing tests.")
	at := r.IntN(len(d.ev.Exchanges) + 1)
	d.insertExchange(at, d.toSmallModel(k, root, "Failing tests"))
	return Place{Exchange: at}, true
}

// toSmallModel sends root to a small model, without what only others take.
func (d *draft) toSmallModel(k int, root *node, answer string) evidence.Exchange {
	for _, key := range []string{"thinking", "reasoning", "temperature", "top_p", "top_k", "include", "generationConfig", "generation_config"} {
		root.removeKey(key)
	}
	name := smallModels[d.provider]
	if d.provider != evidence.Gemini {
		root.setMember("model", stringNode(name))
	}
	ex := d.exchangeLike(k, root, answer, "tiny")
	if d.provider == evidence.Gemini {
		ex.Request.URL = replaceModel(ex.Request.URL, d.modelName(k), name)
	}
	ex.Response.Body = composeReply(d.provider, d.wantsStream(k), name, answer, "tiny")
	return ex
}

// newCompactedSession begins a new conversation with a summary of the old one.
func newCompactedSession(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	k := list[len(list)-1]
	if !d.isComposable(k) || d.requests[k].at("prompt") != nil {
		return Place{}, false
	}
	p := d.editableRequest(k)
	if !p.turnList().isArray() || p.root.at("previous_response_id") != nil || p.root.at("conversation") != nil {
		return Place{}, false
	}
	fresh := parseLiteral("[]")
	for _, b := range p.blocks {
		if d.provider == evidence.OpenAI && (b.role == "system" || b.role == "developer") && b.pos == 0 {
			fresh.appendValue(p.turnList().at(b.turn))
		}
	}
	p.root.setMember(listKey[p.provider], fresh)
	fresh.appendValue(p.newTurn("user", "This session is being continued from a previous conversation that ran out of context. The summary: the user asked for help and got it.\n\nPlease go on without asking anything."))
	d.insertExchange(len(d.ev.Exchanges), d.exchangeLike(k, p.root, "I go on where we stopped.", "comp"))
	return Place{Exchange: len(d.ev.Exchanges) - 1}, true
}

// continueTwice goes on with the same prompt twice.
func continueTwice(prompt, first, second string) func(*draft, *rand.Rand) (Place, bool) {
	return func(d *draft, _ *rand.Rand) (Place, bool) {
		k, p, ok := d.withPrompt(prompt)
		if !ok {
			return Place{}, false
		}
		n := len(d.ev.Exchanges)
		d.insertExchange(n, d.exchangeLike(k, p.root, first, "cont1"))
		p.turnList().appendValue(p.newTurn("assistant", first))
		p.turnList().appendValue(p.newTurn("user", prompt))
		d.insertExchange(n+1, d.exchangeLike(k, p.root, second, "cont2"))
		p.turnList().appendValue(p.newTurn("assistant", second))
		p.turnList().appendValue(p.newTurn("user", "thanks"))
		d.insertExchange(n+2, d.exchangeLike(k, p.root, "You are welcome.", "cont3"))
		return Place{Exchange: n}, true
	}
}

// repeatFirstPrompt asks the first question of the conversation again at its end.
func repeatFirstPrompt(d *draft, r *rand.Rand) (Place, bool) {
	for _, b := range d.blocks[d.modelCalls()[0]] {
		if b.kind == textBlock && b.role == "user" && b.text != "" {
			return continueTwice(b.text, "As I said before.", "Once more, then.")(d, r)
		}
	}
	return Place{}, false
}

// dropEarlier leaves the last exchanges of a conversation alone.
func dropEarlier(d *draft, _ *rand.Rand) (Place, bool) {
	for i, k := range d.modelCalls() {
		if i > 0 && d.continuesReply(k) {
			d.ev.Exchanges = d.ev.Exchanges[k:]
			d.renumberExchanges()
			return Place{}, true
		}
	}
	return Place{}, false
}

func midSessionRepeated(d *draft, r *rand.Rand) (Place, bool) {
	if _, ok := repeatFirstPrompt(d, r); !ok {
		return Place{}, false
	}
	d.ev.Exchanges = d.ev.Exchanges[len(d.ev.Exchanges)-3:]
	d.renumberExchanges()
	return Place{}, true
}

func dropMiddle(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	for i := 1; i+1 < len(list); i++ {
		if d.continuesReply(list[i+1]) && d.continuesReply(list[i]) {
			at := list[i]
			d.ev.Exchanges = append(d.ev.Exchanges[:at:at], d.ev.Exchanges[at+1:]...)
			d.renumberExchanges()
			return Place{Exchange: at}, true
		}
	}
	return Place{}, false
}

func bodyNotKept(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	if len(list) < 2 {
		return Place{}, false
	}
	k := list[len(list)-1]
	d.ev.Exchanges[k].Response.Body = nil
	d.ev.Exchanges[k].Response.Chunks = nil
	return d.placeAt(k, nil), true
}

func headersNotKept(d *draft, _ *rand.Rand) (Place, bool) {
	had := false
	for k := range d.ev.Exchanges {
		had = had || len(d.ev.Exchanges[k].Request.Header) > 0
		d.ev.Exchanges[k].Request.Header = nil
		d.ev.Exchanges[k].Response.Header = nil
	}
	return Place{}, had
}

func resumedUnchanged(d *draft, _ *rand.Rand) (Place, bool) {
	k, ok := d.markBorder()
	if !ok {
		return Place{}, false
	}
	return d.placeAt(k, nil), true
}
