package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franz is the driver of franz-go.
type franz struct {
	bootstrap          []string
	group, topic       string
	consumer, producer *kgo.Client
}

func (f *franz) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(f.bootstrap...), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)...)
}

func (f *franz) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if f.consumer == nil {
		<-ctx.Done()
		return
	}
	f.consumer.PollFetches(ctx).EachRecord(func(r *kgo.Record) { say("r", r.Partition, r.Offset, string(r.Value)) })
}

func (f *franz) execute(ctx context.Context, w []string) (string, error) {
	switch w[0] {
	case "join":
		return "", f.join(w[1], w[2], options(w[3:]))
	case "commit":
		return "", f.consumer.CommitUncommittedOffsets(ctx)
	case "commit-async":
		return "", f.commitAsync(ctx)
	case "committed":
		offsets, err := f.admin(f.consumer).FetchOffsets(ctx, f.group)
		if o, ok := offsets.Lookup(f.topic, number[int32](w[1])); ok {
			return fmt.Sprint(o.At), err
		}
		return "-1", err
	case "seek":
		return f.seek(ctx, number[int32](w[1]), w[2])
	case "leave":
		f.consumer.Close()
		f.consumer = nil
		return "", nil
	case "producer":
		return "", f.newProducer(ctx, options(w[1:]))
	case "produce":
		return "", f.produce(ctx, w[1], number[int32](w[2]), w[3], number[int](w[4]))
	case "begin":
		return "", f.producer.BeginTransaction()
	case "commit-txn":
		return "", f.producer.EndTransaction(ctx, kgo.TryCommit)
	case "abort-txn":
		return "", f.producer.EndTransaction(ctx, kgo.TryAbort)
	default:
		return f.administer(ctx, w)
	}
}

func (f *franz) join(group, topic string, given map[string]string) error {
	f.group, f.topic = group, topic
	tell := func(kind string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, p map[string][]int32) { sayPartitions(kind, p[topic]) }
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(300 * time.Millisecond), kgo.SessionTimeout(time.Duration(number[int](given["session"])) * time.Millisecond),
		kgo.OnPartitionsAssigned(tell("+")), kgo.OnPartitionsRevoked(tell("-")), kgo.OnPartitionsLost(tell("-")),
		kgo.Balancers(kgo.RangeBalancer()),
	}
	if given["strategy"] == "cooperative" {
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	}
	if id := given["instance"]; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	if given["committed"] != "" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	var err error
	f.consumer, err = f.client(opts...)
	return err
}

func (f *franz) commitAsync(ctx context.Context) error {
	done := make(chan error, 1)
	f.consumer.CommitOffsets(ctx, f.consumer.UncommittedOffsets(), func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
		done <- err
	})
	return <-done
}

func (f *franz) seek(ctx context.Context, partition int32, where string) (string, error) {
	adm := f.admin(f.consumer)
	var listed kadm.ListedOffsets
	var err error
	switch {
	case where == "beginning":
		listed, err = adm.ListStartOffsets(ctx, f.topic)
	case where == "end":
		listed, err = adm.ListEndOffsets(ctx, f.topic)
	case strings.HasPrefix(where, "@"):
		listed, err = adm.ListOffsetsAfterMilli(ctx, number[int64](where[1:]), f.topic)
	}
	if err != nil {
		return "", err
	}
	at := kgo.EpochOffset{Epoch: -1}
	if o, ok := listed.Lookup(f.topic, partition); ok {
		at.Offset = o.Offset
	} else {
		at.Offset = number[int64](where)
	}
	f.consumer.SetOffsets(map[string]map[int32]kgo.EpochOffset{f.topic: {partition: at}})
	return fmt.Sprint(at.Offset), nil
}

var franzCodecs = map[string]kgo.CompressionCodec{
	"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func (f *franz) newProducer(ctx context.Context, given map[string]string) error {
	opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(franzCodecs[given["codec"]])}
	switch {
	case given["txn"] != "":
		opts = append(opts, kgo.TransactionalID(given["txn"]))
	case given["idempotent"] == "":
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	if f.producer != nil {
		f.producer.Close()
	}
	var err error
	if f.producer, err = f.client(opts...); err != nil || given["txn"] == "" {
		return err
	}
	_, _, err = f.producer.ProducerID(ctx) // now, as initTransactions does elsewhere
	return err
}

func (f *franz) produce(ctx context.Context, topic string, partition int32, prefix string, n int) error {
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Key: []byte("k"), Value: fmt.Appendf(nil, "%s-%d", prefix, i)})
	}
	var errs []error
	for chunk := range slices.Chunk(records, 50) { // several batches, so that their sequences matter
		errs = append(errs, f.producer.ProduceSync(ctx, chunk...).FirstErr())
	}
	return errors.Join(errs...)
}

func (f *franz) admin(cl *kgo.Client) *kadm.Client { return kadm.NewClient(cl) }

func (f *franz) administer(ctx context.Context, w []string) (string, error) {
	cl, err := f.client()
	if err != nil {
		return "", err
	}
	defer cl.Close()
	adm := f.admin(cl)
	switch w[0] {
	case "create":
		_, err = adm.CreateTopic(ctx, number[int32](w[2]), number[int16](w[3]), nil, w[1])
	case "grow":
		var r kadm.CreatePartitionsResponses
		if r, err = adm.UpdatePartitions(ctx, number[int](w[2]), w[1]); err == nil {
			err = r.Error()
		}
	case "partitions":
		d, err := adm.ListTopics(ctx, w[1])
		return fmt.Sprint(len(d[w[1]].Partitions)), err
	case "set":
		_, err = adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: w[2], Value: &w[3]}}, w[1])
	case "get":
		return franzConfig(ctx, adm, w[1], w[2])
	case "group":
		described, err := adm.DescribeGroups(ctx, w[1])
		listed, listErr := adm.ListGroups(ctx)
		count := 0
		if _, ok := listed[w[1]]; ok {
			count = 1
		}
		return fmt.Sprint(len(described[w[1]].Members), count), errors.Join(err, listErr)
	case "delete":
		_, err = adm.DeleteTopic(ctx, w[1])
	default:
		err = fmt.Errorf("unknown command %s", w[0])
	}
	return "", err
}

func franzConfig(ctx context.Context, adm *kadm.Client, topic, key string) (string, error) {
	described, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, entry := range described[0].Configs {
		if entry.Key == key {
			return *entry.Value, nil
		}
	}
	return "", fmt.Errorf("no key %s", key)
}
