"""docs/testing-with-stepdown.md: a Spring Boot application, tested by two classes with the annotations of the page."""

import os
import re
import sys
from pathlib import Path

import pytest
from support.junit import RUNNING, compile_tests, run_tests
from support.maven import REPOSITORY_ROOT

SPRING = (
    *RUNNING,
    "org.springframework.boot:spring-boot-test:3.5.7",
    "org.springframework.boot:spring-boot-autoconfigure:3.5.7",
    "org.springframework:spring-test:6.2.12",
    "org.springframework.kafka:spring-kafka:3.3.10",
)
CLASS = """
package orders;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.test.annotation.DirtiesContext;
import stepdown.junit.Kafka;
import stepdown.junit.StepdownTest;
import static org.junit.jupiter.api.Assertions.assertEquals;

ANNOTATIONS
class NAMETest {
    @Configuration
    @EnableAutoConfiguration
    static class Application {
        final BlockingQueue<String> paid = new LinkedBlockingQueue<>();

        @Bean
        NewTopic orders() {
            return new NewTopic("orders", 1, (short) 1);
        }

        @KafkaListener(topics = "orders", groupId = "billing")
        void pay(String order) {
            paid.add(order);
        }
    }

    @Autowired
    KafkaTemplate<String, String> orders;

    @Autowired
    Application application;

    @Test
    void anOrderIsPaid(Kafka kafka) throws Exception {
        isPaid(kafka, "1");
    }

    @Test
    void anotherOneAsWell(Kafka kafka) throws Exception {
        isPaid(kafka, "2");
    }

    private void isPaid(Kafka kafka, String order) throws Exception {
        kafka.awaitConsumers("billing", 1);
        orders.send("orders", order).get();
        assertEquals(order, application.paid.poll(2, TimeUnit.MINUTES));
    }
}
"""


@pytest.mark.java
@pytest.mark.slow
def test_two_classes_of_an_application_with_spring_boot_pass(tmp_path: Path) -> None:
    """The second class talked to the brokers of the first, and the second test of each found no topic."""
    page = (REPOSITORY_ROOT / "docs" / "testing-with-stepdown.md").read_text()
    (annotations,) = re.findall(r"```java fragment\n((?:@.*\n)+)class OrdersTest \{\n```", page)
    for name in ("Orders", "Bills"):
        (tmp_path / f"{name}Test.java").write_text(CLASS.replace("ANNOTATIONS", annotations).replace("NAME", name))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = run_tests(compile_tests(tmp_path, SPRING), os.environ | {"PATH": path})
    assert re.search(r"\[ +4 tests successful", printed), printed
