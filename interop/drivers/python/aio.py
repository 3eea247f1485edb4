"""Interop driver of aiokafka."""

import asyncio

import aiokafka
from aiokafka import errors
from aiokafka.structs import TopicPartition

import member


class Listener(aiokafka.ConsumerRebalanceListener):
    async def on_partitions_revoked(self, revoked):
        member.revoked([p.partition for p in revoked])

    async def on_partitions_assigned(self, assigned):
        member.assigned([p.partition for p in assigned])


async def run(a):
    stop = member.Stop()
    config = dict(
        bootstrap_servers=a.bootstrap.split(","),
        group_id=a.group,
        client_id=a.member,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=member.session_ms(a),
        heartbeat_interval_ms=member.HEARTBEAT_MS,
        rebalance_timeout_ms=member.REBALANCE_MS,
    )
    if a.instance:
        config["group_instance_id"] = a.instance
    consumer = aiokafka.AIOKafkaConsumer(**config)
    consumer.subscribe([a.topic], listener=Listener())
    await started(consumer, stop)
    while not stop:
        try:
            batches = await consumer.getmany(timeout_ms=200, max_records=member.MAX_POLL)
        except errors.KafkaError as e:
            member.problem("poll", repr(e))
            continue
        offsets = {}
        for tp, records in batches.items():
            for r in records:
                member.record(r.topic, r.partition, r.offset, r.key)
            offsets[tp.partition] = records[-1].offset + 1
        if offsets:
            await commit(consumer, a.topic, offsets)
    await consumer.stop()


async def started(consumer, stop):
    """The first connection is not retried by the client."""
    while not stop:
        try:
            return await consumer.start()
        except errors.KafkaConnectionError as e:
            member.problem("connect", repr(e))
            await asyncio.sleep(0.2)


async def commit(consumer, topic, offsets):
    try:
        await consumer.commit({TopicPartition(topic, p): o for p, o in offsets.items()})
    except errors.KafkaError as e:
        member.problem("commit", repr(e))
        return
    member.committed(offsets)


asyncio.run(run(member.parse()))
