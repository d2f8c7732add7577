//go:build !linux

package main

import "errors"

func offline() (bool, error) {
	return false,
		errors.New("agents: they are run where no host can be reached, which needs Linux's network namespaces")
}
