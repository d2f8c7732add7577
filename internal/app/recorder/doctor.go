package recorder

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/llm"
)

const doctorLong = `Prove that clients can be intercepted on this machine, and name the cause where
they cannot.

Without a program, each of curl, Go, Node and Python that is installed posts a
request through either ingress. With one, the program is run as recorder run would
run it, and doctor says whether any request of its came through. The proxy answers
everything itself and connects to nothing.

Exit code 1: something that is installed, or the program, did not come through.`

func (a *app) doctorCommand() *cobra.Command {
	var ingresses, allow []string
	asJSON := false
	cmd := &cobra.Command{
		Use: "doctor [-- CMD…]", Short: "Prove that clients, or your program, can be intercepted", Long: doctorLong,
		Example: "  recorder doctor\n  recorder doctor -- my-agent --version",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.examineProgram(cmd.Context(), ingresses, allow, args, asJSON)
			}
			ctx := cmd.Context()
			var d diagnosis
			for _, p := range probes {
				d.Checks = append(d.Checks, a.probeClient(ctx, p)...)
			}
			tried := func(c clientCheck) bool { return c.Result != checkAbsent }
			failed := func(c clientCheck) bool {
				return c.Result == checkFail || c.Result == checkLimited && !hasPassed(d.Checks, c.Client)
			}
			d.OK = slices.ContainsFunc(d.Checks, tried) && !slices.ContainsFunc(d.Checks, failed)
			return a.reportDiagnosis(d, asJSON)
		},
	}
	cli.AddJSONFlag(cmd, &asJSON)
	cmd.Flags().StringSliceVar(&ingresses, "ingress", []string{proxy.MITM},
		"with a program: how it is to come in, mitm, base-url, or both")
	cmd.Flags().StringSliceVar(&allow, "allow-host", nil,
		"with a program: a `host` to intercept beside the providers'; may be repeated")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// diagnosis is what doctor found, as --json prints it.
type diagnosis struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
	// Checks are of the clients, or of the program alone.
	Checks []clientCheck `json:"checks"`
	// Arrivals are the program's requests that came through.
	Arrivals []arrival `json:"arrivals,omitempty"`
	// Environment are facts about it that matter to programs started elsewhere.
	Environment []string `json:"environment"`
}

// hasPassed reports whether a client came through one ingress at least.
func hasPassed(checks []clientCheck, client string) bool {
	return slices.ContainsFunc(checks, func(c clientCheck) bool { return c.Client == client && c.Result == checkPass })
}

func (a *app) examineProgram(ctx context.Context, ingresses, allow, args []string, asJSON bool) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return cli.Usage("%s: not a program that can be run: %w", args[0], LookReason(err))
	}
	s, err := a.startTrialProxy(ingresses, allow, answerArrival)
	if err != nil {
		return err
	}
	child := a.ChildCommand(path, args, ClientVariables(s.proxy, s.trust, ingresses))
	child.Stdout = child.Stderr // stdout is for what doctor finds
	if err := RunChild(ctx, child, a.OnTerminal(), nil); err != nil {
		s.closeAndReport(ctx)
		return cli.Usage("%s: cannot be started: %w", args[0], fileutil.Reason(err))
	}
	t := s.closeAndReport(ctx)
	d := diagnosis{OK: len(t.arrivals) > 0, Arrivals: t.arrivals}
	c := clientCheck{Client: args[0], Result: checkPass}
	if d.OK {
		c.Ingress, c.Protocol = t.arrivals[0].Ingress, t.arrivals[0].Protocol
	} else {
		if exit := ExitOf(child); exit != 0 {
			t.exit = fmt.Sprintf("its exit code is %d", exit)
		}
		c.Result, c.Cause = checkFail, t.failureCause()
	}
	d.Checks = []clientCheck{c}
	return a.reportDiagnosis(d, asJSON)
}

// reportDiagnosis prints what was found and returns the exit code.
func (a *app) reportDiagnosis(d diagnosis, asJSON bool) error {
	d.Schema, d.Environment = "recorder.doctor.v1", slices.Concat([]string{}, a.environmentFacts())
	show := a.showDiagnosis
	if asJSON {
		show = func(d diagnosis) error { return a.WriteJSON(d) }
	}
	if err := show(d); err != nil || d.OK {
		return err
	}
	return cli.Exit(ExitGate)
}

func (a *app) showDiagnosis(d diagnosis) error {
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLIENT\tVERSION\tINGRESS\tRESULT\t")
	for _, c := range d.Checks {
		result := c.Result
		switch {
		case c.Cause != "":
			result += ": " + c.Cause
		case c.Protocol != "":
			result += ", " + c.Protocol
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Client, c.Version, c.Ingress, result)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range d.Arrivals {
		fmt.Fprintf(a.Stdout, "came through %s: %s, %s\n", r.Ingress, r.URL, r.Protocol)
	}
	for _, fact := range d.Environment {
		fmt.Fprintln(a.Stdout, "note: "+fact)
	}
	return nil
}

// answerArrival answers the request of a program that came through: with an error in the
// provider's shape that no client retries.
func answerArrival(w http.ResponseWriter, r *http.Request) {
	contentType, body := llm.ErrorBody(llm.Provider(r.URL.Host, r.URL.Path), http.StatusBadRequest,
		"recorder doctor: your request came through; it is not passed on")
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) //nolint:gosec // JSON for an API client
}

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
		c.Result, c.Cause = checkFail, "its request came through, but not the reply: "+t.exit+
			strings.TrimSuffix(" ("+t.said+")", " ()")
	case client == "node" && ingress == proxy.MITM && !nodeUsesProxies(version):
		c.Result = checkLimited
		c.Cause = "Node " + strings.TrimPrefix(version, "v") +
			" ignores the proxy variables; use --ingress base-url, or Node 22.21, 24 or newer"
	default:
		c.Cause = t.failureCause()
	}
	return c
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
		return "it opened a tunnel to " + n.Host +
			" and left: most likely it does not trust the proxy's authority; give it what `recorder ca export` prints, or use --ingress base-url"
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
			facts = append(facts,
				fmt.Sprintf("%s=%s is set: those hosts are reached without any proxy; recorder run takes it away", name,
					v))
		}
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if a.Getenv(name) != "" {
			facts = append(facts, name+
				" is set already: recorder run replaces it; whatever it names is not used on the way to the provider")
		}
	}
	if a.Getenv("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		facts = append(facts,
			"NODE_TLS_REJECT_UNAUTHORIZED=0 is set: Node accepts every certificate, so that it accepts ours proves nothing")
	}
	return facts
}
