// KafkaJS writes a record and reads it back: node kafkajs_round_trip.js TOPIC VALUE ADDRESS CLIENT_ID
// It ends with 1 and says why when something else is read, or nothing comes.
"use strict";

const { Kafka, logLevel } = require("kafkajs");

const [topic, value, broker, clientId] = process.argv.slice(2);
const GIVE_UP_MS = 60000;

function end(fault) {
  if (fault) console.error(fault);
  process.exit(fault ? 1 : 0);
}

async function roundTrip() {
  const kafka = new Kafka({ brokers: [broker], clientId, logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ value, partition: 0 }] });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: topic });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => end(message.value.toString() === value ? null : `read ${message.value}`),
  });
}

setTimeout(() => end(`no record after ${GIVE_UP_MS} ms`), GIVE_UP_MS);
roundTrip().catch(end);
