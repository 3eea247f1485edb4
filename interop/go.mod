module github.com/coordinatord/coordinatord/interop

go 1.26.0

replace github.com/coordinatord/coordinatord => ../

require (
	github.com/IBM/sarama v1.61.1
	github.com/coordinatord/coordinatord v0.0.0
	github.com/segmentio/kafka-go v0.4.51
	github.com/twmb/franz-go v1.22.3
	github.com/twmb/franz-go/pkg/kadm v1.20.0
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
)
