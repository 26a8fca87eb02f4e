package oracle;

import java.net.InetAddress;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Kafka's StandardAuthorizer. The payload is written by authorizing.py. */
public final class Authorizer {
    private Authorizer() {
    }

    /**
     * super.users, bool allow.everyone.if.no.acl.found, int32 rules (each: int8 resource type, name, int8 pattern type,
     * principal, host, int8 operation, int8 permission), int32 questions (each: principal type, principal name, host,
     * int8 operation, int8 resource type, name; name "" asks whether it is allowed for any resource). Answers a byte a question.
     */
    public static byte[] ask(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        Map<String, Object> configs = new HashMap<>();
        configs.put(StandardAuthorizer.SUPER_USERS_CONFIG, in.string());
        configs.put(StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, in.bool());
        configs.put("node.id", "1");
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(configs);
        authorizer.completeInitialLoad();
        for (int left = in.int32(); left > 0; left--) {
            authorizer.addAcl(Uuid.randomUuid(), rule(in));
        }
        Bytes.Out out = new Bytes.Out();
        for (int left = in.int32(); left > 0; left--) {
            out.bool(answer(authorizer, in));
        }
        authorizer.close();
        return out.toByteArray();
    }

    /** A filter (as a rule, but empty names are none) and int32 rules; answers a byte a rule: whether it matches. */
    public static byte[] match(byte[] payload) throws Exception {
        Bytes in = new Bytes(payload);
        AclBindingFilter filter = new AclBindingFilter(
            patternFilter(ResourceType.fromCode(in.int8()), in.string(), PatternType.fromCode(in.int8())),
            new AccessControlEntryFilter(
                orNull(in.string()), orNull(in.string()), AclOperation.fromCode(in.int8()), AclPermissionType.fromCode(in.int8())));
        Bytes.Out out = new Bytes.Out();
        for (int left = in.int32(); left > 0; left--) {
            out.bool(filter.matches(rule(in).toBinding()));
        }
        return out.toByteArray();
    }

    private static ResourcePatternFilter patternFilter(ResourceType type, String name, PatternType pattern) {
        return new ResourcePatternFilter(type, orNull(name), pattern);
    }

    private static String orNull(String text) {
        return text.isEmpty() ? null : text;
    }

    private static StandardAcl rule(Bytes in) {
        return new StandardAcl(
            ResourceType.fromCode(in.int8()),
            in.string(),
            PatternType.fromCode(in.int8()),
            in.string(),
            in.string(),
            AclOperation.fromCode(in.int8()),
            AclPermissionType.fromCode(in.int8()));
    }

    private static boolean answer(StandardAuthorizer authorizer, Bytes in) throws Exception {
        KafkaPrincipal principal = new KafkaPrincipal(in.string(), in.string());
        InetAddress host = InetAddress.getByName(in.string());
        AclOperation operation = AclOperation.fromCode(in.int8());
        ResourceType type = ResourceType.fromCode(in.int8());
        String name = in.string();
        RequestContext context = new RequestContext(
            new RequestHeader(ApiKeys.METADATA, (short) 0, "", 0), "", host, principal,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT,
            ClientInformation.EMPTY, false);
        AuthorizationResult result;
        if (name.isEmpty()) {
            result = authorizer.authorizeByResourceType(context, operation, type);
        } else {
            Action action = new Action(operation, new ResourcePattern(type, name, PatternType.LITERAL), 1, false, false);
            result = authorizer.authorize(context, Collections.singletonList(action)).get(0);
        }
        return result == AuthorizationResult.ALLOWED;
    }
}
