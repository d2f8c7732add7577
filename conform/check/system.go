package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/tree"
)

// attribution begins the block in which Claude Code tells of itself, with a
// checksum that differs in each request. The provider takes it out.
const attribution = "x-anthropic-billing-header:"

// systemBlocks writes a system prompt as a list of blocks without the volatile
// one: a client changes from a string to blocks when it adds a cache mark.
func systemBlocks(system *tree.Node) []*tree.Node {
	if system.Is(tree.String) {
		if strings.HasPrefix(system.Text(), attribution) {
			return nil
		}
		blocks, err := tree.Parse([]byte(`[{"type":"text","text":` + system.Raw() + `}]`))
		if err != nil {
			return nil
		}
		return blocks.Items()
	}
	list := system.List()
	if system.Is(tree.Object) {
		list = []*tree.Node{system}
	}
	var kept []*tree.Node
	for _, b := range list {
		if !strings.HasPrefix(b.Text("text"), attribution) {
			kept = append(kept, b)
		}
	}
	return kept
}

func sameSystem(a, b *tree.Node) bool {
	path, _ := diffSystem(a, b)
	return path == "="
}

// diffSystem is wire.Diff for system prompts. The path is that of b as it was sent.
func diffSystem(a, b *tree.Node) (path, what string) {
	was, is := systemBlocks(a), systemBlocks(b)
	switch {
	case len(was) == 0 && len(is) == 0:
		return "=", ""
	case len(was) == 0 || len(is) == 0:
		if len(was) == 0 {
			return "", "was absent"
		}
		return "", "is gone"
	}
	path, what = tree.Diff(tree.NewArray(was...), tree.NewArray(is...), "cache_control")
	kept, inBlock, isBlock := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if k, err := strconv.Atoi(kept); isBlock && err == nil {
		switch at := slices.Index(b.List(), is[k]); {
		case at >= 0:
			path = fmt.Sprintf("[%d]%s", at, inBlock) // as it was sent
		case b.Is(tree.String):
			path = ""
		default:
			path = inBlock
		}
	}
	return path, what
}
