package harness

import (
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
)

// TestTrustVariables holds that each language's variable leads to the certificate, and only where the
// proxy is the way in.
func TestTrustVariables(t *testing.T) {
	for _, name := range []string{
		"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DENO_CERT",
		"CARGO_HTTP_CAINFO", "PERL_LWP_SSL_CA_FILE", "SYSTEM_CERTIFICATE_PATH",
	} {
		if env := (Room{Ingress: proxy.MITM, CAFile: "/ca.pem"}).environment("/bin"); !slices.Contains(env, name+"=/ca.pem") {
			t.Errorf("%s does not lead to the certificate: %q", name, env)
		}
		if env := (Room{Ingress: proxy.BaseURL, CAFile: "/ca.pem"}).environment("/bin"); slices.Contains(env, name+"=/ca.pem") {
			t.Errorf("%s is set for base URLs, which need no certificate", name)
		}
	}
}
