package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	vcr2 "github.com/dnaeon/go-vcr/v2/recorder"
	"github.com/elazarl/goproxy"
	vcr4 "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/meerkat-go/conformance/internal/standin"
)

// serve is the other end of self: it is one subject until ctx ends.
func serve(ctx context.Context, o options) error {
	name, port, _ := strings.Cut(o.serve, "@")
	if name == "tools" {
		return toolServer(os.Stdin, os.Stdout)
	}
	h, finish, err := handler(name, o)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return finish()
}

func handler(name string, o options) (http.Handler, func() error, error) {
	nothing := func() error { return nil }
	switch name {
	case "goproxy", "goproxy-tee":
		h, err := mitm(name == "goproxy-tee", nil)
		return h, nothing, err
	case "goproxy-write":
		file, err := os.Create(filepath.Join(o.data, "x"))
		if err != nil {
			return nil, nil, err
		}
		h, err := mitm(true, file)
		return h, file.Close, err
	case "go-vcr-v2":
		r, err := vcr2.NewAsMode(filepath.Join(o.data, "x"), vcr2.ModeRecording, toUpstream())
		if err != nil {
			return nil, nil, err
		}
		h, err := reverse(o.upstream, r)
		return h, r.Stop, err
	case "go-vcr-v4":
		r, err := vcr4.New(filepath.Join(o.data, "x"), vcr4.WithMode(vcr4.ModeRecordOnly),
			vcr4.WithRealTransport(toUpstream()), vcr4.WithSkipRequestLatency(true))
		if err != nil {
			return nil, nil, err
		}
		h, err := reverse(o.upstream, r)
		return h, r.Stop, err
	default:
		h, err := player(name, o.data)
		return h, nothing, err
	}
}

func toUpstream() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 512,
		DisableCompression: true}
}

// reverse sends everything on through a recording transport.
func reverse(target string, tr http.RoundTripper) (http.Handler, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	rp := &httputil.ReverseProxy{Transport: tr, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
	return standin.ReadFirst(rp), nil
}

// mitm is goproxy at its best: an ECDSA authority and a certificate store. With
// tee it copies every body, as recorders built on it do, and with a file it appends what
// it copied, requests and headers included, before it passes on the end of a reply.
func mitm(tee bool, file *os.File) (http.Handler, error) {
	signing, err := authority()
	if err != nil {
		return nil, err
	}
	gp := goproxy.NewProxyHttpServer()
	gp.CertStore = &certStore{}
	gp.Tr = toUpstream()
	gp.KeepAcceptEncoding = true
	action := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(signing)}
	gp.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction,
		string) {
		return action, host
	})
	if tee {
		gp.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
			ctx.RoundTripper = goproxy.RoundTripperFunc(func(r *http.Request,
				_ *goproxy.ProxyCtx) (*http.Response, error) {
				c := &copied{file: file}
				if file != nil {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					c.request, c.kept = r, body
				}
				resp, err := gp.Tr.RoundTrip(r)
				if err == nil {
					c.ReadCloser, c.header, resp.Body = resp.Body, resp.Header, c
				}
				return resp, err
			})
			return r, nil
		})
	}
	return gp, nil
}

// copied keeps what is read and when.
type copied struct {
	io.ReadCloser
	kept    []byte
	times   []time.Time
	file    *os.File // nil: nothing is written
	request *http.Request
	header  http.Header
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.kept, c.times = append(c.kept, p[:n]...), append(c.times, time.Now())
	if err != nil && c.file != nil {
		if failed := c.write(); failed != nil {
			return n, failed
		}
	}
	return n, err
}

// write appends the exchange to the file, in one piece.
func (c *copied) write() error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", c.request.Method, c.request.URL)
	_ = c.request.Header.Write(&b)
	_ = c.header.Write(&b)
	for _, at := range c.times {
		fmt.Fprintf(&b, "%d\n", at.UnixMicro())
	}
	_, _ = b.Write(c.kept)
	if _, err := c.file.Write(b.Bytes()); err != nil {
		return err
	}
	c.file = nil
	return nil
}

func authority() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

type certStore struct{ certs sync.Map }

func (s *certStore) Fetch(name string, gen func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	if cert, ok := s.certs.Load(name); ok {
		return cert.(*tls.Certificate), nil
	}
	cert, err := gen()
	if err == nil {
		s.certs.Store(name, cert)
	}
	return cert, err
}
