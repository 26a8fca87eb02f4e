package oracle;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Answers `Class.method` commands on stdin until it ends; frames are described in java_oracle.py. */
public final class Oracle {
    private final Map<String, Method> methods = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err); // stdout carries frames; whatever prints goes to stderr
        new Oracle().serve(in, out);
    }

    private void serve(DataInputStream in, DataOutputStream out) throws IOException {
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException end) {
                return;
            }
            byte[] frame = new byte[length];
            in.readFully(frame);
            answer(new Bytes(frame), out);
            out.flush();
        }
    }

    private void answer(Bytes request, DataOutputStream out) throws IOException {
        byte status = 0;
        byte[] answer;
        try {
            Method method = method(request.string());
            answer = (byte[]) method.invoke(null, (Object) request.rest());
        } catch (InvocationTargetException thrown) {
            status = 1;
            answer = describe(thrown.getCause());
        } catch (ReflectiveOperationException unknown) {
            status = 1;
            answer = describe(unknown);
        }
        out.writeInt(answer.length + 1);
        out.writeByte(status);
        out.write(answer);
    }

    private Method method(String command) throws ReflectiveOperationException {
        Method known = methods.get(command);
        if (known == null) {
            int dot = command.lastIndexOf('.');
            known = Class.forName("oracle." + command.substring(0, dot)).getMethod(command.substring(dot + 1), byte[].class);
            methods.put(command, known);
        }
        return known;
    }

    private static byte[] describe(Throwable thrown) {
        StringWriter stack = new StringWriter();
        thrown.printStackTrace(new PrintWriter(stack, true));
        String text = thrown.getClass().getName() + "\0" + thrown.getMessage() + "\0" + stack;
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
