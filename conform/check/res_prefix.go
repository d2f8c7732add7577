package check

import "github.com/meerkat-go/conformance/conform/wire"

func systemConstant(s *scene, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.saw(1)
		if path, what := wire.Diff(then.req.System, now.req.System, "cache_control"); path != "=" {
			r.found(now, nodePlace(now.req.System, "system"), prefixRule(now), "the system prompt is not that of exchange %d: system%s %s", then.Index, path, what)
		}
	})
}

func toolsConstant(s *scene, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.saw(1)
		if path, what := wire.Diff(then.req.Tools, now.req.Tools, "cache_control"); path != "=" {
			r.found(now, nodePlace(now.req.Tools, "tools"), prefixRule(now), "the tools are not those of exchange %d: tools%s %s", then.Index, path, what)
		}
	})
}

func nodePlace(n *wire.Node, path string) wire.Place {
	at := wire.Place{Event: -1, Off: -1, Path: path}
	if n != nil {
		at.Off = n.Off
	}
	return at
}

func historyKept(s *scene, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.saw(len(then.req.Items))
		r.prefix(then, now)
	})
}
