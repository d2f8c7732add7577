//go:build !linux

package recorderenv

func connectionsOf(int) []Bypass { return nil }
