"""Interop driver of confluent-kafka (librdkafka). The variant "cooperative" uses its cooperative assignor."""

import confluent_kafka as ck

import member


def main():
    a = member.parse()
    stop = member.Stop()
    config = {
        "bootstrap.servers": a.bootstrap,
        "group.id": a.group,
        "client.id": a.member,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": member.session_ms(a),
        "heartbeat.interval.ms": member.HEARTBEAT_MS,
        "error_cb": lambda e: member.problem("client", e),
    }
    if a.instance:
        config["group.instance.id"] = a.instance
    if a.variant == "cooperative":
        config["partition.assignment.strategy"] = "cooperative-sticky"
    consumer = ck.Consumer(config)
    gone = lambda c, ps: member.revoked([p.partition for p in ps])  # noqa: E731
    consumer.subscribe([a.topic], on_assign=lambda c, ps: member.assigned([p.partition for p in ps]),
                       on_revoke=gone, on_lost=gone)
    while not stop:
        got = False
        for m in consumer.consume(member.MAX_POLL, timeout=0.2):
            if m.error():
                member.problem("consume", m.error())
                continue
            got = True
            member.record(m.topic(), m.partition(), m.offset(), m.key())
        if got:
            commit(consumer)
    consumer.close()


def commit(consumer):
    try:
        done = consumer.commit(asynchronous=False)
    except ck.KafkaException as e:
        member.problem("commit", e)
        return
    member.committed({p.partition: p.offset for p in done if p.error is None and p.offset >= 0})


main()
