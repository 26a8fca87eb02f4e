// kafka-node writes a record and reads it back: node kafka_node_round_trip.js TOPIC VALUE ADDRESS CLIENT_ID
// It ends with 1 and says why when something else is read, or nothing comes.
"use strict";

const kafka = require("kafka-node");

const [topic, value, kafkaHost, clientId] = process.argv.slice(2);
const GIVE_UP_MS = 60000;

function end(fault) {
  if (fault) console.error(fault);
  process.exit(fault ? 1 : 0);
}

function read(client) {
  const consumer = new kafka.Consumer(client, [{ topic, partition: 0, offset: 0 }], {
    autoCommit: false,
    fromOffset: true,
  });
  consumer.on("error", end);
  consumer.on("message", (message) => end(message.value === value ? null : `read ${message.value}`));
}

setTimeout(() => end(`no record after ${GIVE_UP_MS} ms`), GIVE_UP_MS);
const client = new kafka.KafkaClient({ kafkaHost, clientId });
const producer = new kafka.Producer(client, { requireAcks: 1 });
producer.on("error", end);
producer.on("ready", () =>
  producer.send([{ topic, partition: 0, messages: value }], (fault) => (fault ? end(fault) : read(client))),
);
