package proxy

// Notice says why a client did not reach the handler.
type Notice struct {
	Kind Kind
	// Host is what the client asked for, with its port when it gave one.
	Host string
	// Session is the caller's, "" for none.
	Session string
	// Text says it in one line. It contains no credential.
	Text string
}

// Kind is the kind of a Notice.
type Kind string

// The kinds of Notice.
const (
	Refused   Kind = "refused"   // a host, an ingress or a path that is not served
	Denied    Kind = "denied"    // an invalid session name, or a wrong credential
	Upgrade   Kind = "upgrade"   // a WebSocket that is not recorded (pitfall G16)
	Untrusted Kind = "untrusted" // the client refused the proxy's certificate
	NoTLS     Kind = "no-tls"    // the client sent no TLS in its tunnel
	Handshake Kind = "handshake" // the TLS handshake failed for another reason
	Unused    Kind = "unused"    // the client closed its tunnel without a request; not logged
)

// reportNotice counts a notice, logs it and passes it to Config.Notice.
func (p *Proxy) reportNotice(n Notice) {
	switch n.Kind {
	case Refused, Denied:
		p.refused.Add(1)
	case Upgrade:
		p.upgrades.Add(1)
	case Untrusted, NoTLS, Handshake, Unused:
	}
	if n.Kind != Unused {
		p.cfg.Log(n.Text)
	}
	p.cfg.Notice(n)
}
