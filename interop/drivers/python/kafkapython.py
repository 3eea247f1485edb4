"""Interop driver of kafka-python."""

import kafka
from kafka import errors
from kafka.structs import OffsetAndMetadata, TopicPartition

import member


class Listener(kafka.ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        member.revoked([p.partition for p in revoked])

    def on_partitions_assigned(self, assigned):
        member.assigned([p.partition for p in assigned])


def main():
    a = member.parse()
    stop = member.Stop()
    config = dict(
        bootstrap_servers=a.bootstrap.split(","),
        group_id=a.group,
        client_id=a.member,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=member.session_ms(a),
        heartbeat_interval_ms=member.HEARTBEAT_MS,
        max_poll_records=member.MAX_POLL,
    )
    if a.instance:
        config["group_instance_id"] = a.instance
    consumer = kafka.KafkaConsumer(**config)
    consumer.subscribe([a.topic], listener=Listener())
    while not stop:
        try:
            batches = consumer.poll(timeout_ms=200)
        except errors.KafkaError as e:
            member.problem("poll", repr(e))
            continue
        offsets = {}
        for tp, records in batches.items():
            for r in records:
                member.record(r.topic, r.partition, r.offset, r.key)
            offsets[tp.partition] = records[-1].offset + 1
        if offsets:
            commit(consumer, a.topic, offsets)
    consumer.close()


def commit(consumer, topic, offsets):
    try:
        consumer.commit({TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()})
    except errors.KafkaError as e:
        member.problem("commit", repr(e))
        return
    member.committed(offsets)


main()
