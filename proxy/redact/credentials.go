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
// servers and gateways. Values inside a conversation are data, whatever they are
// called: a tool's arguments must come back as they were streamed.
var requestParents = nameSet("tools", "mcp_servers", "mcpservers", "metadata", "extra_headers", "headers")

// requestNames are the names of credentials in a request body.
var requestNames = nameSet(
	"authorization", "authorization_token", "api_key", "api-key", "apikey", "apikeystring", "api_key_string",
	"x-api-key", "x-goog-api-key", "access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token",
	"auth_token", "bearer_token", "session_token", "client_secret", "clientsecret", "client_assertion", "assertion",
	"code_verifier", "secret", "secret_key", "private_key", "password", "cookie",
)

// requestCredentials finds the credential values of a request body. The format
// is recognised by the body itself, because clients declare the wrong type, as
// curl -d does for JSON.
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

// jsonCredentials finds credentials in JSON: at the top level, and in what
// configures tools also under their names, in headers of any name, in command
// flags and in URLs.
func jsonCredentials(b []byte) (out []span) {
	var previous, arg []byte // elements of an args array
	for s := range jsonStrings(b) {
		previous, arg = arg, nil
		key := lowerName(s.key.bytesIn(b))
		if key == "args" {
			arg = s.value.bytesIn(b)
		}
		if s.value.end == s.value.start {
			continue
		}
		if !requestParents[lowerName(s.top.bytesIn(b))] {
			if s.depth == 1 && requestNames[key] {
				out = append(out, s.value)
			}
			continue
		}
		if arg != nil {
			if found, isFlag := flagCredential(s.value, previous, arg); isFlag {
				out = append(out, found...)
				continue
			}
		}
		out = append(out, toolCredentials(b, s, key)...)
	}
	return out
}

// flagCredential finds the credential in an argument of a tool's command, given
// the argument before it. isFlag is false when neither is a flag for a credential.
func flagCredential(value span, previous, arg []byte) (found []span, isFlag bool) {
	switch {
	case bytes.IndexByte(previous, '=') < 0 && isSecretFlag(previous): // --token=x has its value already
		return []span{value}, true
	case !isSecretFlag(arg):
		return nil, false
	}
	if n := bytes.IndexByte(arg, '='); n > 0 {
		found = []span{{value.start + n + 1, value.end}}
	}
	return found, true
}

// toolCredentials finds the credentials in a string that configures a tool. key
// is the lower-case name it stands under.
func toolCredentials(b []byte, s jsonString, key string) []span {
	text := s.value.bytesIn(b)
	switch {
	case requestNames[key], requestHeaders[lowerName(s.parent.bytesIn(b))] && !isClear(key):
		return []span{s.value}
	case !bytes.Contains(text, []byte("://")):
		return nil
	}
	found := urlSecrets(string(text))
	for i := range found {
		found[i].start += s.value.start
		found[i].end += s.value.start
	}
	return found
}

// requestHeaders are the objects that hold headers for a tool's server, or its
// environment.
var requestHeaders = nameSet("headers", "extra_headers", "http_headers", "env")

// isSecretFlag reports whether an argument of a tool's command is a flag with
// the name of a credential. Its value follows a "=", or is the next argument.
func isSecretFlag(arg []byte) bool {
	name, _, _ := bytes.Cut(arg, []byte("="))
	return bytes.HasPrefix(name, []byte("-")) && isSecretName(lowerName(bytes.ReplaceAll(name, []byte("_"), []byte("-"))))
}

// lowerName returns a name in lower case, or "" for a name longer than any that
// is looked for.
func lowerName(name []byte) string {
	if len(name) > 40 {
		return ""
	}
	return strings.ToLower(string(name))
}

// partName finds the name of a part in its header.
var partName = regexp.MustCompile(`(?i)\r\ncontent-disposition:[^\r\n]*[; ]name="?([^";\r\n]+)`)

// multipartCredentials finds the values of the parts with names of credentials.
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

// responseNames are the names under which an authority issues credentials.
var responseNames = nameSet(
	"access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token", "idtoken", "session_token", "sessiontoken",
	"auth_token", "client_secret", "clientsecret", "device_code", "registration_access_token",
	"secret_access_key", "secretaccesskey", "api_key", "apikey", "private_key",
)

// responseParents are the top-level fields inside which credentials may also
// stand. A field that is itself a credential may be an object with a value.
var responseParents = nameSet("credentials", "token", "tokens", "session", "client_secret", "data", "result")

// responseCredentials finds the credentials that a reply issues. They have not
// been used yet, so only their names show what they are. Replies of models are
// not searched: their texts lie deeper, or in strings, or are streamed.
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

// mayHandOut is a cheap test that is false for most bodies.
func mayHandOut(b []byte) bool {
	for _, hint := range []string{`oken"`, `ecret`, `key"`, `Key"`, `_code"`} {
		if bytes.Contains(b, []byte(hint)) {
			return true
		}
	}
	return false
}

// secretsIn returns the secrets at the spans of a body, decoded.
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
