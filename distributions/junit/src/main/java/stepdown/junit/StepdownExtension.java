package stepdown.junit;

import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.platform.commons.support.AnnotationSupport;

/** What {@link StepdownTest} does. Brokers live as long as the test run. */
final class StepdownExtension
        implements BeforeAllCallback, AfterEachCallback, AfterAllCallback, ParameterResolver, TestExecutionExceptionHandler {
    private static final ExtensionContext.Namespace OURS = ExtensionContext.Namespace.create(StepdownExtension.class);
    private static final String PROPERTY = "stepdown.bootstrap";

    /** Closed by JUnit at the end of the run; from 5.13 on since it is AutoCloseable. */
    private record Shared(Kafka kafka) implements ExtensionContext.Store.CloseableResource, AutoCloseable {
        @Override
        public void close() {
            kafka.close();
        }
    }

    /** For the reader of a failure: it has no place in the code. */
    private static final class LastEvents extends Throwable {
        LastEvents(List<String> lines) {
            super("what the brokers did last:\n" + String.join("\n", lines), null, false, false);
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        System.setProperty(PROPERTY, kafka(context).bootstrap());
    }

    @Override
    public void afterEach(ExtensionContext context) {
        makeAsNew(context, wanted(context).reset() ? Kafka::reset : Kafka::endTest);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (!wanted(context).reset()) makeAsNew(context, Kafka::reset);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Kafka.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return kafka(context);
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        try {
            failure.addSuppressed(new LastEvents(kafka(context).lastEvents()));
        } catch (RuntimeException fault) {
            failure.addSuppressed(fault);
        }
        throw failure;
    }

    private static Kafka kafka(ExtensionContext context) {
        Options options = options(context);
        return store(context).getOrComputeIfAbsent(options, key -> new Shared(Kafka.start(options)), Shared.class).kafka();
    }

    /** Brokers that cannot be made as new are not given to another test. */
    private static void makeAsNew(ExtensionContext context, Consumer<Kafka> how) {
        Kafka kafka = kafka(context);
        try {
            how.accept(kafka);
        } catch (RuntimeException fault) {
            store(context).remove(options(context));
            kafka.close();
            throw fault;
        }
    }

    private static ExtensionContext.Store store(ExtensionContext context) {
        return context.getRoot().getStore(OURS);
    }

    private static Options options(ExtensionContext context) {
        StepdownTest wanted = wanted(context);
        List<String> racks = List.of(wanted.racks());
        List<String> config = List.of(wanted.config());
        List<String> topics = List.of(wanted.topics());
        return new Options(wanted.brokers(), racks, config, topics, wanted.actAs(), wanted.image());
    }

    private static StepdownTest wanted(ExtensionContext context) {
        for (Class<?> type = context.getRequiredTestClass(); type != null; type = type.getEnclosingClass()) {
            var found = AnnotationSupport.findAnnotation(type, StepdownTest.class);
            if (found.isPresent()) return found.get();
        }
        throw new IllegalStateException(context.getRequiredTestClass() + " is not a @StepdownTest");
    }
}
