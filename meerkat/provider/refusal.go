package provider

import (
	"net/http"
	"slices"
	"strings"
)

// notAboutForm are the words of refusals that say nothing about the form of a request:
// money, permissions, places, URLs that could not be read, filters.
var notAboutForm = []string{
	"insufficient_quota", "current quota", "credit balance", "billing", "usage limits", "spend limit",
	"api key", "api_key", "organization has been disabled", "must be verified", "location is not supported", "unsupported_country",
	"unable to download", "while downloading", "failed to download", "error downloading", "failed to fetch", "unable to fetch", "cannot fetch",
	"could not be fetched", "robots.txt", "content_policy", "content_filter", "content filtering", "usage policy", "safety system", "invalid_prompt",
}

// IsFormRefusal reports whether the provider refused the request for its form: its
// messages, media, tools or parameters. The same bytes would be refused again.
func (e *Error) IsFormRefusal() bool {
	statuses := []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}
	if e.Kind != InvalidRequest || e.Retryable() || !slices.Contains(statuses, e.Status) || e.Type == "billing_error" || e.Type == "FAILED_PRECONDITION" {
		return false
	}
	words := strings.ToLower(e.Code + " " + e.Message)
	return !slices.ContainsFunc(notAboutForm, func(w string) bool { return strings.Contains(words, w) })
}
