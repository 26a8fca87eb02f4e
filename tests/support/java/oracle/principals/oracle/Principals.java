package oracle;

import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Whom a client's certificate names: Java's X500Principal, and Kafka's SslPrincipalMapper. */
public final class Principals {
    private Principals() {
    }

    /** int32 names (each a blob, the DER of a Name). Answers a string each. */
    public static byte[] written(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        for (int left = in.int32(); left > 0; left--) {
            out.string(new X500Principal(in.blob()).getName());
        }
        return out.toByteArray();
    }

    /** Rules, int32 names (each a string). Answers a bool and a string each: whether there is a user, and who. */
    public static byte[] mapped(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Bytes.Out out = new Bytes.Out();
        SslPrincipalMapper mapper = SslPrincipalMapper.fromRules(in.string());
        for (int left = in.int32(); left > 0; left--) {
            String name = in.string();
            try {
                String user = mapper.getName(name);
                out.bool(true).string(user);
            } catch (java.io.IOException | RuntimeException none) {
                out.bool(false).string("");
            }
        }
        return out.toByteArray();
    }
}
