"use strict";
// A Kafka for tests: `const kafka = useKafka()` in a file of node:test, `await startKafka()` elsewhere. index.d.ts says more.

const { after, afterEach, before } = require("node:test");
const { Faults } = require("./faults.js");
const { startBrokers } = require("./broker_process.js");


class Kafka {
  #options;
  #brokers;

  constructor({ brokers = 1, racks = [], config = {}, topics = {}, actAs = "", image = process.env.STEPDOWN_IMAGE ?? "" } = {}) {
    this.#options = { brokers, racks, config, topics, actAs, image };
    this.ask = this.ask.bind(this);
    this.faults = new Faults(this.ask);
    this.clock = new Clock(this.ask);
  }

  get bootstrap() {
    return this.#started.bootstrap;
  }

  get #started() {
    if (!this.#brokers) throw new Error("the brokers do not run: they start before the first test");
    return this.#brokers;
  }

  async start() {
    this.#brokers = await startBrokers(this.#options);
    await this.#createTopics();
  }

  async ask(method, path, fields) {
    const { control, token } = this.#started;
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const response = await fetch(`http://${control}/${path}`, { method, headers, body: fields && JSON.stringify(fields) });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  async requests(api) {
    const { requests } = await this.ask("GET", "requests");
    return api ? requests.filter((each) => each.api === api) : requests;
  }

  async createTopic(topic, partitions = 1, config = {}) {
    await this.ask("POST", "topics/create", { topic, partitions, config });
  }

  async deleteTopic(topic) {
    await this.ask("POST", "topics/delete", { topic });
  }

  async deleteGroup(group) {
    await this.ask("POST", "groups/delete", { group });
  }

  async waitForConsumers(group, members = 1) {
    const answer = await this.ask("POST", "groups/wait", { group, members });
    if (!answer.is_there) throw new Error(answer.reason);
  }

  async kill(broker = 1) {
    await this.ask("POST", "brokers/kill", { broker });
  }

  async stop(broker = 1) {
    await this.ask("POST", "brokers/stop", { broker });
  }

  async startAgain(broker = 1) {
    await this.ask("POST", "brokers/start", { broker });
  }

  async pause(broker = 1) {
    await this.ask("POST", "brokers/pause", { broker });
  }

  async resume(broker = 1) {
    await this.ask("POST", "brokers/resume", { broker });
  }

  async lastEvents() {
    return (await this.ask("GET", "events/last")).lines;
  }

  async reset() {
    const { unfired } = await this.ask("POST", "reset");
    await this.#createTopics();
    if (unfired.length > 0) {
      const shown = unfired.map((each) => `${JSON.stringify(each.fault)}, ${each.near}`).join("; ");
      throw new Error(`armed and never fired (say optional if that is right): ${shown}`);
    }
  }

  async #createTopics() {
    for (const [topic, partitions] of Object.entries(this.#options.topics)) await this.createTopic(topic, partitions);
  }

  async close() {
    await this.#brokers?.stop();
  }
}

class Clock {
  #ask;

  constructor(ask) {
    this.#ask = ask;
  }

  async nowMs() {
    return (await this.#ask("GET", "clock")).now_ms;
  }

  async advance(by) {
    await this.#ask("POST", "clock/advance", { by });
  }

  async pause() {
    await this.#ask("POST", "clock/pause");
  }

  async resume() {
    await this.#ask("POST", "clock/resume");
  }
}

async function startKafka(options) {
  const kafka = new Kafka(options);
  await kafka.start();
  return kafka;
}

function useKafka(options) {
  const kafka = new Kafka(options);
  before(() => kafka.start());
  afterEach(async (context) => {
    if (context.passed === false) context.diagnostic(`what the brokers did last:\n${(await kafka.lastEvents()).join("\n")}`);
    await kafka.reset();
  });
  after(() => kafka.close());
  return kafka;
}

module.exports = { startKafka, useKafka };
