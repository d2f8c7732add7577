package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// readAddress reads the address of an HTTP server. Errors do not repeat it: it may
// hold a password.
func readAddress(v any) (any, error) {
	s, ok := v.(string)
	u, err := url.Parse(s)
	if !ok || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, errors.New("it is not an address of the form http://HOST:PORT or https://HOST")
	}
	return s, nil
}

// readDatabase reads the URL of a PostgreSQL database. Errors do not repeat it: it may
// hold a password.
func readDatabase(v any) (any, error) {
	s, ok := v.(string)
	u, err := url.Parse(s)
	if !ok || err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("it is not a URL of the form postgres://USER@HOST:PORT/DATABASE")
	}
	return s, nil
}

// readHosts reads a list of names of hosts.
func readHosts(v any) (any, error) {
	names, err := readList(v)
	if err != nil {
		return nil, err
	}
	for _, name := range names.([]string) {
		if u, err := url.Parse("http://" + name); err != nil || u.Host != name || u.Hostname() != name ||
			strings.ContainsAny(name, "*@%") {
			return nil, fmt.Errorf(
				"%.100q is not the name of a host; write it such as rkat.example.com, without a port and without *",
				name,
			)
		}
	}
	return names, nil
}

// readListenAddress reads where to listen: PORT, :PORT or HOST:PORT. Without a host
// only this machine can connect.
func readListenAddress(v any) (any, error) {
	s := fmt.Sprint(v)
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("%v is not of the form PORT or HOST:PORT, such as 9464 or 127.0.0.1:9464", v)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func readBool(v any) (any, error) {
	switch v {
	case true, "true", "1":
		return true, nil
	case false, "false", "0":
		return false, nil
	}
	return nil, fmt.Errorf("%v is not true or false", v)
}

// readHeaders reads the headers of requests: a table, or NAME=VALUE with commas
// between, percent-encoded as the variable of OpenTelemetry is.
func readHeaders(v any) (any, error) {
	headers := map[string]string{}
	switch v := v.(type) {
	case map[string]string:
		headers = v
	case map[string]any:
		if err := copyTexts(headers, v); err != nil {
			return nil, err
		}
	case string:
		if err := parsePairs(headers, strings.Split(v, ",")); err != nil {
			return nil, err
		}
		for name, value := range headers {
			if decoded, err := url.PathUnescape(value); err == nil {
				headers[name] = decoded
			}
		}
	default:
		return nil, errors.New("it is not a table of texts")
	}
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New("a name or value cannot be an HTTP header")
		}
	}
	return headers, nil
}
