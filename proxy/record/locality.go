package record

import (
	"context"
	"net"
	"net/http/httptrace"
)

// watchConnection returns a context that notes whether the connection to the
// provider leads to this machine.
func (x *exchange) watchConnection(ctx context.Context) context.Context {
	if !x.isLive {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		to, ok := got.Conn.RemoteAddr().(*net.TCPAddr)
		x.local.Store(ok && (to.IP.IsLoopback() || to.IP.Equal(localIP(got.Conn))))
	}})
}

// localIP returns the address of this machine's end of a connection, nil for none.
func localIP(conn net.Conn) net.IP {
	if from, ok := conn.LocalAddr().(*net.TCPAddr); ok {
		return from.IP
	}
	return nil
}
