package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// upstream stands for the provider, over TLS and in the clear. What a request
// wants is in its X-Bench header:
//
//	stream N EVERY   N events, one every EVERY, each with the time it was sent
//	short            one reply of 4 KB
//	long BYTES       a stream as fast as it goes
type upstream struct {
	secure, plain *httptest.Server
	cert          []byte // PEM
}

func startUpstream() *upstream {
	h := http.HandlerFunc(answer)
	up := &upstream{secure: httptest.NewTLSServer(h), plain: httptest.NewServer(h)}
	up.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.secure.Certificate().Raw})
	return up
}

func (up *upstream) close() {
	up.secure.Close()
	up.plain.Close()
}

// stamp begins the text of an event that carries the time it was sent at.
const stamp = `"text":"@`

func event(text string) string {
	return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text + "\"}}\n\n"
}

const (
	opening = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	closing = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func answer(w http.ResponseWriter, r *http.Request) {
	want := strings.Fields(r.Header.Get("X-Bench"))
	if len(want) == 0 || want[0] == "short" {
		// Answered before the request is read, as a gateway may.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, shortReply)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	n, _ := strconv.Atoi(want[1])
	send(opening)
	if want[0] == "long" {
		long(n, send)
	} else {
		every, _ := time.ParseDuration(want[2])
		tick := time.NewTicker(every)
		defer tick.Stop()
		for range n {
			<-tick.C
			send(event(fmt.Sprintf("@%d%s", time.Now().UnixNano(), strings.Repeat("x", 20))))
		}
	}
	send(closing)
}

var (
	shortReply = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"` +
		strings.Repeat("0123456789", 400) + `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	block = strings.Repeat(event(strings.Repeat("0123456789", 10)), 150)
)

func long(size int, send func(string)) {
	for sent := 0; sent < size; sent += len(block) {
		send(block)
	}
}
