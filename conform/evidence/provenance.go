package evidence

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/wires"
)

// Headers of a response that say that no provider gave it.
const (
	// simulatorMark is on every response of our simulator. Its value holds the word
	// injected where a scenario asked for the refusal.
	simulatorMark = "X-Simulator"
	// recorderMark and missMark are on what a proxy of ours answered itself.
	recorderMark = "X-Recorder-Error"
	missMark     = "X-Cassette-Miss"
)

// provenanceOf returns who answered in, in a file whose head says said. What an
// interaction says of itself can only take away from what the file says.
func provenanceOf(said string, in cassette.Interaction) Provenance {
	reply := interchange.Canonical(in.Response.Header)
	mark := strings.Join(reply[simulatorMark], " ")
	switch {
	case strings.Contains(mark, "injected"), reply[recorderMark] != nil, reply[missMark] != nil:
		return ProvenanceInjected
	case reply[simulatorMark] != nil:
		return ProvenanceSimulator
	case in.Provenance != "":
		return weakenedBy(in.Provenance)
	}
	whole := wordProvenance(said)
	if (whole == ProvenanceLive || whole == ProvenanceForeign || whole == ProvenanceUndeclared) &&
		(in.Ingress != "" || isLocalURL(in.Request.URL)) {
		return ProvenanceUnknown
	}
	return whole
}

// wordProvenance reads the word of a file's head.
func wordProvenance(word string) Provenance {
	switch word {
	case cassette.ProvenanceLive:
		return ProvenanceLive
	case cassette.ProvenanceImport:
		return ProvenanceForeign
	case interchange.ProvenanceUndeclared:
		return ProvenanceUndeclared
	}
	return weakenedBy(word)
}

// weakenedBy reads a word that cannot make a response the provider's.
func weakenedBy(word string) Provenance {
	switch p := Provenance(word); p {
	case ProvenanceSimulator, ProvenanceSynthetic, ProvenanceInjected:
		return p
	default:
		return ProvenanceUnknown
	}
}

// ProviderAnswered reports whether the response is the provider's own word: its own
// host gave it, to our recorder or to another tool. What a simulator, a script or a
// gateway accepts proves nothing about the provider.
func (x *Exchange) ProviderAnswered() bool {
	return (x.Provenance == ProvenanceLive || x.Provenance == ProvenanceForeign) &&
		x.Response.Status != 0 && !x.Missed && x.IsOwnHost()
}

// DeclareForeign says that the hosts in the URLs gave the responses of a recording that
// another tool wrote. It changes nothing where the recording says or shows who did.
func (rec *Recording) DeclareForeign() {
	for i := range rec.Evidence.Exchanges {
		if x := &rec.Evidence.Exchanges[i]; x.Provenance == ProvenanceUndeclared {
			x.Provenance = ProvenanceForeign
		}
	}
}

// JudgeAs has what was sent to a host, at one port or at all if none is given, judged as if it had been sent to another
// one: a gateway that passes requests on is held to what the provider behind it refuses. It returns the number of
// requests that went to the host.
func (rec *Recording) JudgeAs(host, behind string) (n int) {
	for i := range rec.Evidence.Exchanges {
		r := &rec.Evidence.Exchanges[i].Request
		if u, err := url.Parse(r.URL); err == nil && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), host)) {
			u.Scheme, u.Host = "https", behind
			r.URL, n = u.String(), n+1
		}
	}
	return n
}

// IsOwnHost reports whether the request went to a host of the provider itself, or of
// a cloud that serves the provider's own API under contract. Other hosts only speak the
// provider's format; their ids and policies are their own.
func (x *Exchange) IsOwnHost() bool {
	u, err := url.Parse(x.Request.URL)
	if err != nil || u.Scheme != "https" || u.Port() != "" && u.Port() != "443" {
		return false
	}
	w := wires.Find(x.Provider)
	return w != nil && w.OwnHosts.MatchString(strings.ToLower(u.Hostname()))
}

// isLocalURL reports whether a URL leads to this machine: to a proxy, a simulator or a
// test server.
func isLocalURL(raw string) bool {
	u, err := url.Parse(raw)
	return err != nil || isLocalHost(u.Hostname())
}

// dateOf returns the date of a response, or what is next to it.
func dateOf(in cassette.Interaction, rec interchange.Recording) time.Time {
	if at, err := http.ParseTime(interchange.Canonical(in.Response.Header).Get("Date")); err == nil {
		return at
	}
	if !in.Started.IsZero() {
		return in.Started
	}
	return rec.Created
}
