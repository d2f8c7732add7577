package cassette

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What go-vcr has no place for is stored in request headers: they survive its
// Load and Save and, unlike response headers, never reach a client.
const (
	reservedPrefix = "X-Cassette-"
	hdrTimeline    = reservedPrefix + "Timeline"
	hdrEnd         = reservedPrefix + "End"
	hdrTrailer     = reservedPrefix + "Trailer"
	hdrReqProto    = reservedPrefix + "Request-Proto"
	hdrRespProto   = reservedPrefix + "Response-Proto"
	hdrReqEncoded  = reservedPrefix + "Request-Encoding"
	hdrRespEncoded = reservedPrefix + "Response-Encoding"
	hdrIncomplete  = reservedPrefix + "Incomplete"
	hdrDrained     = reservedPrefix + "Drained"
	hdrProvenance  = reservedPrefix + "Provenance"
	hdrIngress     = reservedPrefix + "Ingress"
	hdrProcess     = reservedPrefix + "Process"
	hdrWebSocket   = reservedPrefix + "Websocket"
	hdrPlace       = reservedPrefix + "Place"
	hdrRedacted    = reservedPrefix + "Redacted"
)

// timelineV1 begins a timeline: base64 of pairs of uvarints, microseconds since
// the chunk before and length in bytes.
const timelineV1 = "v1 "

// Reserved reports whether a request header belongs to the file format. Such
// headers of a client are not recorded, because they could forge a timeline.
func Reserved(name string) bool {
	return len(name) >= len(reservedPrefix) && strings.EqualFold(name[:len(reservedPrefix)], reservedPrefix)
}

// withReserved returns the request headers as stored.
func withReserved(in Interaction) http.Header {
	h := make(http.Header, len(in.Request.Header)+5)
	for name, values := range in.Request.Header {
		if !Reserved(name) {
			h[name] = values
		}
	}
	set := func(name, value string) {
		if value != "" {
			h[name] = []string{value}
		}
	}
	set(hdrTimeline, encodeTimeline(in.Timeline))
	set(hdrEnd, string(in.End))
	set(hdrTrailer, url.Values(in.Response.Trailer).Encode())
	set(hdrReqProto, in.Request.Proto)
	set(hdrRespProto, in.Response.Proto)
	set(hdrReqEncoded, in.Request.Encoding)
	set(hdrRespEncoded, in.Response.Encoding)
	set(hdrIncomplete, in.Incomplete)
	set(hdrProvenance, in.Provenance)
	set(hdrIngress, in.Ingress)
	set(hdrRedacted, in.Redacted)
	form := url.Values{}
	for name, value := range in.Place {
		form.Set(name, value)
	}
	set(hdrPlace, form.Encode())
	if in.Drained != 0 {
		set(hdrDrained, strconv.Itoa(in.Drained))
	}
	if in.Process != 0 {
		set(hdrProcess, strconv.Itoa(in.Process))
	}
	if in.WebSocket != 0 {
		set(hdrWebSocket, strconv.Itoa(in.WebSocket))
	}
	return h
}

// takeReserved moves the reserved headers of a loaded request to the fields they
// belong to.
func takeReserved(in *Interaction) (err error) {
	h := in.Request.Header
	take := func(name string) string {
		v := h[name]
		delete(h, name)
		if len(v) == 0 {
			return ""
		}
		return v[0]
	}
	in.End = End(take(hdrEnd))
	in.Request.Proto, in.Response.Proto = take(hdrReqProto), take(hdrRespProto)
	in.Request.Encoding, in.Response.Encoding = take(hdrReqEncoded), take(hdrRespEncoded)
	in.Incomplete = take(hdrIncomplete)
	in.Provenance, in.Ingress = take(hdrProvenance), take(hdrIngress)
	in.Redacted = take(hdrRedacted)
	if in.Place, err = readPlace(take(hdrPlace)); err != nil {
		return err
	}
	if in.Process, err = readOrdinal(hdrProcess, take(hdrProcess)); err != nil {
		return err
	}
	if in.WebSocket, err = readOrdinal(hdrWebSocket, take(hdrWebSocket)); err != nil {
		return err
	}
	if in.Drained, err = readDrained(take(hdrDrained), len(in.Response.Body)); err != nil {
		return err
	}
	if t := take(hdrTrailer); t != "" {
		trailer, err := url.ParseQuery(t)
		if err != nil {
			return fmt.Errorf("%s is unreadable", hdrTrailer)
		}
		in.Response.Trailer = http.Header(trailer)
	}
	if in.Timeline, err = decodeTimeline(take(hdrTimeline)); err != nil {
		return err
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool { return Reserved(name) })
	return checkTimeline(in.Timeline, len(in.Response.Body))
}

func readDrained(s string, body int) (n int, err error) {
	if s == "" {
		return 0, nil
	}
	if n, err = strconv.Atoi(s); err != nil || n < 0 || n > body {
		return 0, fmt.Errorf("%s is unreadable", hdrDrained)
	}
	return n, nil
}

// maxOrdinal bounds the ordinals of processes and WebSockets, because readers make lists
// of them.
const maxOrdinal = 1 << 20

func readOrdinal(header, s string) (n int, err error) {
	if s == "" {
		return 0, nil
	}
	if n, err = strconv.Atoi(s); err != nil || n < 1 || n > maxOrdinal {
		return 0, fmt.Errorf("%s is unreadable", header)
	}
	return n, nil
}

func readPlace(s string) (map[string]string, error) {
	if s == "" {
		return nil, nil
	}
	form, err := url.ParseQuery(s)
	if err != nil {
		return nil, fmt.Errorf("%s is unreadable", hdrPlace)
	}
	place := map[string]string{}
	for name := range form {
		place[name] = form.Get(name)
	}
	return place, nil
}

func encodeTimeline(chunks []Chunk) string {
	if len(chunks) == 0 {
		return ""
	}
	var raw []byte
	var last int64
	for _, c := range chunks {
		at := c.At.Microseconds()
		raw = binary.AppendUvarint(raw, uint64(at-last))
		raw = binary.AppendUvarint(raw, uint64(c.Length))
		last = at
	}
	return timelineV1 + base64.StdEncoding.EncodeToString(raw)
}

var errTimeline = errors.New(hdrTimeline + " is unreadable")

func decodeTimeline(s string) ([]Chunk, error) {
	if s == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(s, timelineV1)
	raw, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, errTimeline
	}
	chunks := make([]Chunk, 0, len(raw)/3)
	var at, step, length uint64
	for len(raw) > 0 {
		if step, raw, ok = takeUvarint(raw); !ok {
			return nil, errTimeline
		}
		if length, raw, ok = takeUvarint(raw); !ok {
			return nil, errTimeline
		}
		if at += step; at > maxMicros || length > maxMicros {
			return nil, errTimeline
		}
		chunks = append(chunks, Chunk{At: time.Duration(at) * time.Microsecond, Length: int(length)})
	}
	return chunks, nil
}

// maxMicros is far more than any recording and safely inside time.Duration.
const maxMicros = 1 << 50

func takeUvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > maxMicros {
		return 0, nil, false
	}
	return v, b[n:], true
}

// checkTimeline checks the contract of Interaction.Timeline.
func checkTimeline(chunks []Chunk, body int) error {
	if len(chunks) == 0 {
		return nil
	}
	sum, last := 0, time.Duration(0)
	for i, c := range chunks {
		if c.Length < 0 || c.At < last || c.At > maxMicros*time.Microsecond {
			return fmt.Errorf("chunk %d of the timeline goes backwards", i)
		}
		sum, last = sum+c.Length, c.At
		if sum > body {
			break
		}
	}
	if sum != body {
		return fmt.Errorf("the timeline covers %d bytes of a body of %d", sum, body)
	}
	return nil
}
