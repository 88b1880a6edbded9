package log

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/protocol/record"
)

// prepare checks the batches of an append for everything that does not depend on the state of the log, corrects their
// largest timestamp, and compresses them anew if the topic wants another codec. It returns what is to be written: records
// itself, or bytes behind what is in sc. Kafka: UnifiedLog.analyzeAndValidateRecords, LogValidator.
func (l *Log) prepare(records []byte, cfg *Config, o AppendOptions, sc *scratch) ([]byte, error) {
	if o.Origin == Replication {
		buf, _, err := splitReplicated(records)
		return buf, err
	}
	if len(records) == 0 {
		return nil, l.errorf(kerr.InvalidRecord, "no record batch")
	}
	if o.Origin == Client && o.OldFormats && isOldFormat(records) {
		start := len(sc.up)
		var err error
		if sc.up, err = record.UpConvert(sc.up, records, &sc.ws); err != nil {
			return nil, fmt.Errorf("%s: %w", l.tp, err)
		}
		records = sc.up[start:]
	}
	start := len(sc.out)
	recoded := false
	for rest := records; len(rest) > 0; {
		b, after, err := record.Next(rest)
		if err != nil {
			return nil, l.splitError(err)
		}
		if o.Origin == Client && len(after) > 0 {
			return nil, l.errorf(kerr.InvalidRecord, "more than one record batch")
		}
		if err := l.prepareBatch(b, cfg, o, sc); err != nil {
			return nil, err
		}
		if target := targetCodec(cfg, b); target != b.Codec() || recoded {
			if !recoded {
				sc.out = append(sc.out, records[:len(records)-len(rest)]...)
				recoded = true
			}
			if err := l.recode(b, target, cfg, sc); err != nil {
				return nil, err
			}
		}
		rest = after
	}
	buf := records
	if recoded {
		buf = sc.out[start:]
	}
	if len(buf) > int(cfg.SegmentBytes) {
		return nil, l.errorf(kerr.RecordListTooLarge, "%d bytes do not fit into a segment of %d", len(buf), cfg.SegmentBytes)
	}
	return buf, nil
}

// isOldFormat tells whether records begin with a message of format 0 or 1.
func isOldFormat(records []byte) bool {
	b, _, err := record.Next(records)
	return err == nil && b.Magic() < 2
}

// splitError tells a client about bytes that are no whole batch of a format that it may send.
func (l *Log) splitError(err error) error {
	if errors.Is(err, record.ErrShort) {
		return l.errorf(kerr.InvalidRecord, "%v", err)
	}
	return fmt.Errorf("%s: %w", l.tp, err)
}

// prepareBatch checks one batch.
func (l *Log) prepareBatch(b record.Batch, cfg *Config, o AppendOptions, sc *scratch) error {
	if len(b) > int(cfg.MaxMessageBytes) {
		return l.tooLarge(len(b), cfg)
	}
	if b.Magic() != 2 {
		return l.errorf(kerr.InvalidRecord, "message format %d", b.Magic())
	}
	if o.Origin == Client && !o.AllowZstd && b.Codec() == record.Zstd && b.CheckCRC() {
		return l.errorf(kerr.UnsupportedCompressionType, "zstd needs Produce version 7")
	}
	if err := l.checkAttributes(b, cfg, o); err != nil {
		return err
	}
	sum, err := record.Validate(b, l.validation(cfg, o), &sc.ws)
	if err != nil {
		return fmt.Errorf("%s: %w", l.tp, err)
	}
	if cfg.TimestampType == CreateTime && b.TimestampType() == record.CreateTime {
		b.SetMaxTimestamp(record.CreateTime, sum.MaxTimestamp)
	}
	return nil
}

// checkAttributes refuses what a client may not claim. A wrong checksum goes first, so it is left to Validate.
func (l *Log) checkAttributes(b record.Batch, cfg *Config, o AppendOptions) error {
	if o.Origin != Client || cfg.TimestampType != CreateTime || b.TimestampType() != record.LogAppendTime || !b.CheckCRC() {
		return nil
	}
	return l.errorf(kerr.InvalidTimestamp, "the timestamp type LogAppendTime is for the broker to set")
}

func (l *Log) tooLarge(n int, cfg *Config) error {
	return l.errorf(kerr.MessageTooLarge, "batch of %d bytes, max.message.bytes is %d", n, cfg.MaxMessageBytes)
}

// validation is what the topic asks of a batch.
func (l *Log) validation(cfg *Config, o AppendOptions) record.ValidateOptions {
	v := record.ValidateOptions{Client: o.Origin == Client, RequireKeys: cfg.Compact && o.Origin == Client}
	if v.RequireKeys {
		v.Partition = l.tp.String()
	}
	if cfg.TimestampType != CreateTime || o.Origin != Client || (cfg.TimestampBefore == Unlimited && cfg.TimestampAfter == Unlimited) {
		return v
	}
	now := l.env.nowMs()
	v.CheckTimestamps = true
	v.MinTimestamp = now - clampMs(cfg.TimestampBefore, now)
	v.MaxTimestamp = now + clampMs(cfg.TimestampAfter, math.MaxInt64-now)
	return v
}

// clampMs is a duration in ms, at most limit; Unlimited is the limit.
func clampMs(d time.Duration, limit int64) int64 {
	if d == Unlimited {
		return limit
	}
	return min(d.Milliseconds(), limit)
}

// recordErrors takes the bad records out of an error.
func recordErrors(err error) []RecordError {
	var v *record.ValidationError
	if !errors.As(err, &v) {
		return nil
	}
	out := make([]RecordError, 0, len(v.Records))
	for _, r := range v.Records {
		out = append(out, RecordError{Index: r.Index, Message: r.Message})
	}
	return out
}
