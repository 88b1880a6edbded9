package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"jackdaw/internal/assert"
	"jackdaw/metadata"
)

// Options describes a run.
type Options struct {
	Seed uint64
	// Steps is how many events happen before the faults end; the run goes on until everything is well again.
	Steps int
	// Trace receives every line of the trace; nil for none.
	Trace io.Writer
	// broken are the rules that a test leaves out, to show that their absence is noticed.
	broken rules
}

// rules of the shells or cores, each of which a test can break.
type rules struct {
	// maximalISR: a joining replica holds back the high watermark before its joining is confirmed.
	maximalISR bool
	// epochStart: a replica joins only when it has all that the leader's epoch began with.
	epochStart bool
	// controllerEpoch: each write of a controller is conditional on the controller epoch.
	controllerEpoch bool
	// controlOrder: a controller's request by an older connection than others before is not executed.
	controlOrder bool
	// epochTruncation: a follower is cut where its epochs part from the leader's, not at its high watermark.
	epochTruncation bool
}

// Result counts what happened in a run.
type Result struct {
	Seed uint64
	// Steps are all events, those after the faults included; Virtual is the time that passed.
	Steps   int
	Virtual time.Duration
	// Hash is that of the whole trace.
	Hash uint64
	// Acked counts records acknowledged with acks=all, Committed those that a high watermark passed.
	Acked, Committed int
	// Elections counts leaderships that began, Unclean those of them that were not clean, DiskLoss those of a replica that
	// a power cut had robbed of records. Lost counts committed records that these two lost.
	Elections, Unclean, DiskLoss, Lost int
	// Terms counts controllers, Expiries sessions that expired, Crashes, PowerCuts and Pauses what was done to brokers.
	Terms, Expiries, Crashes, PowerCuts, Pauses int
	// Strays counts logs of former topics that had to be removed by hand.
	Strays int
}

// String tells the counts in one line.
func (r Result) String() string {
	return fmt.Sprintf("%d steps in %v: %d records committed, %d acknowledged with acks=all, %d lost; %d elections, %d unclean, %d after disk loss; "+
		"%d controllers, %d expiries, %d crashes, %d power cuts, %d pauses; %d stray logs", r.Steps, r.Virtual.Round(time.Second), r.Committed, r.Acked, r.Lost,
		r.Elections, r.Unclean, r.DiskLoss, r.Terms, r.Expiries, r.Crashes, r.PowerCuts, r.Pauses, r.Strays)
}

// Add sums up two results; seed and hash are those of neither.
func (r Result) Add(o Result) Result {
	return Result{
		Steps: r.Steps + o.Steps, Virtual: r.Virtual + o.Virtual, Acked: r.Acked + o.Acked, Committed: r.Committed + o.Committed,
		Elections: r.Elections + o.Elections, Unclean: r.Unclean + o.Unclean, DiskLoss: r.DiskLoss + o.DiskLoss, Lost: r.Lost + o.Lost,
		Terms: r.Terms + o.Terms, Expiries: r.Expiries + o.Expiries, Crashes: r.Crashes + o.Crashes,
		PowerCuts: r.PowerCuts + o.PowerCuts, Pauses: r.Pauses + o.Pauses, Strays: r.Strays + o.Strays,
	}
}

// world is everything there is in a run.
type world struct {
	ctx   context.Context
	o     Options
	rng   *rand.Rand
	plan  plan
	now   time.Duration
	queue queue
	seq   uint64
	// conns counts the connections of controllers.
	conns  int64
	steps  int
	trace  *trace
	broken *Violation
	// calm is set when the faults are over.
	calm   bool
	cut    map[link]bool
	keeper *keeper
	hosts  []*host
	admin  *admin
	oracle *oracle
	result Result
}

// epoch is when virtual time begins.
var epoch = time.UnixMilli(1_700_000_000_000)

// Run plays one seed. The error is a *Violation.
func Run(ctx context.Context, o Options) (Result, error) {
	asserted := assert.Failures()
	w := newWorld(ctx, o)
	defer w.namePanic()
	w.start()
	for w.steps < o.Steps && w.broken == nil && w.next() {
		w.check()
	}
	if w.broken == nil {
		w.heal()
	}
	for _, h := range w.hosts {
		h.discard()
	}
	if n := assert.Failures(); n > asserted {
		w.violate("%d assertions failed", n-asserted)
	}
	r := w.result
	r.Seed, r.Steps, r.Virtual, r.Hash = o.Seed, w.steps, w.now, w.trace.hash.Sum64()
	if w.broken != nil {
		return r, w.broken
	}
	return r, nil
}

// namePanic tells in which run the code under test has panicked, as its assertions do in builds for that.
func (w *world) namePanic() {
	if p := recover(); p != nil {
		panic(fmt.Sprintf("seed %d, step %d: %v", w.o.Seed, w.steps, p))
	}
}

func newWorld(ctx context.Context, o Options) *world {
	w := &world{ctx: ctx, o: o, rng: rand.New(rand.NewPCG(o.Seed, 0x6a61636b64617721)), trace: newTrace(o.Trace), cut: map[link]bool{}}
	w.plan = w.drawPlan()
	w.keeper = newKeeper(w)
	w.oracle = newOracle(w)
	for i := range w.plan.brokers {
		w.hosts = append(w.hosts, newHost(w, metadata.BrokerID(i+1)))
	}
	w.admin = newAdmin(w)
	return w
}

func (w *world) host(id metadata.BrokerID) *host { return w.hosts[id-1] }

// start sets everything going.
func (w *world) start() {
	w.note("plan %s", w.plan)
	w.keeper.start()
	for _, h := range w.hosts {
		w.after(nil, w.between(0, 50*time.Millisecond), h.boot)
	}
	w.admin.start()
	w.after(nil, 300*time.Millisecond, w.fault)
}

// settleTime is how long the cluster may take until all is well after the last fault.
const settleTime = 60 * time.Second

// heal ends the faults, starts all brokers, and runs on until everything is in sync and writable.
func (w *world) heal() {
	w.note("the faults are over")
	w.calm = true
	clear(w.cut)
	for _, h := range w.hosts {
		h.recover()
	}
	w.admin.calm()
	deadline := w.now + settleTime
	complaint := "nothing happens"
	look := w.now + time.Second
	for w.broken == nil && w.now < deadline && w.next() {
		w.check()
		if w.now < look {
			continue
		}
		look = w.now + 250*time.Millisecond
		w.admin.removeStrays()
		if complaint = w.unwell(); complaint == "" {
			w.finish()
			return
		}
	}
	w.violate("not well %v after the last fault: %s", settleTime, complaint)
}

// finish compares the logs on the disks with what was noted about them.
func (w *world) finish() {
	for _, h := range w.hosts {
		if h.proc != nil {
			h.proc.verifyLogs()
		}
	}
}

// plan is what a seed chooses once.
type plan struct {
	brokers int
	// fsync makes each append durable before it counts; power allows power cuts.
	fsync, power bool
	// unclean elections may be allowed for some topics. coups: the controller node is deleted now and then, as operators do
	// to have another controller.
	unclean, coups bool
	segmentBytes   int32
	lossOneIn      int
	faultEvery     time.Duration
	session        time.Duration
	lagMax         time.Duration
	topics         int
}

func (p plan) String() string {
	return fmt.Sprintf("brokers=%d fsync=%v power=%v unclean=%v coups=%v segment=%d loss=1/%d faults=%v session=%v lag=%v topics=%d", p.brokers, p.fsync,
		p.power, p.unclean, p.coups, p.segmentBytes, p.lossOneIn, p.faultEvery, p.session, p.lagMax, p.topics)
}

// drawPlan chooses. Each seed is hard on something else.
func (w *world) drawPlan() plan {
	pick := func(ds ...time.Duration) time.Duration { return ds[w.rng.IntN(len(ds))] }
	return plan{
		brokers:      3 + w.rng.IntN(3),
		power:        w.o.Seed%3 != 0,
		fsync:        w.o.Seed%3 == 1,
		unclean:      w.rng.IntN(4) == 0,
		coups:        w.rng.IntN(3) == 0,
		segmentBytes: []int32{1 << 20, 1 << 20, 2000}[w.rng.IntN(3)],
		lossOneIn:    []int{30, 100, 1000}[w.rng.IntN(3)],
		faultEvery:   pick(80*time.Millisecond, 200*time.Millisecond, 500*time.Millisecond),
		session:      pick(time.Second, 2*time.Second),
		lagMax:       pick(200*time.Millisecond, 500*time.Millisecond),
		topics:       1 + w.rng.IntN(3),
	}
}
