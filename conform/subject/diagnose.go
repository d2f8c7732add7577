package subject

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// sighting is what one prompt showed of an agent.
type sighting struct {
	probed    harness.Probed
	exchanges []evidence.Exchange // calls of a model
	others    []string            // requests that are none: method, host and path
	providers []string            // whose models were called
	unjudged  string              // the API of models that others use and conform does not judge
}

func newSighting(probed harness.Probed) sighting {
	s := sighting{probed: probed}
	ev, skipped := evidence.FromInteractions("probe", evidence.SourceSimulator, probed.Interactions)
	for _, x := range ev.Exchanges {
		if x.Index < probed.Early {
			continue
		}
		if x.ReadRequest().Op != wire.Generate {
			s.others = appendNew(s.others, requestName(x.Request))
			continue
		}
		s.exchanges = append(s.exchanges, x)
		s.providers = appendNew(s.providers, x.Provider)
	}
	for _, skip := range skipped {
		if skip.Exchange >= probed.Early {
			s.others = appendNew(s.others, harness.PrintableLine(skip.What, harness.MaxLine))
			s.unjudged = cmp.Or(s.unjudged, skip.NotJudged())
		}
	}
	for _, n := range probed.Notices {
		if path, _, ok := strings.Cut(strings.TrimPrefix(n.Text, "refused "), ": no provider's path"); ok {
			s.others = appendNew(s.others, harness.PrintableLine(path, harness.MaxLine))
			_, reason := evidence.Provider(evidence.Request{URL: path})
			s.unjudged = cmp.Or(s.unjudged, evidence.Skip{Reason: reason}.NotJudged())
		}
	}
	return s
}

// isAccepted reports whether a call of a model was answered well.
func (s sighting) isAccepted() bool {
	return slices.ContainsFunc(s.exchanges, func(x evidence.Exchange) bool { return x.Response.Status/100 == 2 })
}

func requestName(r evidence.Request) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Method
	}
	return harness.PrintableLine(r.Method+" "+u.Host+u.Path, harness.MaxLine)
}

func appendNew(list []string, entry string) []string {
	if slices.Contains(list, entry) {
		return list
	}
	return append(list, entry)
}

// hostsOf are the hosts of the notices of a kind, each once.
func (s sighting) hostsOf(kinds ...proxy.Kind) (hosts []string) {
	for _, n := range s.probed.Notices {
		if n.Host != "" && slices.Contains(kinds, n.Kind) {
			hosts = appendNew(hosts, harness.PrintableLine(n.Host, harness.MaxLine))
		}
	}
	return hosts
}

// maxSearched bounds what is searched at each end of a stream, in bytes.
const maxSearched = 64 << 10

// bothEnds is a stream without its middle: an agent that floods its output says what is
// the matter at the beginning or at the end.
func bothEnds(stream []byte) []byte {
	if len(stream) <= 2*maxSearched {
		return stream
	}
	end := stream[len(stream)-maxSearched:]
	// What stands before the first space may be half of a key.
	return slices.Concat(stream[:maxSearched], []byte("\n"), end[max(0, bytes.IndexAny(end, " \n")):])
}

// printedText is the agent's command and what it wrote, errors last.
func (s sighting) printedText() string {
	var all strings.Builder
	for _, p := range s.probed.Processes {
		all.WriteString(strings.Join(p.Args, " ") + "\n")
		all.Write(bothEnds(p.Stdout))
		all.WriteByte('\n')
		all.Write(bothEnds(p.Stderr))
	}
	return all.String()
}

// lastWords is how the agent ended and the last line that it wrote.
func (s sighting) lastWords() string {
	if s.probed.Err != nil && len(s.probed.Processes) == 0 {
		return harness.PrintableLine(s.probed.Err.Error(), harness.MaxLine)
	}
	var p evidence.Process
	if n := len(s.probed.Processes); n > 0 {
		p = s.probed.Processes[n-1]
	}
	how := fmt.Sprintf("it exited %d", p.ExitCode)
	switch {
	case s.timedOut():
		how = "it was ended at its time limit"
	case p.Remark != "":
		how = "it " + p.Remark
	}
	for _, stream := range [][]byte{p.Stderr, p.Stdout} {
		if line := harness.TellingLine(string(bothEnds(stream))); line != "" {
			return how + " and said: " + line
		}
	}
	return how + " and said nothing"
}

func (s sighting) timedOut() bool {
	return slices.ContainsFunc(s.probed.Notes,
		func(note string) bool { return strings.Contains(note, "time limit") }) ||
		slices.ContainsFunc(s.probed.Processes, func(p evidence.Process) bool {
			return strings.HasPrefix(p.Remark, isolate.Result{TimedOut: true}.Remark())
		})
}

// What agents say that want more than a key, a pipe and a proxy.
var (
	loginWords = regexp.MustCompile(`(?i)\b(api[-_ ]?key .{0,40}(missing|required|not (set|found|provided))|` +
		`(missing|no|set|provide|pass) .{0,40}api[-_ ]?key|not logged in|log ?in\b|sign ?in\b|signin|authenticat(e|ion) required|oauth|unauthenticated|please run /login)`)
	terminalWords = regexp.MustCompile(`(?i)(not a (tty|terminal)|(requires|needs) (an? )?(interactive )?(tty|terminal)|raw mode is not supported|inappropriate ioctl|/dev/tty|not running in an? (interactive )?terminal)`)
	networkWords  = regexp.MustCompile(`(?i)(\bENOTFOUND|ENETUNREACH|EAI_AGAIN|ENETDOWN|getaddrinfo|could not resolve|name or service not known|temporary failure in name resolution|no such host|unknown ?host|unresolved ?address|nxdomain|failed host lookup|network is unreachable|fetch failed|connection error|dns error)`)
	trustWords    = regexp.MustCompile(`(?i)(SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|certificate verify failed|self[- ]signed certificate|unknown (authority|issuer)|UnknownIssuer|invalid peer certificate|CERTIFICATE_VERIFY_FAILED|PKIX path|unknown[_ ]ca\b)`)
	localWords    = regexp.MustCompile(`(?i)(\bollama|:11434\b|ECONNREFUSED|connection refused)`) // nothing else listens in the sandbox
	bedrockWords  = regexp.MustCompile(`(?i)\bbedrock(-runtime[\w.-]*\.amazonaws\.com)?\b`)
	loginHosts    = regexp.MustCompile(`(?i)^(auth\.openai\.com|chatgpt\.com|claude\.ai|console\.anthropic\.com|platform\.claude\.com|accounts\.google\.com|oauth2\.googleapis\.com|cloudcode-pa\.googleapis\.com|github\.com)(:|$)`)
)

// explainSilence says why no call of a model was seen, and what to do.
func (s sighting) explainSilence(way string, isolated bool) string {
	text, stray := s.printedText(), s.hostsOf(proxy.Refused)
	logins := slices.DeleteFunc(slices.Clone(stray), func(h string) bool { return !loginHosts.MatchString(h) })
	switch untrusted := s.hostsOf(proxy.Untrusted); {
	case len(untrusted) > 0:
		return "the agent does not trust conform's certificate for " + listSome(untrusted) + "; " + trustAdvice
	case s.unjudged != "":
		return "the agent speaks " + s.unjudged + " (" + listSome(s.others) + "), which " + unjudgedAdvice() + "; " +
			s.lastWords()
	case slices.ContainsFunc(stray, bedrockWords.MatchString):
		return "the agent speaks the Bedrock API (" + listSome(stray) + "), which " + unjudgedAdvice() + "; " +
			s.lastWords()
	case len(logins) > 0:
		return "the agent logs in at " + listSome(logins) +
			" instead of using a key; lead it to its provider with the key in a profile (files, env, {key}); " +
			s.lastWords()
	case len(s.others) > 0:
		return "the agent called no model that conform knows; it sent " + listSome(s.others) + straysAdvice(stray) +
			s.versionAdvice() + "; " + s.lastWords()
	case len(stray) > 0:
		return "the agent called no provider but " + listSome(stray) +
			", which is refused; lead it to one with --env NAME={base_url}, NAME being what it takes an address from, or in a profile (providers, base_url); " + s.lastWords()
	case trustWords.MatchString(text):
		return "the agent does not trust conform's certificate; " + trustAdvice + "; " + s.lastWords()
	case terminalWords.MatchString(text):
		return "the agent needs a terminal; give it the flag that makes it print one answer and end; " + s.lastWords()
	case loginWords.MatchString(text):
		return "the agent wants a login or a key and sent nothing; " +
			"give it a made-up key by --env NAME=KEY or in a profile (files, env, {key}), or the flag that makes it use a key; " + s.lastWords()
	case localWords.MatchString(text) || bedrockWords.MatchString(text):
		return "the agent sent nothing here; it seems to call Bedrock or a model server on this machine, such as Ollama, which " + unjudgedAdvice() +
			"; if it speaks one of these, it may not use " + wayAdvice(way, isolated) + "; " + s.lastWords()
	case s.timedOut():
		return "the agent sent nothing in time; it may wait for input or a terminal; " +
			"give it the flag that makes it answer one prompt and end; if it tries again in silence, it may not use " +
			wayAdvice(way, isolated) + "; " + s.lastWords()
	case networkWords.MatchString(text):
		return "the agent could not connect, and nothing that it sent arrived here: it may not use " +
			wayAdvice(way, isolated) + "; " + s.lastWords()
	case s.hasFailed():
		return "the agent failed before it sent anything: " + s.lastWords()
	}
	return "the agent ended and sent nothing here; run its command by hand and see whether it calls a model for one prompt; if it does, it may not use " + wayAdvice(way, isolated) + "; " + s.lastWords()
}

// hasFailed reports whether the last process did not end well.
func (s sighting) hasFailed() bool {
	n := len(s.probed.Processes)
	return n == 0 || s.probed.Processes[n-1].ExitCode != 0
}

// unjudgedAdvice continues a sentence about an API of models.
func unjudgedAdvice() string { return "conform does not judge; set the agent to " + wires.Titles() }

const trustAdvice = "it is in the file that SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE name; set the agent's own variable with --env NAME={ca_file} or in a profile (mitm: {env: …}), or use --ingress base-url; " + languages

const languages = "docs/guides/judge-your-agent.md#your-language says what each language needs"

// versionAdvice continues a sentence about the requests of an agent whose base URL has to end in a version.
func (s sighting) versionAdvice() string {
	for _, w := range wires.All() {
		bare, isVersioned := strings.CutPrefix(w.Models.Path, "/v1")
		if isVersioned && w.BasePath == "" && slices.Contains(s.others, "POST "+w.Host+bare) {
			return "; its base URL has to end in /v1: --env " + strings.Join(w.Environment.BaseURLs, " or ") + "={base_url}/v1"
		}
	}
	return ""
}

func straysAdvice(stray []string) string {
	if len(stray) == 0 {
		return ""
	}
	return " and tried " + listSome(stray)
}

// wayAdvice names what was set for a way in, and says what to set instead.
func wayAdvice(way string, isolated bool) string {
	if way == profiles.IngressBaseURL {
		// The variables that lead agents to a base URL, one for each wire.
		var names []string
		for _, w := range wires.All() {
			names = append(names, w.Environment.BaseURLs[:min(1, len(w.Environment.BaseURLs))]...)
		}
		return wires.Join(names, "and") +
			"; set its own address with --env NAME={base_url}, in a profile (base_url: {env: …}), or use --ingress mitm"
	}
	where := ""
	if !isolated {
		where = ", and its requests may have left this machine, because isolation is not enforced"
	}
	return "HTTPS_PROXY" + where +
		"; set its own variable with --env NAME={proxy_url} (Ruby: http_proxy) or in a profile (mitm: {env: …}), or use --ingress base-url; " + languages
}

// maxListed bounds a list in a message.
const maxListed = 5

func listSome(list []string) string {
	if extra := len(list) - maxListed; extra > 0 {
		return strings.Join(list[:maxListed], ", ") + fmt.Sprintf(" and %d more", extra)
	}
	return strings.Join(list, ", ")
}
