package provider

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/stream"
)

// maxErrorBody bounds how much of a failed answer is read.
const maxErrorBody = 64 << 10

// completeError stamps and scrubs an error; every error of a call goes through it.
func (c *Client) completeError(ctx context.Context, e *Error) error {
	e.Provider = c.provider.Name
	if limit := limitOf(ctx, e.Err); limit != nil && e.Status == 0 {
		*e = Error{
			Kind: limit.kind(), Provider: e.Provider, RequestID: e.RequestID, RateLimits: e.RateLimits, Err: limit,
		}
	} else if err := ctx.Err(); err != nil && e.Status == 0 {
		e.Kind, e.Err = Cancelled, err
		if errors.Is(err, context.DeadlineExceeded) {
			e.Kind = Timeout
		}
	}
	c.scrub.scrubError(e)
	return e
}

// connectionError classifies a connection that failed before or inside the answer.
func (c *Client) connectionError(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) { // its text repeats the URL
		err = u.Err
	}
	kind := ConnectionReset
	var timeout net.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		kind = Timeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the connection broke off inside the answer")
	}
	return c.completeError(ctx, &Error{Kind: kind, Err: err})
}

// readRefusal reads an answer with another status than 200.
func (c *Client) readRefusal(ctx context.Context, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if isCompressed := resp.Header.Get("Content-Encoding") != ""; isCompressed || err != nil && len(body) == 0 {
		body = nil // the status says enough
	}
	e := c.codec.ParseError(c.scrub.scrubBytes(body)) // before an excerpt cuts a secret in two
	e.Status = resp.StatusCode
	c.readErrorHeaders(e, resp)
	if loc := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && loc != "" {
		e.Message = "the address redirects elsewhere; use the API's own base URL"
	}
	e.Kind = classify(e.Status, e.Type, e.Code, e.Message)
	if e.isWrongAddress() {
		e.Message = strings.TrimPrefix(e.Message+"; nothing is at this address: check the base URL", "; ")
	}
	return c.completeError(ctx, e)
}

// classifyUnread classifies what the parser or the shape of a 200 said.
func (c *Client) classifyUnread(ctx context.Context, resp *http.Response, err error) error {
	var (
		done       *Error
		reported   *stream.ProviderError
		incomplete *stream.IncompleteError
	)
	if errors.As(err, &done) {
		return done
	}
	e := &Error{Kind: StreamParse, Err: err}
	c.readErrorHeaders(e, resp)
	switch {
	case errors.As(err, &reported):
		e.Status, e.Type, e.Code, e.Message = http.StatusOK, reported.Type, reported.Code, reported.Message
		e.Kind, e.Err = classify(e.Status, e.Type, e.Code, e.Message), nil
		if e.RetryAfter == nil {
			e.RetryAfter = delayInMessage(e.Message)
		}
	case errors.As(err, &incomplete):
		e.Kind = Incomplete
	}
	return c.completeError(ctx, e)
}

// readErrorHeaders fills in what the response headers say.
func (c *Client) readErrorHeaders(e *Error, resp *http.Response) {
	e.RateLimits = rateLimits(resp.Header, c.cfg.Now())
	e.Organization = c.organizationOf(resp.Header)
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := resp.Header.Get(name); id != "" {
			e.RequestID = id
			break
		}
	}
	if d := retryAfter(resp.Header, c.cfg.Now()); d != nil && resp.StatusCode != http.StatusOK {
		e.RetryAfter = d
	}
	if e.RetryAfter == nil && resp.StatusCode == http.StatusTooManyRequests {
		e.RetryAfter = windowReset(resp.Header)
	}
	if b, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil && resp.StatusCode != http.StatusOK {
		e.ShouldRetry = &b
	}
}

// parseError reads an error body in any of its shapes: the object of the three
// providers, that object in an array or in an event stream, a gateway's own
// object, or text and HTML. Content types lie; they are not
// asked.
func parseError(body []byte) *Error {
	text := bytes.TrimSpace(body)
	if bytes.HasPrefix(text, []byte("event:")) || bytes.HasPrefix(text, []byte("data:")) {
		text = firstDataLine(text)
	}
	if len(text) > 0 && text[0] == '[' {
		var all []json.RawMessage
		if json.Unmarshal(text, &all) == nil && len(all) > 0 {
			text = all[0]
		}
	}
	if e := parseObject(text); e != nil {
		return e
	}
	return &Error{Message: excerptOf(text)}
}

func firstDataLine(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimSpace(data)
		}
	}
	return text
}

// errorEnvelope is the union of the providers' error objects.
type errorEnvelope struct {
	Error     json.RawMessage `json:"error"`
	Message   string          `json:"message"`
	Detail    json.RawMessage `json:"detail"`
	RequestID string          `json:"request_id"`
}

type errorObject struct {
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   json.RawMessage `json:"param"`
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"` // Gemini's are a list, Anthropic's an object
}

type errorDetail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
	ErrorCode  string `json:"error_code"`
}

// detailsOf reads details of either form, and nothing of any other.
func (o *errorObject) detailsOf() (list []errorDetail) {
	var one errorDetail
	if json.Unmarshal(o.Details, &list) != nil && json.Unmarshal(o.Details, &one) == nil {
		list = []errorDetail{one}
	}
	return list
}

// parseObject returns nil when text is not a JSON object.
func parseObject(text []byte) *Error {
	var env errorEnvelope
	if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &env) != nil {
		return nil //nolint:nilerr // no object, no error object
	}
	e := &Error{RequestID: env.RequestID, Message: env.Message}
	var o errorObject
	var plain string
	switch {
	case json.Unmarshal(env.Error, &o) == nil && len(env.Error) > 0 && env.Error[0] == '{':
		e.Type, e.Message, e.Code = firstNonEmpty(o.Status, o.Type), o.Message, stringOf(o.Code)
		e.Param = stringOf(o.Param)
	case json.Unmarshal(env.Error, &plain) == nil:
		e.Message = firstNonEmpty(plain, env.Message)
	case len(env.Detail) > 0:
		e.Message = firstNonEmpty(stringOf(env.Detail), string(env.Detail))
	case e.Message == "":
		e.Message = excerptOf(text)
	}
	for _, d := range o.detailsOf() {
		e.Code = firstNonEmpty(e.Code, d.Reason, d.ErrorCode)
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay >= 0 {
			e.RetryAfter = &delay
		}
	}
	if e.RetryAfter == nil {
		e.RetryAfter = delayInMessage(e.Message)
	}
	return e
}

// stringOf returns a JSON string's value and "" for anything else, such as
// Gemini's numeric code, which repeats the status.
func stringOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func firstNonEmpty(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

var htmlTitle = regexp.MustCompile(`(?i)<title>([^<]*)`)

// excerptOf returns the beginning of text on one line, the title of HTML.
func excerptOf(text []byte) string {
	if m := htmlTitle.FindSubmatch(text); m != nil {
		text = m[1]
	}
	s := strings.ToValidUTF8(strings.Join(strings.Fields(string(text)), " "), "?")
	if runes := []rune(s); len(runes) > 200 {
		s = string(runes[:200]) + "…"
	}
	return s
}

// scrubber takes secrets out of texts, in the forms in which they may be
// echoed.
type scrubber struct{ replacer *strings.Replacer }

// minSecret is the length from which a value counts as a secret: shorter ones
// are words that error texts are made of.
const minSecret = 6

func newScrubber(secrets ...string) *scrubber {
	const mark = "[redacted]"
	var forms []string
	for _, key := range secrets {
		if len(key) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(key)
		forms = append(forms,
			key, url.QueryEscape(key), url.PathEscape(key), string(quoted[1:len(quoted)-1]),
			base64.StdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)))
	}
	// The longest first: one secret may begin as another does.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, mark)
	}
	return &scrubber{strings.NewReplacer(pairs...)}
}

func (s *scrubber) scrubBytes(text []byte) []byte { return []byte(s.replacer.Replace(string(text))) }

// secretsOf returns the key and the values of extra headers that hold a
// credential.
func secretsOf(cfg Config) []string {
	secrets := []string{cfg.APIKey}
	for name, values := range cfg.Header {
		for _, part := range []string{"auth", "key", "token", "cookie", "secret"} {
			if strings.Contains(strings.ToLower(name), part) {
				secrets = append(secrets, values...)
			}
		}
	}
	return secrets
}

// scrubError scrubs all texts of e. A cause that repeats the secret is replaced by
// its scrubbed text.
func (s *scrubber) scrubError(e *Error) {
	e.Message = s.replacer.Replace(e.Message)
	e.Type, e.Code = s.replacer.Replace(e.Type), s.replacer.Replace(e.Code)
	e.RequestID = s.replacer.Replace(e.RequestID)
	if e.Err == nil {
		return
	}
	if text := e.Err.Error(); s.replacer.Replace(text) != text {
		e.Err = errors.New(s.replacer.Replace(text))
	}
}
