package suites

import (
	"crypto/x509"
	"flag"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
)

// What -conform.source=live may cost, and who answers. The budget is that of one process
// of Ginkgo.
var (
	maxRequestsFlag = flag.Int("conform.max-requests", 200, "live: end the suites before the next request")
	maxTokensFlag   = flag.Int("conform.max-tokens", 1_000_000,
		"live: send nothing more once so many tokens are reported")
	upstreamFlag   = flag.String("conform.upstream", "", "live: provider=URL,… of stand-ins")
	upstreamCAFlag = flag.String("conform.upstream-ca", "", "live: PEM file with the authority of stand-ins")
)

// liveConfig says how the providers are asked, nil where they are not.
func liveConfig() *harness.Live {
	if !slices.Contains(sources(), evidence.SourceLive) {
		return nil
	}
	keys, _ := harness.EnvironmentKeys(os.Getenv) // TestSuites has looked for them
	l := &harness.Live{Keys: keys, Budget: harness.Budget{Requests: *maxRequestsFlag, Tokens: *maxTokensFlag},
		Upstream: map[string]string{}}
	for pair := range strings.SplitSeq(*upstreamFlag, ",") {
		if provider, url, ok := strings.Cut(pair, "="); ok {
			l.Upstream[provider] = url
		}
	}
	if *upstreamCAFlag != "" {
		pem, err := os.ReadFile(*upstreamCAFlag)
		Expect(err).NotTo(HaveOccurred())
		l.Roots = x509.NewCertPool()
		Expect(l.Roots.AppendCertsFromPEM(pem)).To(BeTrue(), "%s holds no certificate", *upstreamCAFlag)
	}
	return l
}

// liveCases are the live cases of the providers whose keys there are.
func liveCases() (cases []harness.Case) {
	l := liveConfig()
	all, err := l.Cases()
	Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		if l.Keys[c.Target.Provider] != "" {
			cases = append(cases, c)
		}
	}
	return cases
}
