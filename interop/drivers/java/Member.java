import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Interop driver of the Java consumer; the variant "cooperative" uses the cooperative assignor alone. */
public final class Member {
  private static volatile boolean stop;
  private static volatile boolean closed;

  public static void main(String[] argv) throws Exception {
    Lines.Args a = Lines.parse(argv);
    Properties c = new Properties();
    c.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, a.bootstrap);
    c.put(ConsumerConfig.GROUP_ID_CONFIG, a.group);
    c.put(ConsumerConfig.CLIENT_ID_CONFIG, a.member);
    c.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    c.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
    c.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, a.sessionMs());
    c.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, Lines.HEARTBEAT_MS);
    c.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, Lines.MAX_POLL);
    if (!a.instance.isEmpty()) {
      c.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, a.instance);
    }
    if (a.variant.equals("cooperative")) {
      c.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, CooperativeStickyAssignor.class.getName());
    }
    KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer());
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stop = true;
      consumer.wakeup();
      try {
        main.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      // Otherwise the status would be that of a death by SIGTERM.
      Runtime.getRuntime().halt(closed ? 0 : 1);
    }));
    try {
      consumer.subscribe(List.of(a.topic), new ConsumerRebalanceListener() {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> p) {
          Lines.revoked(numbers(p));
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> p) {
          Lines.assigned(numbers(p));
        }
      });
      while (!stop) {
        poll(consumer);
      }
    } catch (WakeupException e) {
      if (!stop) {
        throw e;
      }
    } finally {
      consumer.close();
    }
    closed = stop;
  }

  private static void poll(KafkaConsumer<String, String> consumer) {
    ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    for (ConsumerRecord<String, String> r : records) {
      Lines.record(r.topic(), r.partition(), r.offset(), r.key());
      offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
    }
    if (offsets.isEmpty()) {
      return;
    }
    try {
      consumer.commitSync(offsets);
    } catch (WakeupException e) {
      throw e;
    } catch (KafkaException e) {
      System.err.println("commit: " + e);
      return;
    }
    Map<Integer, Long> done = new HashMap<>();
    offsets.forEach((tp, o) -> done.put(tp.partition(), o.offset()));
    Lines.committed(done);
  }

  private static List<Integer> numbers(Collection<TopicPartition> partitions) {
    List<Integer> out = new ArrayList<>();
    partitions.forEach(p -> out.add(p.partition()));
    return out;
  }
}
