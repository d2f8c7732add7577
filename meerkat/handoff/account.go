package handoff

import (
	"encoding/hex"
	"net"
	"strings"
)

// MakeAccount returns the name of an account: whose keys a provider takes for the same
// customer. It is HOST/KIND, or HOST/KIND/ORGANIZATION once a reply has named one, such
// as "api.anthropic.com/api-key". The key itself is no part of it, so that a new key
// keeps the conversation. An address on this machine is a proxy of some host and says
// nothing: its host is empty.
func MakeAccount(host, keyKind string) string {
	host = strings.ToLower(host)
	if ip := net.ParseIP(host); host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil &&
		ip.IsLoopback() {
		host = ""
	}
	return host + "/" + keyKind
}

// WithOrganization returns account with the organization that a provider named. A name
// that the user gave an account decides alone, and so does an account without a form.
func WithOrganization(account, organization string) string {
	parts := strings.Split(account, "/")
	if organization == "" || len(parts) < 2 || len(parts) > 3 {
		return account
	}
	return parts[0] + "/" + parts[1] + "/" + organization
}

// SameAccount reports whether two accounts may be the same one. What either does not
// say may be anything. Sessions of earlier builds hold a hash of the key instead of an
// account: it says nothing about the customer.
func SameAccount(a, b string) bool {
	if isKeyHash(a) || isKeyHash(b) || a == "" || b == "" {
		return true
	}
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	if len(x) == 1 || len(y) == 1 {
		return a == b // a name that the user gave
	}
	for i := range min(len(x), len(y)) {
		if !mayBeSame(x[i], y[i]) {
			return false
		}
	}
	return true
}

// isKeyHash reports whether an account is the hash that earlier builds wrote.
func isKeyHash(account string) bool {
	_, err := hex.DecodeString(account)
	return len(account) == 16 && err == nil && strings.ToLower(account) == account
}
