package session

import (
	"context"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Summary is what a listing says of a session beyond its header.
type Summary struct {
	Info
	Messages int
	// Usage is that of all calls and compactions.
	Usage    transcript.Usage
	Metadata map[string]string
}

// Summaries lists as Store.List does and reads each session that f selects. One
// that is damaged has only its Info, with Problem set.
func Summaries(ctx context.Context, store Store, f Filter) ([]Summary, error) {
	infos, err := store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	all := make([]Summary, len(infos))
	for i, info := range infos {
		all[i].Info = info
		if info.Problem != nil {
			continue
		}
		s, err := store.Load(ctx, info.ID)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err != nil {
			all[i].Problem = err
			continue
		}
		all[i].Messages, all[i].Usage, all[i].Metadata = len(s.Messages), s.Usage, s.Metadata
	}
	return all, nil
}
