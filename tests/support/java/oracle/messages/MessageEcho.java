package oracle;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/** Kafka's generated message classes, named as in the message definitions: FetchRequest, FetchResponse. */
public final class MessageEcho {
    private MessageEcho() {
    }

    /** string name | int16 version | bytes -> int32 bytes read | blob written again in that version | JSON. */
    public static byte[] echo(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        String name = request.string();
        short version = request.int16();
        ByteBuffer bytes = ByteBuffer.wrap(request.rest());
        Message message = read(name, bytes, version);
        Bytes.Out answer = new Bytes.Out();
        answer.int32(bytes.position());
        answer.blob(write(message, version));
        answer.raw(json(name, message, version).getBytes(StandardCharsets.UTF_8));
        return answer.toByteArray();
    }

    /** string name | int16 version read | int16 version written | bytes -> the bytes written. */
    public static byte[] rewrite(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        String name = request.string();
        short from = request.int16();
        short to = request.int16();
        return write(read(name, ByteBuffer.wrap(request.rest()), from), to);
    }

    /** string name | int16 version -> the bytes of a message in which nothing was set. */
    public static byte[] untouched(byte[] payload) throws Exception {
        Bytes request = new Bytes(payload);
        Message message = create(request.string());
        return write(message, request.int16());
    }

    private static Message create(String name) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.common.message." + name + "Data");
        return (Message) type.getDeclaredConstructor().newInstance();
    }

    private static Message read(String name, ByteBuffer bytes, short version) throws Exception {
        Message message = create(name);
        message.read(new ByteBufferAccessor(bytes), version);
        return message;
    }

    private static byte[] write(Message message, short version) {
        ByteBuffer written = MessageUtil.toByteBuffer(message, version);
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        return bytes;
    }

    private static String json(String name, Message message, short version) throws Exception {
        Class<?> converter = Class.forName("org.apache.kafka.common.message." + name + "DataJsonConverter");
        Method write = converter.getMethod("write", message.getClass(), short.class, boolean.class);
        return write.invoke(null, message, version, false).toString();
    }
}
