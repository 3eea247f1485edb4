package group

import "time"

// Config holds the settings of the group coordinator under Kafka's own names. Settings that Apply needs travel in
// records, so nodes may differ for a while during a rolling change.
type Config struct {
	MinSessionTimeout      time.Duration // group.min.session.timeout.ms, default 6000
	MaxSessionTimeout      time.Duration // group.max.session.timeout.ms, default 1800000
	InitialRebalanceDelay  time.Duration // group.initial.rebalance.delay.ms, default 3000
	MaxSize                int           // group.max.size, default 2147483647, at least 1
	OffsetMetadataMaxBytes int           // offset.metadata.max.bytes, default 4096, counted in UTF-16 code units
	OffsetsRetention       time.Duration // offsets.retention.minutes, default 10080
	RetentionCheckInterval time.Duration // offsets.retention.check.interval.ms, default 600000
	OffsetCommitTimeout    time.Duration // offsets.commit.timeout.ms, default 5000
}

// NewMemberJoinTimeout is how long a new member may take to finish its first join (Kafka: not configurable).
const NewMemberJoinTimeout = 5 * time.Minute

// DefaultConfig returns Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:      6 * time.Second,
		MaxSessionTimeout:      30 * time.Minute,
		InitialRebalanceDelay:  3 * time.Second,
		MaxSize:                1<<31 - 1,
		OffsetMetadataMaxBytes: 4096,
		OffsetsRetention:       7 * 24 * time.Hour,
		RetentionCheckInterval: 10 * time.Minute,
		OffsetCommitTimeout:    5 * time.Second,
	}
}
