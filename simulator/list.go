package simulator

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/gemini"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/rule"
)

// listModels lists the provider's models.
func (h *handler) listModels(c *call) script.Plan {
	return h.bodyPlan(c, c.provider.list(query(c.Request)))
}

// showModel describes one model.
func (h *handler) showModel(c *call) script.Plan {
	info, ok := c.provider.info(c.id)
	if !ok {
		refusal := unknownModel[c.route.provider](c.id)
		return rejectionPlan(c.provider, &refusal)
	}
	return h.bodyPlan(c, info)
}

func listAnthropic(q url.Values) []byte {
	limit, _ := strconv.Atoi(q.Get("limit")) // none: the usual
	return anthropic.Models(limit, q.Get("after_id"), q.Get("before_id"))
}

func listOpenAI(url.Values) []byte { return openai.Models() }

func listGemini(q url.Values) []byte {
	size, _ := strconv.Atoi(q.Get("pageSize")) // none: the usual
	return gemini.Models(size, q.Get("pageToken"))
}

// unknownModel returns the error text for a model that does not exist.
var unknownModel = map[string]func(string) rule.Refusal{
	"anthropic": func(id string) rule.Refusal {
		return rule.Refusal{Status: http.StatusNotFound, Type: "not_found_error", Message: "model: " + id}
	},
	"openai": func(id string) rule.Refusal {
		return rule.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found", Param: "model",
			Message: fmt.Sprintf("The model '%s' does not exist", id)}
	},
	"gemini": func(id string) rule.Refusal {
		return rule.Refusal{Status: http.StatusNotFound, Type: "NOT_FOUND", Message: fmt.Sprintf("Model is not found: models/%s for api version v1beta", id)}
	},
}
