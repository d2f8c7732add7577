package structure

import (
	"bytes"
	"iter"
	"mime"
	"regexp"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

// Request looks through a request body. The format is recognised by the body
// itself, because clients declare the wrong type, as curl -d does for JSON. body is its index.
func Request(in cassette.Request, body *jsonscan.Index) Findings {
	_, params, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	text := bytes.TrimLeft(in.Body, " \t\r\n\ufeff")
	switch {
	case len(text) == 0:
		return Findings{}
	case params["boundary"] != "" && bytes.HasPrefix(text, []byte("--")):
		return Findings{Credentials: multipartCredentials(in.Body, params["boundary"])}
	case text[0] == '{' || text[0] == '[':
		return searchIndex(body, false, IssuesSecrets(in))
	}
	found := searchIndex(body, false, IssuesSecrets(in))
	if IsForm(text) {
		found.Credentials = append(pairSecrets(in.Body, 0, nil), found.Credentials...)
	}
	found.Credentials = append(found.Credentials, elementCredentials(in.Body)...)
	return found
}

// Response looks through a reply for credentials that it issues. They have not
// been used yet, so only their names show what they are. Streams of models issue none;
// their beginnings name the ids. body is the index of the body.
func Response(in cassette.Response, body *jsonscan.Index, issuesSecrets bool) Findings {
	text := bytes.TrimLeft(in.Body, " \t\r\n\ufeff")
	kind := in.Header.Get("Content-Type")
	switch {
	case len(text) == 0:
		return Findings{}
	case strings.HasPrefix(kind, "text/event-stream"):
		return Findings{Public: SearchStrings(in.Body, beginningOf(body), true, false).Public}
	case text[0] == '{' || text[0] == '[':
		return searchIndex(body, true, issuesSecrets)
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"), issuesSecrets && bytes.IndexByte(text, '=') > 0:
		return Findings{Credentials: dropGuessable(in.Body, pairSecrets(in.Body, 0, nil))}
	}
	return Findings{Credentials: dropGuessable(in.Body, elementCredentials(in.Body))}
}

// streamBeginning is how much of a stream is looked at for ids, in bytes.
const streamBeginning = 64 << 10

// beginningOf yields the strings at the beginning of a stream.
func beginningOf(stream *jsonscan.Index) iter.Seq[jsonscan.String] {
	return func(yield func(jsonscan.String) bool) {
		for s := range stream.Strings(true) {
			if s.Value.End > streamBeginning || !yield(s) {
				return
			}
		}
	}
}

// IsForm reports whether a text may be form-encoded: then no white space is in it but the end of
// a line after it.
func IsForm(text []byte) bool {
	return !bytes.ContainsAny(bytes.TrimRight(text, "\r\n"), " \t\r\n")
}

// partName finds the name of a part in its header.
var partName = regexp.MustCompile(`(?i)\r\ncontent-disposition:[^\r\n]*[; ]name="?([^";\r\n]+)`)

// multipartCredentials finds the values of the parts with names of credentials, and the
// credentials in parts of JSON.
func multipartCredentials(b []byte, boundary string) (out []lex.Span) {
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
		name := partName.FindSubmatch(header)
		switch {
		case end == start:
		case name != nil && IsParameter(string(name[1]), b[start:end]):
			out = append(out, lex.Between(start, end))
		case b[start] == '{' || b[start] == '[':
			out = lex.AppendShifted(out, searchJSON(b[start:end], false, false).Credentials, start)
		}
		at = end
	}
}

// element matches an XML element of text: the credentials that AWS and SAML hand out.
var element = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9_.:-]{1,60})(?:\s[^<>]{0,120})?>([^<>\s]+)</`)

// elementCredentials finds the credentials in XML.
func elementCredentials(b []byte) (out []lex.Span) {
	if !bytes.Contains(b, []byte("</")) {
		return nil
	}
	for _, m := range element.FindAllSubmatchIndex(b, -1) {
		name, value := string(b[m[2]:m[3]]), string(b[m[4]:m[5]])
		if names.Classify(name) == names.Strong && !values.IsReference(value) && !values.IsAddress(value) {
			out = append(out, lex.Between(m[4], m[5]))
		}
	}
	return out
}
