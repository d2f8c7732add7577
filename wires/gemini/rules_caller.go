package gemini

import (
	"net/http"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

var callerRules = []rule.Rule[*request]{
	liveRule("G-1", "a request carries a key, in x-goog-api-key or ?key=, or a token", "recorded", rule.High, keyMissing),
	liveRule("G-1", "the key is valid; the simulator takes any but one that holds the word invalid or what no key holds", "recorded", rule.High, keyInvalid),
}

var modelRules = []rule.Rule[*request]{
	basicRule(liveRule("G-2", "there is the model, and it generates", "recorded", rule.High, modelUnknown)),
}

func serviceName(q *request) string {
	if q.vertex {
		return "aiplatform.googleapis.com"
	}
	return "generativelanguage.googleapis.com"
}

func keyMissing(q *request, _ rule.Env) *rule.Refusal {
	switch {
	case credentialOf(q.Request) != "":
		return nil
	case q.vertex:
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: "UNAUTHENTICATED",
			Message: "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
			Details: script.JSON(script.Array{errorInfo("CREDENTIALS_MISSING", serviceName(q))})}
	}
	return &rule.Refusal{Status: http.StatusForbidden, Type: "PERMISSION_DENIED", Message: unregistered}
}

const (
	unregistered = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."
	badKey       = "API key not valid. Please pass a valid API key."
)

// keyInvalid answers a bad key with 400, as the API does (reference §1.3).
func keyInvalid(q *request, _ rule.Env) *rule.Refusal {
	if validKey(credentialOf(q.Request)) {
		return nil
	}
	refusal := invalid(badKey)
	refusal.Details = script.JSON(script.Array{
		errorInfo("API_KEY_INVALID", serviceName(q)),
		script.Object{"@type", "type.googleapis.com/google.rpc.LocalizedMessage", "locale", "en-US", "message", badKey},
	})
	return refusal
}

// validKey knows no accounts: a made-up key is as good as another, unless it
// says of itself that it is not.
func validKey(key string) bool {
	odd := strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0
	return !odd && !strings.Contains(strings.ToLower(key), "invalid")
}

func errorInfo(reason, service string) script.Object {
	return script.Object{"@type", "type.googleapis.com/google.rpc.ErrorInfo", "reason", reason,
		"domain", "googleapis.com", "metadata", script.Object{"service", service}}
}

func modelUnknown(q *request, _ rule.Env) *rule.Refusal {
	if q.served && (q.generates() || q.method == count) {
		return nil
	}
	refusal := &rule.Refusal{Status: http.StatusNotFound, Type: "NOT_FOUND", Message: notFound(q.route)}
	if q.vertex {
		refusal.Details = []byte("[]")
	}
	return refusal
}

func notFound(to route) string {
	if to.vertex {
		return "Publisher Model `" + to.resourceName() + "` not found."
	}
	supported := to.method
	if supported == stream {
		supported = unary // the API names the method that the model lacks; both are one
	}
	return to.resourceName() + " is not found for API version " + to.version + ", or is not supported for " + supported +
		". Call ModelService.ListModels to see the list of available models and their supported methods."
}
