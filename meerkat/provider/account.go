package provider

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/handoff"
)

// The kinds of credentials: what a provider counts as the same customer.
const (
	keyKindAPI   = "api-key"
	keyKindOAuth = "oauth"
)

// Account returns the account of the client's requests, as far as it is known before
// the provider has answered; see [handoff.MakeAccount]. It does not depend on the key,
// but on what kind of key it is.
func (c *Client) Account() string {
	kind := keyKindAPI
	if slices.ContainsFunc(
		c.provider.OAuthPrefixes, func(prefix string) bool { return strings.HasPrefix(c.cfg.APIKey, prefix) },
	) {
		kind = keyKindOAuth
	}
	return handoff.MakeAccount(c.base.Hostname(), kind)
}

var organizationForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// organizationOf returns the organization that an answer names, "" if it names none.
func (c *Client) organizationOf(header http.Header) string {
	if name := header.Get(
		c.provider.OrganizationHeader,
	); c.provider.OrganizationHeader != "" && organizationForm.MatchString(name) {
		return name
	}
	return ""
}
