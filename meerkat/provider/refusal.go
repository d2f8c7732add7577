package provider

import (
	"net/http"
	"slices"
	"strings"
)

// notAboutRequest are the words of refusals that say nothing about the request: money,
// permissions, places.
var notAboutRequest = []string{
	"insufficient_quota", "current quota", "credit balance", "billing", "usage limits", "spend limit",
	"api key", "api_key", "organization has been disabled", "must be verified", "location is not supported",
	"unsupported_country",
}

// aboutContent are the words of refusals of what a request says: addresses that could
// not be read, filters.
var aboutContent = []string{
	"unable to download", "while downloading", "failed to download", "error downloading", "failed to fetch",
	"unable to fetch", "cannot fetch",
	"could not be fetched", "robots.txt", "content_policy", "content_filter", "content filtering", "usage policy",
	"safety system", "invalid_prompt",
}

// IsFormRefusal reports whether the provider refused the request for its form: its
// messages, media, tools or parameters. The same bytes would be refused again.
func (e *Error) IsFormRefusal() bool {
	return e.isInvalidRequest() && !e.says(aboutContent)
}

// IsContentRefusal reports whether the provider refused what the request says: it is too
// long, a filter stopped it, or an address in it could not be read.
func (e *Error) IsContentRefusal() bool {
	switch {
	case e.Retryable():
		return false
	case e.Kind == ContextTooLong, e.Kind == ContentFiltered:
		return true
	}
	return e.isInvalidRequest() && e.says(aboutContent)
}

// isInvalidRequest reports whether the provider refused the request for what is in it.
func (e *Error) isInvalidRequest() bool {
	statuses := []int{
		http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity,
	}
	return e.Kind == InvalidRequest && !e.Retryable() && slices.Contains(statuses, e.Status) && !e.isWrongAddress() &&
		e.Type != "billing_error" && e.Type != "FAILED_PRECONDITION" && !e.says(notAboutRequest)
}

// aboutStoredItem are the words of a 404 about an item that the request names. Any other
// 404 says that the address is wrong.
var aboutStoredItem = []string{"item with id", "previous response"}

// isWrongAddress reports whether the answer says that nothing is at the address that the
// request was sent to. The request itself was not judged.
func (e *Error) isWrongAddress() bool {
	return e.Kind == InvalidRequest && e.Status == http.StatusNotFound && !e.says(aboutStoredItem)
}

// says reports whether the provider's code or message holds one of the words.
func (e *Error) says(words []string) bool {
	said := strings.ToLower(e.Code + " " + e.Message)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
}
