package oracle;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Reads a payload: big-endian numbers, strings as int16 length + UTF-8, blobs as int32 length + bytes (-1 = null).
 * Bytes.Out writes the same.
 */
public final class Bytes {
    private final ByteBuffer buffer;

    public Bytes(byte[] payload) {
        buffer = ByteBuffer.wrap(payload);
    }

    public boolean hasMore() {
        return buffer.hasRemaining();
    }

    public byte int8() {
        return buffer.get();
    }

    public boolean bool() {
        return buffer.get() != 0;
    }

    public short int16() {
        return buffer.getShort();
    }

    public int int32() {
        return buffer.getInt();
    }

    public long int64() {
        return buffer.getLong();
    }

    public String string() {
        return new String(take(int16()), StandardCharsets.UTF_8);
    }

    /** int32 length + bytes; null for a negative length. */
    public byte[] blob() {
        int length = int32();
        return length < 0 ? null : take(length);
    }

    /** All that is left. */
    public byte[] rest() {
        return take(buffer.remaining());
    }

    private byte[] take(int length) {
        byte[] data = new byte[length];
        buffer.get(data);
        return data;
    }

    /** Builds an answer. */
    public static final class Out {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream data = new DataOutputStream(bytes);

        public Out int8(int value) throws IOException {
            data.writeByte(value);
            return this;
        }

        public Out bool(boolean value) throws IOException {
            data.writeByte(value ? 1 : 0);
            return this;
        }

        public Out int16(int value) throws IOException {
            data.writeShort(value);
            return this;
        }

        public Out int32(int value) throws IOException {
            data.writeInt(value);
            return this;
        }

        public Out int64(long value) throws IOException {
            data.writeLong(value);
            return this;
        }

        public Out string(String value) throws IOException {
            byte[] text = value.getBytes(StandardCharsets.UTF_8);
            data.writeShort(text.length);
            data.write(text);
            return this;
        }

        public Out blob(byte[] value) throws IOException {
            data.writeInt(value == null ? -1 : value.length);
            if (value != null) {
                data.write(value);
            }
            return this;
        }

        public Out blob(ByteBuffer value) throws IOException {
            if (value == null) {
                return blob((byte[]) null);
            }
            byte[] copy = new byte[value.remaining()];
            value.duplicate().get(copy);
            return blob(copy);
        }

        public Out raw(byte[] value) throws IOException {
            data.write(value);
            return this;
        }

        public byte[] toByteArray() {
            return bytes.toByteArray();
        }
    }
}
