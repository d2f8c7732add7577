package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
)

// Config says where a provider is, what opens it and how it is called. It prints
// without its key.
type Config struct {
	// BaseURL is where the provider is, with or without the API version at the
	// end, below any path prefix. Empty means the provider's own address.
	BaseURL string
	// APIKey is the credential. Empty is fine for rendering; a call without it
	// is an authentication error.
	APIKey string `json:"-"`
	// HTTPClient carries proxy and CA settings. Nil means a client that uses
	// neither a proxy nor the process environment. Redirects are never followed:
	// they would carry the key elsewhere.
	HTTPClient *http.Client
	// WebSocket sends requests over WebSockets, and of each what the provider does not hold
	// yet, where the provider has them.
	WebSocket bool
	// Header holds further request headers, e.g. OpenAI-Organization. Values of
	// anthropic-beta are joined with those the client sends itself.
	Header http.Header
	// Lookup finds the catalogue entry of a model. Nil means catalog.Lookup;
	// catalog.Unlisted takes any model of a known provider.
	Lookup func(model string) (catalog.Entry, error)
	// Throttle makes calls wait before they are sent. Nil: none does.
	Throttle Throttle
	// Bounds limit each reply. The zero Bounds are DefaultBounds.
	Bounds Bounds
	// Lenient makes stream anomalies events instead of errors.
	Lenient bool
	// Now tells the time for retry-after dates. Nil means time.Now.
	Now func() time.Time
}

// Format prints the configuration without its key or headers, whatever the
// verb.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "{BaseURL:%q APIKey:%s}", c.BaseURL, describeSecret(c.APIKey))
}

func describeSecret(secret string) string {
	if secret == "" {
		return "(none)"
	}
	return "(set)"
}

// versionSegment matches the last segment of a path when it names an API version.
var versionSegment = regexp.MustCompile(`/v\d+[a-z]*\d*$`)

// resolveBase returns the URL that call paths are appended to: BaseURL, or fallback
// when it is empty, ending in an API version.
func (c Config) resolveBase(fallback, defaultVersion string) (*url.URL, error) {
	raw := c.BaseURL
	if raw == "" {
		raw = fallback
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("base URL: it is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("base URL: it must start with http:// or https:// and name a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("base URL: it must hold no credentials, query or fragment")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if !versionSegment.MatchString(u.Path) {
		u.Path += "/" + defaultVersion
	}
	return u, nil
}

// httpClient returns a copy of the configured HTTP client that stays where it is
// sent.
func (c Config) httpClient() *http.Client {
	hc := http.Client{}
	if c.HTTPClient != nil {
		hc = *c.HTTPClient
	}
	if hc.Transport == nil {
		hc.Transport = directTransport
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hc
}

// DefaultHeaderBytes bounds the headers of a reply where the caller brings no HTTP
// client.
const DefaultHeaderBytes = 256 << 10

// directTransport is the default transport without a proxy: net/http caches the proxy
// of the environment for the life of the process.
var directTransport = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxResponseHeaderBytes = DefaultHeaderBytes
	return t
}()
