package recorder

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy"
)

func TestVerdictOf(t *testing.T) {
	through := []arrival{{Ingress: proxy.MITM, Protocol: "HTTP/2.0"}}
	for name, c := range map[string]struct {
		client, version, ingress string
		t                        trial
		result, cause            string
	}{
		"passes": {"curl", "8", proxy.MITM, trial{arrivals: through}, checkPass, ""},
		"by the other ingress": {"curl", "8", proxy.BaseURL, trial{arrivals: through}, checkFail,
			"no request reached the proxy"},
		"reply lost": {"curl", "8", proxy.MITM, trial{arrivals: through, exit: "exit status 18", said: "cut"},
			checkFail, "not the reply: exit status 18 (cut)"},
		"old Node": {"node", "v20.20.2", proxy.MITM, trial{exit: "exit status 1"}, checkLimited,
			"Node 20.20.2 ignores the proxy variables"},
		"old Node, base URL": {"node", "v20.20.2", proxy.BaseURL, trial{exit: "exit status 1"}, checkFail,
			"no request reached"},
		"old Node came": {"node", "v20.20.2", proxy.MITM, trial{arrivals: through}, checkPass, ""},
		"new Node": {"node", "v22.21.0", proxy.MITM, trial{exit: "exit status 1"}, checkFail,
			"no request reached"},
		"left": {"node", "v24.1.0", proxy.MITM,
			trial{notices: []proxy.Notice{{Kind: proxy.Unused, Host: "h:443"}}}, checkFail,
			"opened a tunnel to h:443 and left"},
		"distrusts": {"go", "1.26", proxy.MITM, trial{notices: []proxy.Notice{{Kind: proxy.Untrusted}}},
			checkFail, "does not trust the proxy's authority"},
		"refused": {"go", "1.26", proxy.MITM,
			trial{notices: []proxy.Notice{{Kind: proxy.Refused, Text: "refused x"}}}, checkFail, "refused x"},
	} {
		got := verdictOf(c.client, c.version, c.ingress, c.t)
		if got.Result != c.result || !strings.Contains(got.Cause, c.cause) || (c.cause == "") != (got.Cause == "") {
			t.Errorf("%s: %+v, want %s: %s", name, got, c.result, c.cause)
		}
	}
	for version, want := range map[string]bool{"v18.0.0": false, "v20.20.2": false, "v22.20.9": false, "v22.21.0": true,
		"v23.11.0": false, "v24.0.0": true, "v100.1": true, "": false} {
		if nodeUsesProxies(version) != want {
			t.Errorf("Node %s: want %t", version, want)
		}
	}
}
