package conform

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

// hostFlags say which provider is behind a host, and find out which hosts nothing was said of. Its methods may
// be called concurrently once it is resolved.
type hostFlags struct {
	said []string
	seen *seenHosts
}

// seenHosts are the hosts of the recordings that were read.
type seenHosts struct {
	mu      sync.Mutex
	behind  map[string]string // from the flags
	calls   map[string]int    // to each host of behind
	unknown map[string]bool   // those of no provider, of which nothing was said
}

func (f *hostFlags) addTo(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.said, "host", nil,
		"judge what was sent to a gateway as if it were sent to the provider behind it: `GATEWAY=PROVIDER`, "+
			"such as llm.example.com=api.deepseek.com")
}

// resolve reads the flags.
func (f *hostFlags) resolve() error {
	f.seen = &seenHosts{behind: map[string]string{}, calls: map[string]int{}, unknown: map[string]bool{}}
	for _, said := range f.said {
		host, behind, ok := strings.Cut(strings.ToLower(said), "=")
		if !ok || host == "" || strings.Contains(host, "/") {
			return cli.Usage("--host %s: says not what is behind a host; use --host llm.example.com=api.deepseek.com", said)
		}
		if err := checkProviderHost(behind); err != nil {
			return err
		}
		f.seen.behind[host] = behind
	}
	return nil
}

// apply has the calls of a recording judged as the flags say.
func (f *hostFlags) apply(rec *evidence.Recording) {
	f.seen.mu.Lock()
	defer f.seen.mu.Unlock()
	for host, behind := range f.seen.behind {
		f.seen.calls[host] += rec.JudgeAs(host, behind)
	}
	for i := range rec.Evidence.Exchanges {
		x := &rec.Evidence.Exchanges[i]
		isStandIn := x.Provenance == evidence.ProvenanceSimulator || x.Provenance == evidence.ProvenanceSynthetic
		if u, err := url.Parse(x.Request.URL); err == nil && !isStandIn && !x.IsOwnHost() {
			f.seen.unknown[u.Host] = true
		}
	}
}

// notes say which flags found no call, and that the rules of a provider were not held against a host of which
// nothing was said, which the side of the server does not ask about.
func (f *hostFlags) notes(side string) (list []string) {
	for _, host := range slices.Sorted(maps.Keys(f.seen.behind)) {
		if f.seen.calls[host] == 0 {
			list = append(list, "--host "+host+": no call went to it")
		}
	}
	if names := slices.Sorted(maps.Keys(f.seen.unknown)); len(names) > 0 && side == sideAgent {
		more := ""
		if len(names) > 3 {
			more = " and " + cli.Count(len(names)-3, "other host", "other hosts")
			names = names[:3]
		}
		list = append(list, strings.Join(names, ", ")+more+": no host of a provider, judged by what all servers of its "+
			"wire share; if it passes requests on to one, say --host "+names[0]+"=HOST")
	}
	return list
}

// checkProviderHost returns an error unless a provider itself runs the host.
func checkProviderHost(host string) error {
	if len(wires.At(host)) > 0 {
		return nil
	}
	return cli.Usage("--host: %s is no host of a provider; use one such as api.anthropic.com%s", host,
		spelling.Hint(host, providerHosts()))
}

// providerHosts are the hosts that are known by name.
func providerHosts() (hosts []string) {
	for _, w := range wires.All() {
		hosts = append(append(hosts, w.Host), w.MoreHosts...)
	}
	return hosts
}
