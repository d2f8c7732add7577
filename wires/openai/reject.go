package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
)

// Reject returns a refusal in the API's envelope with its headers (reference
// §1.2, §4). Equal refusals have equal bytes.
func (Provider) Reject(r *rule.Refusal) (status int, header http.Header, body []byte) {
	fault := script.Object{"message", r.Message, "type", r.Type, "param", orNothing(r.Param), "code", orNothing(r.Code)}
	body = script.JSON(script.Object{"error", fault})
	sum := sha256.Sum256(body)
	header = maps.Clone(constant)
	header["X-Request-Id"] = []string{"req_" + hex.EncodeToString(sum[:16])}
	if r.Status == http.StatusUnauthorized {
		header.Set("Www-Authenticate", `Bearer realm="OpenAI API"`)
		return r.Status, header, body // it belongs to no provider
	}
	header["Openai-Organization"], header["Openai-Project"] = headers["Openai-Organization"], headers["Openai-Project"]
	header["Openai-Processing-Ms"] = []string{strconv.Itoa(5 + int(sum[0])/8)}
	return r.Status, header, body
}

// orNothing is what the API writes for an absent text.
func orNothing(s string) any {
	if s == "" {
		return nil
	}
	return s
}
