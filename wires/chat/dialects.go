package chat

import (
	"regexp"
	"slices"
	"strings"
)

// dialect is how one vendor's server differs from what all servers of Chat Completions share. A server
// whose host is in no row is judged by the shared rules alone.
type dialect struct {
	name string
	// hosts are intercepted by default. more are patterns of hosts with a name of the customer's.
	hosts []string
	more  string
	// traits are what the dialect's rules ask for.
	traits []trait
}

// trait is a habit of a dialect that a rule of requests has to know.
type trait string

// The traits, each with the rule that reads it.
const (
	officialMembers  trait = "refuses members that the API reference does not have"              // C-43
	reasoningBack    trait = "wants reasoning_content of messages with calls back (DeepSeek)"    // C-48
	reasoningKept    trait = "wants reasoning_content of messages with calls back (Kimi)"        // C-53
	reasoningRefused trait = "refuses reasoning_content in messages"                             // C-44
	nineCharacters   trait = "takes call ids of nine letters and digits only"                    // C-24
	noUserAfterTool  trait = "wants the assistant's answer between results and a user's message" // C-6
	noDeveloper      trait = "does not know the role developer"                                  // C-3
	uniqueCalls      trait = "takes each call id once in a request"                              // C-20
	shortIDs         trait = "takes call ids of at most 64 characters"                           // C-22
	signsCalls       trait = "wants signatures of calls back"                                    // C-60
	openAIModels     trait = "serves OpenAI's models with OpenAI's limits"                       // C-33, C-36
	filledCalls      trait = "refuses an empty list of calls"                                    // C-21
	wholeSchemas     trait = "refuses unsound schemas of functions"                              // C-30
	// The replies of the simulator: where reasoning stands, and the envelope of errors.
	inContent trait = "puts reasoning_content beside the content"              // C-47
	inDetails trait = "puts reasoning into reasoning_details, with signatures" // C-58
	isWrapped trait = "wraps the refusals of other providers"                  // C-88
	isListed  trait = "puts errors into a list"                                // C-88
)

// dialects are the known dialects. Engines that run anywhere (vLLM, SGLang, llama.cpp, Ollama, LM Studio)
// have no host and are judged by what all share.
var dialects = []dialect{
	{"openai", []string{"api.openai.com"}, `([a-z0-9-]+\.)*openai\.com`, []trait{officialMembers, openAIModels, shortIDs, filledCalls, wholeSchemas}},
	{"azure", nil, `[a-z0-9-]+\.(openai\.azure\.com|cognitiveservices\.azure\.com)`, []trait{openAIModels, filledCalls}},
	{"foundry", nil, `[a-z0-9-]+\.services\.ai\.azure\.com`, []trait{openAIModels}},
	{"copilot", []string{"api.githubcopilot.com"}, `api\.[a-z]+\.githubcopilot\.com`, nil},
	{"deepseek", []string{"api.deepseek.com"}, "", []trait{reasoningBack, noDeveloper, inContent}},
	{"kimi", []string{"api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"}, "", []trait{reasoningKept, uniqueCalls, inContent}},
	{"qwen", []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, "", []trait{inContent}},
	{"glm", []string{"api.z.ai", "open.bigmodel.cn"}, "", []trait{inContent}},
	{"minimax", []string{"api.minimax.io", "api.minimaxi.com"}, "", nil},
	{"openrouter", []string{"openrouter.ai"}, "", []trait{inDetails, isWrapped}},
	{"xai", []string{"api.x.ai"}, "", []trait{inContent}},
	{"groq", []string{"api.groq.com"}, "", []trait{reasoningRefused}},
	{"mistral", []string{"api.mistral.ai", "codestral.mistral.ai"}, "", []trait{nineCharacters, noUserAfterTool}},
	{"gemini", []string{"generativelanguage.googleapis.com"}, "", []trait{signsCalls, isListed}},
	{"anthropic", []string{"api.anthropic.com"}, "", nil},
	{"vercel", []string{"ai-gateway.vercel.sh"}, "", nil},
	{"cerebras", []string{"api.cerebras.ai"}, "", nil},
	{"together", []string{"api.together.xyz"}, "", nil},
	{"huggingface", []string{"router.huggingface.co"}, "", nil},
	{"perplexity", []string{"api.perplexity.ai"}, "", nil},
	{"ollama-cloud", []string{"ollama.com"}, "", nil},
}

// dialectOf returns the dialect that a host speaks, the empty one for an unknown host.
func dialectOf(host string) *dialect {
	host = strings.ToLower(host)
	for i := range dialects {
		if d := &dialects[i]; slices.Contains(d.hosts, host) || d.more != "" && regexp.MustCompile("^"+d.more+"$").MatchString(host) {
			return d
		}
	}
	return &dialect{}
}

func (d *dialect) hasTrait(t trait) bool { return slices.Contains(d.traits, t) }

// publicHosts are the hosts of all dialects.
func publicHosts() (hosts []string) {
	for _, d := range dialects {
		hosts = append(hosts, d.hosts...)
	}
	return hosts
}

// ownHosts matches the hosts of all dialects.
func ownHosts() *regexp.Regexp {
	var all []string
	for _, d := range dialects {
		for _, host := range d.hosts {
			all = append(all, regexp.QuoteMeta(host))
		}
		if d.more != "" {
			all = append(all, d.more)
		}
	}
	return regexp.MustCompile("^(" + strings.Join(all, "|") + ")$")
}
