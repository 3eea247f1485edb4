import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after another in one JVM, each by its main method. It reads a line for each: the
 * class and the arguments, divided by tabs. It answers with a line of the exit status and the length of the output in
 * bytes, and the output.
 */
public final class Tools {
  /** Thrown where the tool would end the process. */
  private static final class Ended extends Error {
    private static final long serialVersionUID = 1L;

    final int status;

    Ended(int status, String message) {
      super(message);
      this.status = status;
    }
  }

  public static void main(String[] argv) throws Exception {
    PrintStream answers = System.out;
    Exit.setExitProcedure((status, message) -> {
      throw new Ended(status, message);
    });
    Exit.setHaltProcedure((status, message) -> {
      throw new Ended(status, message);
    });
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split("\t", -1);
      String[] args = new String[words.length - 1];
      System.arraycopy(words, 1, args, 0, args.length);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      PrintStream print = new PrintStream(out, true, StandardCharsets.UTF_8);
      System.setOut(print);
      System.setErr(print);
      int status = 0;
      try {
        Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
      } catch (InvocationTargetException e) {
        if (e.getCause() instanceof Ended ended) {
          status = ended.status;
        } else {
          status = 1;
          e.getCause().printStackTrace(print);
        }
      }
      print.flush();
      answers.println(status + " " + out.size());
      answers.write(out.toByteArray());
      answers.flush();
    }
  }

  private Tools() {}
}
