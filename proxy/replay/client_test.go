package replay_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/fault"
	"github.com/meerkat-go/conformance/proxy/replay"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// The recorded reply that the tests play to real clients.
const (
	start = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	text  = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"né\"}}\n\n"
	stop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

	api  = "api.anthropic.com"
	path = "/v1/messages"
)

func recorded(chunks ...string) cassette.Interaction {
	in := cassette.Interaction{
		Request: cassette.Request{Method: "POST", URL: "https://" + api + path, Proto: "HTTP/1.1",
			Header: http.Header{}, Body: []byte(`{"stream":true}`)},
		Response: cassette.Response{Status: 200, Proto: "HTTP/1.1",
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(strings.Join(chunks, ""))},
		End: cassette.EndEOF,
	}
	for _, chunk := range chunks {
		in.Timeline = append(in.Timeline, cassette.Chunk{Length: len(chunk)})
	}
	return in
}

// plain leaves requests as they are.
type plain struct{}

func (plain) Request(in cassette.Request) cassette.Request { return in }

// replayServer is a proxy that replays a cassette, with both of its ingresses open.
type replayServer struct {
	replayer *replay.Replayer
	proxy    *proxy.Proxy
	ca       *ca.Authority
}

func open(tb testing.TB, cfg replay.Config, ins ...cassette.Interaction) replayServer {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "x.yaml")
	w, err := cassette.Create(file, cassette.Meta{Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	for _, in := range ins {
		err = errors.Join(err, w.Append(in))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	if cfg.Cassette, err = cassette.Open(file); err != nil {
		tb.Fatal(err)
	}
	cfg.Redactor = plain{}
	h := replayServer{}
	if h.replayer, err = replay.New(cfg); err != nil {
		tb.Fatal(err)
	}
	hosts, err := proxy.Hosts(nil)
	if err != nil {
		tb.Fatal(err)
	}
	if h.ca, err = ca.New(hosts, time.Now()); err != nil {
		tb.Fatal(err)
	}
	h.proxy, err = proxy.New(proxy.Config{CA: h.ca, Ingress: []string{proxy.MITM, proxy.BaseURL}, Handler: h.replayer})
	if err == nil {
		err = h.proxy.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is still open hangs on purpose
		_ = h.proxy.Close(ctx)
	})
	return h
}

// faulty is a replayServer with a plan of one-line faults.
func faulty(tb testing.TB, plan string, ins ...cassette.Interaction) replayServer {
	tb.Helper()
	parsed, err := fault.Parse("f.yaml", []byte("faults: [{"+plan+"}]"))
	if err != nil {
		tb.Fatal(err)
	}
	return open(tb, replay.Config{Faults: &parsed, Seed: 1}, ins...)
}

// client comes in through a tunnel, by HTTP/1.1 or HTTP/2.
func (h replayServer) client(tb testing.TB, h2 bool) *http.Client {
	tb.Helper()
	address, err := url.Parse(h.proxy.URL())
	if err != nil {
		tb.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(address), TLSClientConfig: &tls.Config{RootCAs: h.ca.Pool()},
		ForceAttemptHTTP2: h2, DisableCompression: true}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// heard is what a naive reader of event streams made of a reply.
type heard struct {
	status int
	header http.Header
	body   []byte
	events []string // types; "?" for data that is not JSON
	err    error    // by which the request or the body ended
}

// listen asks like an agent would: it reads to the end and takes each event's
// type from its data.
func listen(c *http.Client) (out heard) {
	resp, err := c.Post("https://"+api+path, "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		return heard{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	out.status, out.header = resp.StatusCode, resp.Header
	out.body, out.err = io.ReadAll(resp.Body)
	for line := range bytes.Lines(out.body) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var event struct{ Type string }
		switch {
		case !ok:
		case json.Unmarshal(data, &event) != nil:
			out.events = append(out.events, "?")
		default:
			out.events = append(out.events, event.Type)
		}
	}
	return out
}

// dial opens a tunnel and speaks TLS in it, with a protocol or HTTP/1.1.
func (h replayServer) dial(tb testing.TB, protocols ...string) *tls.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.proxy.URL(), "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", api, api)
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatal(resp, err)
	}
	secure := tls.Client(conn, &tls.Config{RootCAs: h.ca.Pool(), ServerName: api, NextProtos: protocols})
	if err := secure.Handshake(); err != nil {
		tb.Fatal(err)
	}
	return secure
}

const request = "POST " + path + " HTTP/1.1\r\nHost: " + api + "\r\nContent-Length: 15\r\n\r\n" + `{"stream":true}`

// chunksOf reads a reply's HTTP/1.1 chunks as they are framed.
func chunksOf(tb testing.TB, conn io.Reader) (chunks []string) {
	tb.Helper()
	r := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			tb.Fatal(err)
		}
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			tb.Fatal(err)
		}
		var size int
		if _, err := fmt.Sscanf(line, "%x", &size); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		data := make([]byte, size+2)
		if _, err := io.ReadFull(r, data); err != nil {
			tb.Fatal(err)
		}
		if size == 0 {
			return chunks
		}
		chunks = append(chunks, string(data[:size]))
	}
}

// framesOf asks by HTTP/2 and reads the reply's DATA frames.
func framesOf(tb testing.TB, conn io.ReadWriter) (frames []string) {
	tb.Helper()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	f := http2.NewFramer(conn, conn)
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, kv := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", api}, {":path", path}} {
		_ = enc.WriteField(hpack.HeaderField{Name: kv[0], Value: kv[1]})
	}
	err := errors.Join(f.WriteSettings(),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}),
		f.WriteData(1, true, []byte(`{"stream":true}`)))
	for err == nil {
		var frame http2.Frame
		if frame, err = f.ReadFrame(); err != nil {
			break
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			if len(data.Data()) > 0 {
				frames = append(frames, string(data.Data()))
			}
			if data.StreamEnded() {
				return frames
			}
		}
	}
	tb.Fatal(err)
	return nil
}

// raw sends bytes to the base-URL ingress and returns all that comes back.
func (h replayServer) raw(tb testing.TB, request string) string {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.proxy.URL(), "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, request)
	answer, err := io.ReadAll(conn)
	if err != nil {
		tb.Fatal(err)
	}
	return string(answer)
}

// dechunked is the body of a chunked message.
func dechunked(tb testing.TB, body string) string {
	tb.Helper()
	data, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body)))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
