package stepdown.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Gives the tests of a class a {@link Kafka}, as a parameter of test methods, of methods such as `@BeforeEach`, or of the constructor.
 *
 * <p>Classes that say the same here share brokers, one class after the other. After each test everything is made as new; a fault that was
 * armed and never fired fails the test. The system property `stepdown.bootstrap` says where the brokers are, for what is configured before
 * a test runs.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(StepdownExtension.class)
@ResourceLock("stepdown")
public @interface StepdownTest {
    int brokers() default 1;

    /** Where brokers are, in turn: `{"a", "b", "c"}`. */
    String[] racks() default {};

    /** Settings of the brokers: `auto.create.topics.enable=false`. */
    String[] config() default {};

    /** Topics that are there when a test begins: `orders`, or `orders:3` for three partitions. */
    String[] topics() default {};

    /** The release of Kafka that the brokers act as, from 0.10.2 to 4.4. */
    String actAs() default "";

    /** A docker image in place of `stepdown` from PATH. */
    String image() default "";

    /**
     * false: topics, groups and transactions stay until the class ends, for an application that lives as long. Faults, clock and brokers that
     * were stopped are as new after each test all the same.
     */
    boolean reset() default true;
}
