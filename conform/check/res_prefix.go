package check

import "github.com/meerkat-go/conformance/conform/wire"

func systemConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.addObserved(1)
		was, is := then.req.System, now.req.System
		if was.Is('"') != is.Is('"') {
			was, is = asBlocks(was), asBlocks(is)
		}
		if path, what := wire.Diff(was, is, "cache_control"); path != "=" {
			r.addFinding(now, nodePlace(now.req.System, "system"), prefixRule(now), "the system prompt is not that of exchange %d: system%s %s", then.Index, path, what)
		}
	})
}

// asBlocks writes a plain system prompt as the one text block it is short for:
// a client changes to blocks when it adds a cache mark.
func asBlocks(system *wire.Node) *wire.Node {
	if !system.Is('"') {
		return system
	}
	blocks, err := wire.Parse([]byte(`[{"type":"text","text":` + string(system.Raw) + `}]`))
	if err != nil {
		return system
	}
	return blocks
}

func toolsConstant(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.addObserved(1)
		if path, what := wire.Diff(then.req.Tools, now.req.Tools, "cache_control"); path != "=" {
			r.addFinding(now, nodePlace(now.req.Tools, "tools"), prefixRule(now), "the tools are not those of exchange %d: tools%s %s", then.Index, path, what)
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

func historyKept(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		r.addObserved(len(then.req.Items))
		r.comparePrefix(then, now)
	})
}
