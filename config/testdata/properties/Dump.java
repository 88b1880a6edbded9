import java.io.*;
import java.util.*;

/** Prints what java.util.Properties reads from files: java Dump.java *.properties > java.golden */
public class Dump {
    static String quote(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < 32 || c > 126) b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }

    public static void main(String[] files) throws Exception {
        for (String f : files) {
            System.out.println("== " + f);
            Properties p = new Properties();
            try {
                p.load(new InputStreamReader(new FileInputStream(f), "UTF-8"));
            } catch (IllegalArgumentException e) {
                System.out.println("ERR");
                continue;
            }
            for (String k : new TreeSet<>(p.stringPropertyNames())) System.out.println(quote(k) + " = " + quote(p.getProperty(k)));
        }
    }
}
