import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Interop driver of Kafka Streams, at least once: counts the records of each key in a store and writes the counts to
 * the topic {@code <topic>-counts}.
 */
public final class Count {
  public static void main(String[] argv) throws Exception {
    Lines.Args a = Lines.parse(argv);
    Properties c = new Properties();
    c.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, a.bootstrap);
    c.put(StreamsConfig.APPLICATION_ID_CONFIG, a.group);
    c.put(StreamsConfig.CLIENT_ID_CONFIG, a.member);
    c.put(StreamsConfig.STATE_DIR_CONFIG, stateDir(a));
    c.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);
    c.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
    c.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    // Tasks move at once, not when a copy of their state has caught up.
    c.put(StreamsConfig.ACCEPTABLE_RECOVERY_LAG_CONFIG, Long.MAX_VALUE);
    c.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    c.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    c.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), a.sessionMs());
    c.put(StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), Lines.HEARTBEAT_MS);
    c.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), Lines.MAX_POLL);
    if (!a.instance.isEmpty()) {
      c.put(StreamsConfig.consumerPrefix(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG), a.instance);
    }

    StreamsBuilder builder = new StreamsBuilder();
    builder.<String, String>stream(a.topic, org.apache.kafka.streams.kstream.Consumed.with(Serdes.String(), Serdes.String()))
        .processValues(Print::new)
        .groupByKey()
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts")
            .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
        .toStream()
        .to(a.topic + "-counts", Produced.with(Serdes.String(), Serdes.Long()));

    KafkaStreams streams = new KafkaStreams(builder.build(), c);
    streams.setUncaughtExceptionHandler(e -> {
      System.err.println("thread: " + e);
      return StreamThreadExceptionResponse.REPLACE_THREAD;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      boolean closed = streams.close(Duration.ofSeconds(10));
      // Otherwise the status would be that of a death by SIGTERM.
      Runtime.getRuntime().halt(closed ? 0 : 1);
    }));
    streams.start();
    new CountDownLatch(1).await(); // Until SIGTERM.
  }

  /** A static member that comes back finds its state; that it is the same instance is kept there too. */
  private static String stateDir(Lines.Args a) {
    String dir = System.getenv().getOrDefault("INTEROP_STATE", System.getProperty("java.io.tmpdir"));
    return dir + "/" + (a.instance.isEmpty() ? a.member : a.instance);
  }

  /** Prints the records that pass. */
  private static final class Print extends ContextualFixedKeyProcessor<String, String, String> {
    @Override
    public void process(FixedKeyRecord<String, String> r) {
      context().recordMetadata().ifPresent(m -> Lines.record(m.topic(), m.partition(), m.offset(), r.key()));
      context().forward(r);
    }
  }

  private Count() {}
}
