package openai

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

// Accounts that lack something. A made-up key chooses one: "test-key@zdr".
const (
	accountZDR        = "zdr"        // keeps nothing: Zero Data Retention
	accountUnverified = "unverified" // may not see summaries
	accountExhausted  = "exhausted"  // has no money left
)

var accessRules = []rule.Rule[*request]{
	liveRule("O-1", "there is a key", recorded, rule.High, keyGiven),
	liveRule("O-1", "the key is valid; one that begins with invalid or test-invalid is not", recorded, rule.High, keyValid),
	liveRule("O-31", "the account has quota; the account \"exhausted\" has none", recorded, rule.High, quotaLeft),
	basicRule(liveRule("O-5", "the body is one JSON object", recorded, rule.High, bodyReadable)),
}

const keysPage = "https://platform.openai.com/account/api-keys."

func unauthorised(message string) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key", Message: message}
}

func keyGiven(q *request, _ rule.Env) *rule.Refusal {
	if q.key != "" {
		return nil
	}
	return unauthorised("You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
		"(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser " +
		"and are prompted for a username and password. You can obtain an API key from " + keysPage)
}

func keyValid(q *request, _ rule.Env) *rule.Refusal {
	if !strings.HasPrefix(strings.TrimPrefix(q.key, "test-"), "invalid") {
		return nil
	}
	return unauthorised("Incorrect API key provided: " + maskKey(q.key) + ". You can find your API key at " + keysPage)
}

// maskKey shows the first eight and the last four characters of a key.
func maskKey(key string) string {
	const head, tail = 8, 4
	if len(key) <= head+tail {
		return key
	}
	return key[:head] + strings.Repeat("*", len(key)-head-tail) + key[len(key)-tail:]
}

func quotaLeft(q *request, _ rule.Env) *rule.Refusal {
	if q.account != accountExhausted {
		return nil
	}
	return &rule.Refusal{
		Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
		Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, " +
			"read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
	}
}

func bodyReadable(q *request, _ rule.Env) *rule.Refusal {
	if q.err == nil {
		return nil
	}
	return invalid("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "+
		"The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
}
