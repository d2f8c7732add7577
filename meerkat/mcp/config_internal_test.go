package mcp

import "testing"

// TestOffers: a server names its tools as it likes, and is denied them all the
// same.
func TestOffers(t *testing.T) {
	for _, c := range []struct {
		allow, deny []string
		name        string
		want        bool
	}{
		{nil, nil, "a/b", true},
		{nil, []string{"delete*"}, "delete/all", false},
		{nil, []string{"*"}, "a/b/c", false},
		{[]string{"read/*"}, nil, "read/file", true},
		{[]string{"read*"}, []string{"read/[s-t]ecret"}, "read/secret", false},
		{[]string{"read"}, nil, "read/file", false},
	} {
		if got := (Server{Allow: c.allow, Deny: c.deny}).allowsTool(c.name); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
