package proxy

// Notice says why a client did not get through to the handler.
type Notice struct {
	Kind Kind
	// Host is what the client asked for, with its port when it gave one.
	Host string
	// Session is the caller's, "" for none.
	Session string
	// Text is one line for people. It contains no credential.
	Text string
}

// Kind is the kind of a Notice.
type Kind string

// The kinds of Notice.
const (
	Refused   Kind = "refused"   // a host, an ingress or a path that is not served
	Denied    Kind = "denied"    // a bad session name, or not the credential
	Upgrade   Kind = "upgrade"   // a WebSocket that is not recorded (pitfall G16)
	Untrusted Kind = "untrusted" // the client refused our certificate
	NoTLS     Kind = "no-tls"    // the client spoke no TLS in its tunnel
	Handshake Kind = "handshake" // TLS went wrong in another way
	Unused    Kind = "unused"    // the client left its tunnel without a request; not logged
)

// reportNotice counts, logs and reports why a client was kept out.
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
