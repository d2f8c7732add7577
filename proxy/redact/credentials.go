package redact

import (
	"bytes"
	"mime"
	"net/url"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// requestParents are the top-level request fields that configure tools, MCP
// servers and gateways. What a conversation holds under names of credentials is
// data: a tool's arguments must come back as they were streamed.
var requestParents = nameSet("tools", "mcp_servers", "mcpservers", "metadata", "extra_headers", "headers")

// requestNames are the names of credentials in a request body.
var requestNames = nameSet(
	"authorization", "authorization_token", "api_key", "api-key", "apikey", "apikeystring", "api_key_string",
	"x-api-key", "x-goog-api-key", "access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token",
	"auth_token", "bearer_token", "session_token", "client_secret", "clientsecret", "client_assertion", "assertion",
	"code_verifier", "secret", "secret_key", "private_key", "password", "cookie",
)

// requestCredentials finds the credential values of a request body. The body
// itself says what it is: clients name the wrong type, as curl -d does for JSON.
func requestCredentials(in cassette.Request) []span {
	_, params, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	text := bytes.TrimLeft(in.Body, " \t\r\n\ufeff")
	switch {
	case len(text) == 0:
		return nil
	case params["boundary"] != "" && bytes.HasPrefix(text, []byte("--")):
		return multipartCredentials(in.Body, params["boundary"])
	case text[0] == '{' || text[0] == '[':
		return jsonCredentials(in.Body)
	}
	return append(pairSecrets(string(in.Body), 0, nil, credentialParams, requestNames), jsonCredentials(in.Body)...)
}

// jsonCredentials finds them in JSON: at the top, and in what configures tools
// under their names, as headers of any name, and in URLs.
func jsonCredentials(b []byte) (out []span) {
	var flag []byte // the element of an args array before this one
	for s := range jsonStrings(b) {
		top := requestParents[lowerName(s.top.bytesIn(b))]
		option := flag // --token=x has had its own
		if bytes.ContainsRune(option, '=') {
			option = nil
		}
		if flag = nil; lowerName(s.key.bytesIn(b)) == "args" {
			flag = s.value.bytesIn(b)
		}
		switch {
		case s.value.end == s.value.start:
		case top && flag != nil && isSecretFlag(option):
			out = append(out, s.value)
		case top && flag != nil && isSecretFlag(flag):
			if n := bytes.IndexByte(flag, '='); n > 0 {
				out = append(out, span{s.value.start + n + 1, s.value.end})
			}
		case (top || s.depth == 1) && requestNames[lowerName(s.key.bytesIn(b))],
			top && requestHeaders[lowerName(s.parent.bytesIn(b))] && !isClear(lowerName(s.key.bytesIn(b))):
			out = append(out, s.value)
		case top && bytes.Contains(s.value.bytesIn(b), []byte("://")):
			for _, u := range urlSecrets(string(s.value.bytesIn(b))) {
				out = append(out, span{s.value.start + u.start, s.value.start + u.end})
			}
		}
	}
	return out
}

// requestHeaders are the objects that hold headers for a tool's server, or its
// environment.
var requestHeaders = nameSet("headers", "extra_headers", "http_headers", "env")

// isSecretFlag reports whether an argument of a tool's command is a flag that is
// named like one for credentials. Its value is behind a "=", or the next one.
func isSecretFlag(arg []byte) bool {
	name, _, _ := bytes.Cut(arg, []byte("="))
	return bytes.HasPrefix(name, []byte("-")) && isSecretName(lowerName(bytes.ReplaceAll(name, []byte("_"), []byte("-"))))
}

// lowerName is the lower case of a name; of none that anybody looks for when it is
// long.
func lowerName(name []byte) string {
	if len(name) > 40 {
		return ""
	}
	return strings.ToLower(string(name))
}

// partName finds the name of a part in its header.
var partName = regexp.MustCompile(`(?i)\r\ncontent-disposition:[^\r\n]*[; ]name="?([^";\r\n]+)`)

// multipartCredentials finds the values of the parts that are named like
// credentials.
func multipartCredentials(b []byte, boundary string) (out []span) {
	line := []byte("\r\n--" + boundary)
	for at := 0; ; {
		n := bytes.Index(b[at:], []byte("\r\n\r\n"))
		if n < 0 {
			return out
		}
		header, start := b[at:at+n], at+n+len("\r\n\r\n")
		end := start + bytes.Index(b[start:], line)
		if end < start {
			end = len(b)
		}
		if name := partName.FindSubmatch(header); name != nil && end > start {
			if l := lowerName(name[1]); credentialParams[l] || requestNames[l] {
				out = append(out, span{start, end})
			}
		}
		at = end
	}
}

// responseNames are the names under which an authority hands out credentials.
var responseNames = nameSet(
	"access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token", "idtoken", "session_token", "sessiontoken",
	"auth_token", "client_secret", "clientsecret", "device_code", "registration_access_token",
	"secret_access_key", "secretaccesskey", "api_key", "apikey", "private_key",
)

// responseParents are the top-level fields below which they may stand, too. A
// field that is a credential itself may be an object with a value.
var responseParents = nameSet("credentials", "token", "tokens", "session", "client_secret", "data", "result")

// responseCredentials finds the credentials that a reply hands out. Nobody has
// used them yet, so that they are known by their names alone. The replies of
// models are left alone: their texts lie deeper, or in strings, or are streamed.
func responseCredentials(in cassette.Response) (out []span) {
	b := in.Body
	if strings.HasPrefix(in.Header.Get("Content-Type"), "text/event-stream") || !mayHandOut(b) {
		return nil
	}
	for s := range jsonStrings(b) {
		if s.depth > 2 || s.value.end == s.value.start || s.depth == 2 && !responseParents[lowerName(s.top.bytesIn(b))] {
			continue
		}
		if key := lowerName(s.key.bytesIn(b)); responseNames[key] || key == "value" && lowerName(s.top.bytesIn(b)) == "client_secret" {
			out = append(out, s.value)
		}
	}
	return out
}

// mayHandOut is quick to say that most bodies do not.
func mayHandOut(b []byte) bool {
	for _, hint := range []string{`oken"`, `ecret`, `key"`, `Key"`, `_code"`} {
		if bytes.Contains(b, []byte(hint)) {
			return true
		}
	}
	return false
}

// secretsIn returns the secrets at spans of a body, encodings undone.
func secretsIn(b []byte, spans []span) (out []string) {
	for _, s := range spans {
		text := unquoteJSON(s.bytesIn(b))
		out = append(out, withoutScheme(text))
		if plain, err := url.QueryUnescape(text); err == nil {
			out = append(out, withoutScheme(plain))
		}
		if _, password, ok := strings.Cut(text, ":"); ok && bytes.HasPrefix(b[s.end:], []byte("@")) {
			out = append(out, password)
		}
	}
	return out
}
