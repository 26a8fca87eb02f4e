package stepdown.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

class UnfiredFaultTest {
    /** Not found by its name: it fails. */
    @StepdownTest
    static class Forgetful {
        @Test
        void armsAndForgets(Kafka kafka) {
            kafka.faults().hold("Produce", Map.of());
        }

        @Test
        void saysThatItIsOptional(Kafka kafka) {
            kafka.faults().hold("Produce", Map.of("optional", true));
        }
    }

    @StepdownTest
    static class Failing {
        @Test
        void fails(Kafka kafka) throws Exception {
            StepdownTestTest.send(kafka.bootstrap(), "orders", "paid");
            throw new IllegalStateException("the test's own");
        }
    }

    @StepdownTest(reset = false)
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class OfAnApplicationThatLivesLonger {
        @Test
        void firstArmsAndForgets(Kafka kafka) {
            kafka.createTopic("of-the-class", 1);
            kafka.faults().hold("Produce", Map.of());
            kafka.clock().pause();
        }

        @Test
        void nextHasTheTopicsAlone(Kafka kafka) {
            assertEquals(List.of(), kafka.ask("GET", "faults", Map.of()).get("faults"));
            assertEquals(false, kafka.ask("GET", "clock", Map.of()).get("paused"));
            kafka.deleteTopic("of-the-class");
        }
    }

    private static TestExecutionSummary run(Class<?> tests) {
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request().selectors(selectClass(tests)).build(), listener);
        return listener.getSummary();
    }

    @Test
    void aFaultThatNeverFiresFailsTheTest() {
        TestExecutionSummary summary = run(Forgetful.class);
        assertEquals(1, summary.getTestsSucceededCount());
        String told = summary.getFailures().get(0).getException().getMessage();
        assertTrue(told.startsWith("armed and never fired") && told.contains("hold") && told.contains("came near"), told);
    }

    @Test
    void topicsAloneStayWithoutReset() {
        TestExecutionSummary summary = run(OfAnApplicationThatLivesLonger.class);
        assertEquals(1, summary.getTestsSucceededCount());
        var failure = summary.getFailures().get(0);
        assertTrue(failure.getException().getMessage().startsWith("armed and never fired"), failure.getException().toString());
        assertEquals("firstArmsAndForgets(Kafka)", failure.getTestIdentifier().getDisplayName());
    }

    @Test
    void aTestThatFailsShowsWhatTheBrokersDid() {
        Throwable failure = run(Failing.class).getFailures().get(0).getException();
        assertEquals("the test's own", failure.getMessage());
        assertTrue(failure.getSuppressed()[0].getMessage().contains("Produce v"), failure.getSuppressed()[0].getMessage());
    }

    @Test
    void aClusterLivesWithoutJUnit() {
        Options three = new Options(3, List.of("a", "b", "c"), List.of(), List.of("orders"), "", "");
        try (Kafka kafka = Kafka.start(three)) {
            assertEquals(3, kafka.bootstrap().split(",").length);
            var brokers = (List<?>) kafka.ask("GET", "brokers", Map.of()).get("brokers");
            assertEquals(List.of("a", "b", "c"), brokers.stream().map(each -> ((Map<?, ?>) each).get("rack")).toList());
            kafka.moveLeader("orders");
            kafka.killLeader("orders");
            assertEquals(2, ((List<?>) kafka.ask("GET", "brokers", Map.of()).get("brokers")).size());
            kafka.faults().drop("Produce", Map.of("when", "after"));
            assertThrows(AssertionError.class, kafka::reset);
            kafka.reset();
        }
    }

    @Test
    void settingsThatThereAreNotAreNoBroker() {
        Options wrong = new Options(1, List.of(), List.of("num.prtitions=1"), List.of(), "", "");
        String told = assertThrows(IllegalStateException.class, () -> Kafka.start(wrong)).getMessage();
        assertTrue(told.contains("num.prtitions"), told);
    }
}
