package harness

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// holdsMadeUpClaim reports whether a value is a signed token (JWT) whose claims say that
// it is made up: agents that log in do not start with a token of another form.
func holdsMadeUpClaim(value string) bool {
	fields := strings.Fields(value)
	if len(fields) == 0 {
		return false
	}
	parts := strings.Split(fields[len(fields)-1], ".")
	if len(parts) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && bytes.Contains(claims, []byte(madeUpMark))
}
