package evidence

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Redaction is one body in which a recorder replaced secrets. A verdict about such a value
// is about what stands in its place.
type Redaction struct {
	// Exchange is the ordinal in the recording, from 0.
	Exchange int `json:"exchange"`
	// Body is "request" or "response".
	Body string `json:"body"`
	// Places lists where, at most maxPlaces of them: messages[0].content, or
	// "event 3, delta.text" of a stream.
	Places []string `json:"places"`
	// Values counts the values.
	Values int `json:"values"`
}

const maxPlaces = 5

// pseudonym matches what recorders of ours leave of a secret that has 16 bytes or more.
var pseudonym = regexp.MustCompile(`REDACTED[A-Za-z0-9]{8,}`)

// Redactions lists the bodies to be judged that hold redacted values.
func (ev *Evidence) Redactions() (list []Redaction) {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		list = appendRedaction(list, x.Index, "request", x.Request.Body)
		list = appendRedaction(list, x.Index, "response", x.Response.Body)
	}
	return list
}

func appendRedaction(list []Redaction, exchange int, name string, body []byte) []Redaction {
	values := len(pseudonym.FindAllIndex(body, -1))
	if values == 0 {
		return list
	}
	return append(list, Redaction{Exchange: exchange, Body: name, Values: values, Places: redactedPlaces(body)})
}

// redactedPlaces names the JSON members with pseudonyms, in a document or in the events
// of a stream.
func redactedPlaces(body []byte) []string {
	if places := jsonPlaces(body); len(places) > 0 {
		return places
	}
	places, event := []string{}, 0
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		if pseudonym.Match(data) {
			for _, place := range jsonPlaces(data) {
				places = append(places, "event "+strconv.Itoa(event)+", "+place)
			}
		}
		event++
	}
	return places[:min(len(places), maxPlaces)]
}

func jsonPlaces(document []byte) (places []string) {
	d := jsontext.NewDecoder(bytes.NewBuffer(document), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	for len(places) < maxPlaces {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == '"' && pseudonym.MatchString(token.String()) {
			places = append(places, placeOf(d.StackPointer()))
		}
	}
	return places
}

// placeOf writes a JSON pointer as findings name places: messages[0].content.
func placeOf(at jsontext.Pointer) string {
	var b strings.Builder
	for token := range at.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}
