package recorderenv

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/proxy"
)

// Variables by which programs are told which authorities to trust. The first kind adds to a
// program's own roots, the second replaces them.
var (
	addingRoots    = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT", "CODEX_CA_CERTIFICATE"}
	replacingRoots = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
		"CARGO_HTTP_CAINFO", "BUNDLE_SSL_CA_CERT", "NPM_CONFIG_CAFILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"}
)

// ClientVariables make a program use the proxy p and trust the files in the folder
// trust. Node heeds HTTPS_PROXY only when told to.
func ClientVariables(p *proxy.Proxy, trust string, ingresses []string) (env []string) {
	if slices.Contains(ingresses, proxy.BaseURL) {
		url := p.URLFor(proxy.BaseURL, "")
		env = append(env,
			"ANTHROPIC_BASE_URL="+url+"/anthropic",
			"OPENAI_BASE_URL="+url+"/openai/v1",
			"GEMINI_BASE_URL="+url+"/gemini",
			"GOOGLE_GEMINI_BASE_URL="+url+"/gemini",
			"GOOGLE_VERTEX_BASE_URL="+url+"/vertex",
			"ANTHROPIC_VERTEX_BASE_URL="+url+"/vertex/v1")
	}
	if !slices.Contains(ingresses, proxy.MITM) {
		return env
	}
	url := p.URLFor(proxy.MITM, "")
	env = append(env, "HTTPS_PROXY="+url, "https_proxy="+url, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
	for _, name := range addingRoots {
		env = append(env, name+"="+filepath.Join(trust, caFile))
	}
	for _, name := range replacingRoots {
		env = append(env, name+"="+filepath.Join(trust, bundleFile))
	}
	return env
}

// ViaLoginVariable holds the login for --upstream-proxy. There is no flag for it:
// everybody on a machine can read command lines.
const ViaLoginVariable = "RECORDER_UPSTREAM_PROXY_LOGIN"

// ways around the proxy, which a program must not be left with.
var ways = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "RECORDER_UPSTREAM_PROXY", ViaLoginVariable}

// Overlay returns env with settings in the place of what they replace.
func Overlay(env, settings []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		replaced := slices.Contains(ways, name) ||
			slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if !replaced {
			out = append(out, kv)
		}
	}
	return append(out, settings...)
}

// ShellLine is a setting as shells read it: quoted where it has to be.
func ShellLine(setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("0123456789_-./:@~+,%=", r))
	}
	if strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return setting
	}
	return name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
