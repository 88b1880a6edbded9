package main

import (
	"context"
	"os"

	"jackdaw/bench"
)

// measured is a load's result and what it cost the brokers.
type measured struct {
	bench.Result
	cpu  float64 // seconds
	own  float64 // seconds of this process, which makes the load
	peak float64 // bytes
}

// measure runs a load and looks at the processes before and after.
func measure(ctx context.Context, l bench.Load, pids []int) (measured, error) {
	if err := bench.ResetPeak(pids); err != nil {
		return measured{}, err
	}
	before, err := bench.UsageOf(pids)
	if err != nil {
		return measured{}, err
	}
	self := []int{os.Getpid()}
	ownBefore, err := bench.UsageOf(self)
	if err != nil {
		return measured{}, err
	}
	r, err := bench.Run(ctx, l)
	if err != nil {
		return measured{}, err
	}
	own, err := bench.UsageOf(self)
	if err != nil {
		return measured{}, err
	}
	after, err := bench.UsageOf(pids)
	return measured{
		Result: r, cpu: (after.CPU - before.CPU).Seconds(), own: (own.CPU - ownBefore.CPU).Seconds(), peak: float64(after.Peak),
	}, err
}

func (m measured) cpuPerGiB() float64 { return m.cpu / m.GiB() }

func (m measured) ownPerGiB() float64 { return m.own / m.GiB() }

func (m measured) perCPUSecond() float64 { return float64(m.Requests) / m.cpu }

func (m measured) peakMiB() float64 { return m.peak / (1 << 20) }

// quantile of the latencies, in milliseconds.
func (m measured) quantile(percent float64) float64 {
	return float64(m.Latencies.ValueAtQuantile(percent)) / 1000
}

func (m measured) line(name string) line {
	out := line{Load: name, Requests: m.Requests, MiBPerSecond: m.MiBPerSecond(), CPU: m.cpu, PeakMiB: m.peakMiB()}
	if m.cpu > 0 {
		out.CPUPerGiB, out.PerCPUSecond = m.cpuPerGiB(), m.perCPUSecond()
		out.Generator = m.ownPerGiB()
	}
	if m.Latencies != nil {
		out.P50, out.P99, out.P999 = m.quantile(50), m.quantile(99), m.quantile(99.9)
	}
	return out
}
