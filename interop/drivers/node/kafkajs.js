// Interop driver of kafkajs.
'use strict'

const fs = require('fs')
const path = require('path')
const { createRequire } = require('module')
const { parseArgs } = require('util')

// The packages are installed outside of the source tree.
const packages = createRequire(path.join(process.env.INTEROP_NODE || __dirname, 'package.json'))
const { Kafka, logLevel } = packages('kafkajs')

const text = { type: 'string', default: '' }
const { values: a } = parseArgs({
  options: { bootstrap: text, topic: text, group: text, member: text, instance: text, variant: text },
})
if (!a.bootstrap || !a.topic || !a.group || !a.member) {
  console.error('needs --bootstrap, --topic, --group and --member')
  process.exit(2)
}
if (a.instance) {
  console.error('kafkajs has no static membership')
  process.exit(2)
}

const emit = line => {
  line.t = Math.round((performance.timeOrigin + performance.now()) * 1000)
  fs.writeSync(1, JSON.stringify(line) + '\n')
}

const kafka = new Kafka({
  clientId: a.member,
  brokers: a.bootstrap.split(','),
  logLevel: logLevel.WARN,
  logCreator: () => entry => console.error(entry.namespace, entry.log.message),
  retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 60 },
})
const consumer = kafka.consumer({
  groupId: a.group,
  sessionTimeout: 6000,
  heartbeatInterval: 500,
  rebalanceTimeout: 10000,
  maxWaitTimeInMs: 200,
  metadataMaxAge: 10000,
})

consumer.on(consumer.events.GROUP_JOIN, e => {
  emit({ event: 'assigned', partitions: e.payload.memberAssignment[a.topic] || [] })
})

const stop = async () => {
  try {
    await consumer.disconnect()
    process.exit(0)
  } catch (err) {
    console.error(err)
    process.exit(1)
  }
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)

const run = async () => {
  await consumer.connect()
  await consumer.subscribe({ topics: [a.topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: 1,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      let last = -1
      for (const m of batch.messages) {
        if (!isRunning() || isStale()) break
        emit({
          event: 'record',
          topic: batch.topic,
          partition: batch.partition,
          offset: Number(m.offset),
          key: m.key === null ? null : m.key.toString(),
        })
        resolveOffset(m.offset)
        last = Number(m.offset)
      }
      if (last >= 0) {
        // A refusal ends the batch, and the client joins again.
        await consumer.commitOffsets([
          { topic: batch.topic, partition: batch.partition, offset: String(last + 1) },
        ])
        emit({ event: 'committed', offsets: { [batch.partition]: last + 1 } })
      }
      await heartbeat()
    },
  })
}

run().catch(err => {
  console.error(err)
  process.exit(1)
})
