"use strict";

const assert = require("node:assert");
const { spawnSync } = require("node:child_process");
const net = require("node:net");
const { test } = require("node:test");
const { startKafka, useKafka } = require("./index.js");

const kafka = useKafka({ topics: { orders: 3 } });

/** Asks for the versions of APIs, as every client does first; the error code of the answer. */
function errorCode(bootstrap) {
  const [host, port] = bootstrap.split(",")[0].split(":");
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), host, () => {
      socket.write(Buffer.from([0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 7, 0, 2, 0x6d, 0x65]));
    });
    socket.once("error", reject);
    socket.once("data", (answer) => {
      socket.destroy();
      resolve(answer.readInt16BE(8));
    });
  });
}

test("a fault fires, and the request is on record", async () => {
  const fault = await kafka.faults.error("ApiVersions", "UNSUPPORTED_VERSION", { client_id: "me", times: null });
  assert.strictEqual(await errorCode(kafka.bootstrap), 35);
  await fault.wait();
  await fault.remove();
  assert.strictEqual(await errorCode(kafka.bootstrap), 0);
  assert.strictEqual(await fault.hits(), 1);
  const requests = await kafka.requests("ApiVersions");
  assert.deepStrictEqual(requests.map((each) => each.answer), [["UNSUPPORTED_VERSION"], []]);
});

test("what is misspelt is refused with the reason", async () => {
  await assert.rejects(kafka.faults.hold("Prodce"), /the name of an API, such as Produce/);
});

test("the clock moves", async () => {
  const before = await kafka.clock.nowMs();
  await kafka.clock.advance("46s");
  assert.ok((await kafka.clock.nowMs()) - before >= 46_000);
});

for (const which of ["first", "next"]) {
  test(`a topic of a test is gone in the next: ${which}`, async () => {
    await kafka.createTopic("of-this-test");
    await assert.rejects(kafka.createTopic("orders"), /exists/);
  });
}

test("a broker that is killed comes back on its port", async () => {
  await kafka.kill();
  await kafka.startAgain();
  assert.strictEqual(await errorCode(kafka.bootstrap), 0);
});

test("a cluster moves its leaders", async () => {
  const cluster = await startKafka({ brokers: 3, racks: ["a", "b", "c"], topics: { orders: 1 } });
  const { brokers } = await cluster.ask("GET", "brokers");
  assert.deepStrictEqual(brokers.map((each) => each.rack), ["a", "b", "c"]);
  assert.strictEqual(cluster.bootstrap.split(",").length, 3);
  await cluster.ask("POST", "leaders/move", { topic: "orders" });
  await cluster.close();
});

test("a broker that does not start says why", async () => {
  await assert.rejects(startKafka({ config: { "num.prtitions": 1 } }), /num\.prtitions/);
});

const FAILING = `
const { test } = require("node:test");
const kafka = require(${JSON.stringify(__dirname)}).useKafka();
test("it", async () => {
  await kafka.faults.hold("Produce", { optional: process.env.OPTIONAL === "yes" });
});`;

for (const [optional, status] of [["no", 1], ["yes", 0]]) {
  test(`a fault that never fires fails the test, optional: ${optional}`, () => {
    const env = { ...process.env, OPTIONAL: optional };
    delete env.NODE_TEST_CONTEXT;
    const ended = spawnSync(process.execPath, ["-e", FAILING], { env, encoding: "utf8" });
    assert.strictEqual(ended.status, status, ended.stdout);
    assert.strictEqual(/armed and never fired.*came near/.test(ended.stdout), optional === "no", ended.stdout);
  });
}
