package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/wire"
)

// mediaRules judge what becomes of a medium that was refused (R47).
var mediaRules = map[string]rule{"MED-004/left-out": refusedMediaLeftOut}

// refusedMediaLeftOut: the medium that a refusal names does not stand in a later request
// that is refused as well. The very same request again is ERR-002's.
func refusedMediaLeftOut(s *Trace, r *report) {
	reported := map[*exchange]bool{}
	s.eachAfterRefusal(func(refused, later *exchange) {
		named := refused.refusedMedium()
		if named == nil || isSameRequest(refused, later) {
			return
		}
		r.addObserved(1)
		for _, m := range later.req.Media {
			if m.Data == named.Data && !reported[later] && !later.wasAccepted() {
				reported[later] = true
				r.addBare(later, m.Place, refused.refusal.Rule, "the %s that exchange %d was refused for at %s is sent again: %s", m.Kind, refused.Index, named.Place.Path, refused.refusal.Words)
			}
		}
	})
}

// refusedMedium returns the medium that the words of a refusal point to, nil for none.
func (x *exchange) refusedMedium() *wire.Medium {
	media, path := x.req.Media, placeOfRefusal(x).Path
	i := slices.IndexFunc(media, func(m wire.Medium) bool { return path != "" && strings.HasPrefix(path, m.Place.Path) })
	if i < 0 && len(media) == 1 && mentionsMedia.MatchString(strings.ToLower(x.refusal.Words)) {
		i = 0
	}
	if i < 0 || media[i].Data == "" {
		return nil
	}
	return &media[i]
}

var mentionsMedia = regexp.MustCompile(`\b(image|images|pdf|media_type|mime|file data|inline_data|base64)\b`)
