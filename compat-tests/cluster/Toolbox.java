import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs many of Apache's tools in one virtual machine, whose start would take longer than most of them. A line of standard input
 * is a call: class, standard input and arguments, with 0x1f between. The answer is what the tool printed, then a line of
 * 0x04 and the exit status. In both 0x1e stands for the end of a line within a field.
 */
public class Toolbox {
    /** Ends a tool in place of the machine. */
    static final class Exited extends Error { }

    /** What the tool prints; null after its first exit, as some tools catch it and exit again. */
    static ByteArrayOutputStream printed;
    static ByteArrayOutputStream result;
    static int status;

    static synchronized void print(byte[] b, int off, int len) {
        if (printed != null) {
            printed.write(b, off, len);
        }
    }

    static synchronized void exit(int code) {
        if (printed != null) {
            status = code;
            result = printed;
            printed = null;
        }
        throw new Exited();
    }

    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        PrintStream redirected = new PrintStream(new OutputStream() {
            @Override public void write(int b) { print(new byte[] {(byte) b}, 0, 1); }
            @Override public void write(byte[] b, int off, int len) { print(b, off, len); }
        }, true, StandardCharsets.UTF_8);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(redirected);
        System.setErr(redirected);
        trapExit();
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] fields = line.replace((char) 0x1e, '\n').split("\u001f", -1);
            synchronized (Toolbox.class) {
                printed = new ByteArrayOutputStream();
            }
            call(fields);
            answers.writeBytes(result.toByteArray());
            answers.print("\n\u0004" + status + "\n");
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static void call(String[] fields) {
        System.setIn(new ByteArrayInputStream(fields[1].getBytes(StandardCharsets.UTF_8)));
        String[] args = Arrays.copyOfRange(fields, 2, fields.length);
        int code = 0;
        try {
            Class.forName(fields[0]).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException e) {
            e.getCause().printStackTrace();
            code = 1;
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            code = 1;
        }
        try {
            exit(code);
        } catch (Exited e) {
            // The first exit counts: the tool's, if there was one.
        }
    }

    /** A tool ends by an exception instead of ending the machine. Kafka 4.4 has the class in another package. */
    static void trapExit() throws Exception {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        } catch (ClassNotFoundException e) {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object trap = Proxy.newProxyInstance(Toolbox.class.getClassLoader(), new Class<?>[] {procedure}, (proxy, method, args) -> {
            if (method.getDeclaringClass() == Object.class) {
                return method.invoke(Toolbox.class, args);
            }
            exit((Integer) args[0]);
            return null;
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, trap);
    }
}
