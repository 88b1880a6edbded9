//go:build !linux

package rig

func withSlack(start func() error) error { return start() }
