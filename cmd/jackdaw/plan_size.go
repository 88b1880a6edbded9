package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// sizing asks for the number of brokers that hold some data and bear some load.
type sizing struct {
	data, disk          size
	replicas, consumers int
	headroom, growth    float64 // per cent
	throughput, network rate
	retention           span
}

// step is one line of the reasoning: what, how much, and why.
type step struct{ what, amount, why string }

// bound is one lower bound of the number of brokers.
type bound struct {
	brokers int
	why     string
}

// sized is the answer.
type sized struct {
	brokers int
	steps   []step
	bounds  []bound
	notes   []string
}

func (s *sizing) check() error {
	switch {
	case s.replicas < 1:
		return &usageError{fmt.Errorf("--replicas must be at least 1")}
	case s.headroom < 0 || s.headroom >= 100:
		return &usageError{fmt.Errorf("--headroom must be at least 0 and below 100")}
	case s.growth < 0:
		return &usageError{fmt.Errorf("--growth must not be negative")}
	case s.consumers < 0:
		return &usageError{fmt.Errorf("--consumers must not be negative")}
	case s.data == 0 && s.retention == 0:
		return &usageError{fmt.Errorf("--throughput needs --retention, or --data, to tell how much is kept")}
	}
	return nil
}

// size reasons from data to brokers.
func (s *sizing) size() sized {
	var r sized
	onDisks := s.storage(&r)
	usable := float64(s.disk) * (1 - s.headroom/100)
	r.step("usable disk of a broker", formatSize(usable), fmt.Sprintf("%s less %g%% headroom", formatSize(float64(s.disk)), s.headroom))
	r.bound(onDisks/usable, fmt.Sprintf("disks: %s / %s", formatSize(onDisks), formatSize(usable)))
	r.bound(float64(s.replicas), fmt.Sprintf("replicas: the %d of a partition are on different brokers", s.replicas))
	s.load(&r)
	for _, b := range r.bounds {
		r.brokers = max(r.brokers, b.brokers)
	}
	s.advise(&r)
	return r
}

// storage returns the bytes on all disks together.
func (s *sizing) storage(r *sized) float64 {
	data := float64(s.data)
	if data > 0 {
		r.step("data to keep", formatSize(data), "")
	} else {
		data = float64(s.throughput) * time.Duration(s.retention).Seconds()
		r.step("data to keep", formatSize(data), fmt.Sprintf("%s for %s", s.throughput.String(), s.retention.String()))
	}
	if s.growth > 0 {
		data *= 1 + s.growth/100
		r.step("with growth", formatSize(data), fmt.Sprintf("%g%% more", s.growth))
	}
	total := data * float64(s.replicas)
	r.step("on disks", formatSize(total), fmt.Sprintf("x %d %s", s.replicas, plural(s.replicas, "replica")))
	return total
}

// load bounds by network: every replica receives each record once; a leader sends it to its followers and each group.
func (s *sizing) load(r *sized) {
	if s.throughput == 0 || s.network == 0 {
		return
	}
	in := float64(s.throughput) * (1 + s.growth/100) * float64(s.replicas)
	out := float64(s.throughput) * (1 + s.growth/100) * float64(s.replicas-1+s.consumers)
	limit := s.network.String()
	r.bound(in/float64(s.network), fmt.Sprintf("receiving: %s/s / %s", formatSize(in), limit))
	r.bound(out/float64(s.network), fmt.Sprintf("sending: %s/s / %s (%d to followers, %d to consumers)", formatSize(out), limit, s.replicas-1, s.consumers))
}

func (s *sizing) advise(r *sized) {
	if s.replicas == 1 {
		r.note("One replica: a lost disk loses its records, and a stopped broker stops its partitions. --replicas 3 survives both.")
	}
	if s.replicas == 2 {
		r.note("Two replicas: with min.insync.replicas=2 one stopped broker stops acks=all; with 1 a second failure can lose records. " +
			"--replicas 3 with min.insync.replicas=2 has neither.")
	}
	if s.headroom == 0 {
		r.note("No headroom: a full disk takes its broker's partitions offline, and a failed broker's share has no room elsewhere. " +
			"Try --headroom 25.")
	}
	if s.throughput == 0 {
		r.note("Load is not considered: --throughput, --network and --consumers do that.")
	}
	if r.brokers > s.replicas && s.replicas > 1 {
		r.note(fmt.Sprintf("While one broker is down the other %d carry its load.", r.brokers-1))
	}
}

func (r *sized) step(what, amount, why string) { r.steps = append(r.steps, step{what, amount, why}) }
func (r *sized) note(text string)              { r.notes = append(r.notes, text) }

func (r *sized) bound(brokers float64, why string) {
	// A hair above a whole number is rounding, not a need for one more broker.
	r.bounds = append(r.bounds, bound{max(1, int(math.Ceil(brokers-1e-9))), why})
}

// print writes the reasoning and the answer.
func (s *sizing) print(w io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	r := s.size()
	var b strings.Builder
	for _, st := range r.steps {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-26s %12s   %s", st.what, st.amount, st.why), " "))
	}
	b.WriteByte('\n')
	for _, bd := range r.bounds {
		fmt.Fprintf(&b, "at least %4d %-8s  %s\n", bd.brokers, plural(bd.brokers, "broker"), bd.why)
	}
	fmt.Fprintf(&b, "\nanswer: %d %s\n", r.brokers, plural(r.brokers, "broker"))
	for _, n := range r.notes {
		fmt.Fprintf(&b, "\n- %s", n)
	}
	if len(r.notes) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
