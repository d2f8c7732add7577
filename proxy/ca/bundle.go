package ca

import (
	"bytes"
	"os"
)

// rootFiles are where systems keep their trusted roots as one PEM file.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL
	"/etc/ssl/cert.pem",                                 // Alpine, macOS, BSD
}

// SystemRoots returns the roots that a program trusts by default: the file named
// by sslCertFile (the caller's SSL_CERT_FILE, "" for none), else the system's.
// It is empty when neither can be read.
func SystemRoots(sslCertFile string) []byte {
	files := rootFiles
	if sslCertFile != "" {
		files = []string{sslCertFile}
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return data
		}
	}
	return nil
}

// Bundle returns roots with the authority added, as one PEM file. SSL_CERT_FILE,
// REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE replace a client's roots and do not add
// to them.
func (a *Authority) Bundle(roots []byte) []byte {
	return bytes.Join([][]byte{bytes.TrimSpace(roots), a.PEM()}, []byte("\n"))
}
