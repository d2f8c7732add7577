package serve

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy"
)

// The results of a check.
const (
	checkPass    = "pass"
	checkFail    = "fail"
	checkLimited = "limited" // the client cannot use this ingress, but can use the other
	checkAbsent  = "absent"  // the client is not installed
)

// clientCheck says whether one client came through one ingress.
type clientCheck struct {
	Client   string `json:"client"`
	Version  string `json:"version,omitempty"`
	Ingress  string `json:"door,omitempty"`
	Result   string `json:"result"`
	Protocol string `json:"protocol,omitempty"` // what it spoke to the proxy
	Cause    string `json:"cause,omitempty"`    // why it is not a pass, and what to do
}

// arrival is a request that came through.
type arrival struct {
	Ingress  string `json:"door"`
	Protocol string `json:"protocol"`
	URL      string `json:"url"` // without its query
}

// trial is what happened when a program was run against a proxy.
type trial struct {
	arrivals []arrival
	notices  []proxy.Notice
	exit     string // how it failed, "" for exit code 0
	said     string // the last line it wrote to stderr
}

// verdictOf judges what happened when a client was run through an ingress.
func verdictOf(client, version, ingress string, t trial) clientCheck {
	c := clientCheck{Client: client, Version: version, Ingress: ingress, Result: checkFail}
	for _, a := range t.arrivals {
		if a.Ingress == ingress {
			c.Result, c.Protocol = checkPass, a.Protocol
		}
	}
	switch {
	case c.Result == checkPass && t.exit == "":
	case c.Result == checkPass:
		c.Result, c.Cause = checkFail, "its request came through, but not the reply: "+t.exit+inBrackets(t.said)
	case client == "node" && ingress == proxy.MITM && !nodeUsesProxies(version):
		c.Result = checkLimited
		c.Cause = "Node " + strings.TrimPrefix(version, "v") + " ignores the proxy variables; use --ingress base-url, or Node 22.21, 24 or newer"
	default:
		c.Cause = t.failureCause()
	}
	return c
}

func inBrackets(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}

// nodeUsesProxies reports whether a version of Node has NODE_USE_ENV_PROXY: 22.21 and later
// versions of 22, and all from 24 on.
func nodeUsesProxies(version string) bool {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, _ := strconv.Atoi(major)
	y, _ := strconv.Atoi(minor)
	return x >= 24 || x == 22 && y >= 21
}

// failureCause returns why nothing came through. What the proxy noticed goes before what is only
// likely.
func (t trial) failureCause() string {
	for _, n := range t.notices {
		if advice := noticeAdvice(n); advice != "" {
			return advice
		}
	}
	why := "no request reached the proxy: the program made none, or goes around it. It may set NO_PROXY or other proxies itself, or not use HTTPS_PROXY or the variables of base URLs; try the other --ingress"
	if t.exit != "" {
		why += " (" + t.exit + strings.TrimSuffix(": "+t.said, ": ") + ")"
	}
	return why
}

// noticeAdvice says what a notice of the proxy means for the program.
func noticeAdvice(n proxy.Notice) string {
	switch n.Kind {
	case proxy.Untrusted:
		return "it does not trust the proxy's authority: it brings roots of its own, or ignores SSL_CERT_FILE and the like; give it what `recorder ca export` prints, or use --ingress base-url"
	case proxy.Unused, proxy.Handshake:
		return "it opened a tunnel to " + n.Host + " and left: most likely it does not trust the proxy's authority; give it what `recorder ca export` prints, or use --ingress base-url"
	case proxy.Upgrade:
		return "it asked for a WebSocket, which is not recorded, and did not go on without; turn that off in the program, or record OpenAI's with --websocket record"
	case proxy.Refused, proxy.Denied, proxy.NoTLS:
		return n.Text
	}
	return ""
}

// environmentFacts describes the variables that lead a program around the proxy, or make it accept
// any certificate, when it is not started by recorder run.
func (a *app) environmentFacts() (facts []string) {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if v := a.Getenv(name); v != "" {
			facts = append(facts, fmt.Sprintf("%s=%s is set: those hosts are reached without any proxy; recorder run takes it away", name, v))
		}
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if a.Getenv(name) != "" {
			facts = append(facts, name+" is set already: recorder run replaces it; whatever it names is not used on the way to the provider")
		}
	}
	if a.Getenv("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		facts = append(facts, "NODE_TLS_REJECT_UNAUTHORIZED=0 is set: Node accepts every certificate, so that it accepts ours proves nothing")
	}
	return facts
}
