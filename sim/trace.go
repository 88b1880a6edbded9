package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"time"
)

// traceLength is how many of the last lines a violation carries.
const traceLength = 160

// trace keeps the last lines of what happened and a hash of all of them.
type trace struct {
	lines [traceLength]string
	n     int
	hash  hash.Hash64
	out   io.Writer // nil for nowhere
}

func newTrace(out io.Writer) *trace { return &trace{hash: fnv.New64a(), out: out} }

func (t *trace) add(line string) {
	t.lines[t.n%traceLength] = line
	t.n++
	_, _ = io.WriteString(t.hash, line) // a hash takes everything
	if t.out != nil {
		fmt.Fprintln(t.out, line)
	}
}

// last returns the lines that are kept, the oldest first.
func (t *trace) last() []string {
	var out []string
	for i := max(0, t.n-traceLength); i < t.n; i++ {
		out = append(out, t.lines[i%traceLength])
	}
	return out
}

// note adds a line about the world.
func (w *world) note(format string, args ...any) {
	w.trace.add(fmt.Sprintf("%6d %s  -  %s", w.steps, stamp(w.now), fmt.Sprintf(format, args...)))
}

// note adds a line about a process.
func (p *process) note(format string, args ...any) {
	p.w.trace.add(fmt.Sprintf("%6d %s %d.%d %s", p.w.steps, stamp(p.w.now), p.id, p.life, fmt.Sprintf(format, args...)))
}

// stamp writes virtual time in seconds.
func stamp(d time.Duration) string { return fmt.Sprintf("%10.6f", d.Seconds()) }

// Violation tells that a run broke an invariant. It is an error.
type Violation struct {
	Seed uint64
	// Steps is what the run was asked for, Step where it broke.
	Steps, Step int
	At          time.Duration
	What        string
	// Trace has the last events, the oldest first.
	Trace []string
}

// Error implements error with all that is needed to look into it.
func (v *Violation) Error() string {
	text := fmt.Sprintf("seed %d, step %d, at %s s: %s", v.Seed, v.Step, stamp(v.At), v.What)
	for _, l := range v.Trace {
		text += "\n  " + l
	}
	return text + fmt.Sprintf("\nagain: make sim SEED=%d STEPS=%d", v.Seed, v.Steps)
}

// violate ends the run; the first violation counts.
func (w *world) violate(format string, args ...any) {
	if w.broken == nil {
		w.broken = &Violation{Seed: w.o.Seed, Steps: w.o.Steps, Step: w.steps, At: w.now, What: fmt.Sprintf(format, args...), Trace: w.trace.last()}
	}
}
