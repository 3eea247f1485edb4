import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Map;
import java.util.StringJoiner;

/** What the Java drivers share: the arguments they take and the lines they print. */
final class Lines {
  static final int HEARTBEAT_MS = 500;
  static final int MAX_POLL = 100;

  private static final OutputStream OUT = new FileOutputStream(FileDescriptor.out);

  static final class Args {
    String bootstrap = "";
    String topic = "";
    String group = "";
    String member = "";
    String instance = "";
    String variant = "";

    /** A static member is started again within its session, also on a busy machine. */
    int sessionMs() {
      return instance.isEmpty() ? 6000 : 30000;
    }
  }

  static Args parse(String[] argv) {
    Args a = new Args();
    for (int i = 0; i + 1 < argv.length; i += 2) {
      switch (argv[i]) {
        case "--bootstrap" -> a.bootstrap = argv[i + 1];
        case "--topic" -> a.topic = argv[i + 1];
        case "--group" -> a.group = argv[i + 1];
        case "--member" -> a.member = argv[i + 1];
        case "--instance" -> a.instance = argv[i + 1];
        case "--variant" -> a.variant = argv[i + 1];
        default -> throw new IllegalArgumentException(argv[i]);
      }
    }
    if (a.bootstrap.isEmpty() || a.topic.isEmpty() || a.group.isEmpty() || a.member.isEmpty()) {
      throw new IllegalArgumentException("needs --bootstrap, --topic, --group and --member");
    }
    return a;
  }

  static void record(String topic, int partition, long offset, String key) {
    emit("\"event\":\"record\",\"topic\":" + quote(topic) + ",\"partition\":" + partition + ",\"offset\":" + offset
        + ",\"key\":" + (key == null ? "null" : quote(key)));
  }

  static void assigned(Collection<Integer> partitions) {
    emit("\"event\":\"assigned\",\"partitions\":" + partitions);
  }

  static void revoked(Collection<Integer> partitions) {
    emit("\"event\":\"revoked\",\"partitions\":" + partitions);
  }

  static void committed(Map<Integer, Long> offsets) {
    StringJoiner list = new StringJoiner(",", "{", "}");
    offsets.forEach((p, o) -> list.add("\"" + p + "\":" + o));
    emit("\"event\":\"committed\",\"offsets\":" + list);
  }

  private static synchronized void emit(String fields) {
    long t = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    try {
      OUT.write(("{\"t\":" + t + "," + fields + "}\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      System.exit(1); // Nobody reads any more.
    }
  }

  /** Keys and topics of the suite hold nothing but letters, digits and "-._". */
  private static String quote(String s) {
    if (!s.matches("[A-Za-z0-9._-]*")) {
      throw new IllegalArgumentException("cannot print " + s);
    }
    return '"' + s + '"';
  }

  private Lines() {}
}
