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

  /** The first end of the tool that runs: some tools catch it, and end once more with another status. */
  private static Ended ended;

  public static void main(String[] argv) throws Exception {
    PrintStream answers = System.out;
    Exit.setExitProcedure(Tools::end);
    Exit.setHaltProcedure(Tools::end);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split("\t", -1);
      String[] args = new String[words.length - 1];
      System.arraycopy(words, 1, args, 0, args.length);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      PrintStream print = new PrintStream(out, true, StandardCharsets.UTF_8);
      System.setOut(print);
      System.setErr(print);
      ended = null;
      int status = 0;
      try {
        Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
      } catch (InvocationTargetException e) {
        if (!(e.getCause() instanceof Ended)) {
          status = 1;
          e.getCause().printStackTrace(print);
        }
      }
      if (ended != null) {
        status = ended.status;
      }
      print.flush();
      answers.println(status + " " + out.size());
      answers.write(out.toByteArray());
      answers.flush();
    }
  }

  private static void end(int status, String message) {
    Ended e = new Ended(status, message);
    if (ended == null) {
      ended = e;
    }
    throw e;
  }

  private Tools() {}
}
