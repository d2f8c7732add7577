package bench

import (
	"bytes"
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// asModel makes the recording one of another model: requests and replies alike.
// Recordings with tokens do not fit, because tokens belong to their model.
func asModel(model string) func(*draft, *rand.Rand) bool {
	return func(d *draft, _ *rand.Rand) bool {
		if d.hasTokens() {
			return false
		}
		for _, k := range d.asked {
			if d.replyHasTokens(k) {
				return false
			}
			p := d.editableRequest(k)
			old := d.modelName(k)
			if d.provider == evidence.Gemini && p.root.at("model") != nil {
				return false
			}
			if d.provider != evidence.Gemini {
				p.root.setMember("model", stringNode(model))
			}
			d.commitPage(k, p)
			ex := &d.ev.Exchanges[k]
			if d.provider == evidence.Gemini {
				ex.Request.URL = replaceModel(ex.Request.URL, old, model)
			}
			d.setReply(k, ex.Response.Status, renameModel(ex.Response.Body, model))
		}
		return true
	}
}

func replaceModel(url, old, model string) string {
	return strings.Replace(url, "/models/"+old+":", "/models/"+model+":", 1)
}

func (s *scene) replyHasTokens(k int) bool {
	for _, it := range s.replies[k] {
		if it.token != "" {
			return true
		}
	}
	return false
}

// renameModel changes the value of "model" and "modelVersion" in a reply. The
// stored lengths of chunks no longer fit when the name has another length, so
// it is used before a recording is judged for the first time only.
func renameModel(body []byte, model string) []byte {
	for _, key := range []string{`"model":`, `"modelVersion":`} {
		var out []byte
		for {
			i := bytes.Index(body, []byte(key))
			if i < 0 {
				break
			}
			i += len(key)
			out = append(out, body[:i]...)
			body = body[i:]
			trimmed := bytes.TrimLeft(body, " ")
			if len(trimmed) == 0 || trimmed[0] != '"' {
				continue
			}
			end := bytes.IndexByte(trimmed[1:], '"')
			if end < 0 {
				break
			}
			out = append(out, `"`+model+`"`...)
			body = trimmed[end+2:]
		}
		body = append(out, body...)
	}
	return body
}

// withoutMembers removes parameters that would be a fault of their own on another model.
func withoutMembers(next func(*draft, *rand.Rand) bool, keys ...string) func(*draft, *rand.Rand) bool {
	return func(d *draft, r *rand.Rand) bool {
		for _, k := range d.asked {
			for _, key := range keys {
				if d.requests[k].at(key) != nil {
					return false
				}
			}
		}
		return next(d, r)
	}
}

// setReply puts another answer in place; the times of its pieces are unknown.
func (d *draft) setReply(k, status int, body []byte) {
	res := &d.ev.Exchanges[k].Response
	if len(res.Header["Content-Length"]) > 0 {
		res.Header = res.Header.Clone()
		res.Header.Del("Content-Length")
	}
	res.Status, res.Body, res.Chunks = status, body, nil
}
