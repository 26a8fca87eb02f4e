"use strict";
// `stepdown serve --temporary`, from PATH or in a container. It ends with its standard input, which closes with this process however that
// ends, and removes its log directory.

const { randomUUID } = require("node:crypto");
const { once } = require("node:events");
const { spawn } = require("node:child_process");
const net = require("node:net");
const readline = require("node:readline");

const READY = /^stepdown listening on (\S+), http \S+, control (\S+)/;
const STOP_MS = 20_000;
const TRIES = 20;
const KEPT_CHARACTERS = 4096;

/** Resolves when clients are served, to { bootstrap, control, token, stop }. */
async function startBrokers({ brokers, racks, config, actAs, image }) {
  const settings = Object.entries(config).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const serve = ["serve", "--temporary", "--log-level", "warning", "--brokers", `${brokers}`, ...settings];
  if (racks.length > 0) serve.push("--racks", racks.join(","));
  if (actAs) serve.push("--act-as", actAs);
  if (image) return startContainer(image, serve, brokers);
  const { ready, stop } = await run(process.env.STEPDOWN ?? "stepdown", serve);
  return { bootstrap: ready[1], control: ready[2], token: "", stop };
}

/** Ports of a container are the same inside and outside: clients are told them. */
async function startContainer(image, serve, brokers) {
  const first = await freePorts(brokers);
  const control = await freePorts(1);
  const last = first + brokers - 1;
  const token = randomUUID();
  const { stop } = await run("docker", [
    ...["run", "--rm", "--interactive", "--env", "STEPDOWN_ACT_AS"],
    ...["--publish", `127.0.0.1:${first}-${last}:${first}-${last}`],
    ...["--publish", `127.0.0.1:${control}:${control}`, image, ...serve],
    ...["--listen", `0.0.0.0:${first}`, "--control", `0.0.0.0:${control}`],
    ...["-o", `advertised.listeners=PLAINTEXT://127.0.0.1:${first}`, "-o", `stepdown.control.token=${token}`],
  ]);
  const addresses = Array.from({ length: brokers }, (_, number) => `127.0.0.1:${first + number}`);
  return { bootstrap: addresses.join(","), control: `127.0.0.1:${control}`, token, stop };
}

async function run(program, commandLine) {
  const child = spawn(program, commandLine);
  let errors = "";
  child.stderr.on("data", (written) => {
    process.stderr.write(written);
    errors = (errors + written).slice(-KEPT_CHARACTERS);
  });
  const ended = once(child, "close");
  ended.catch(() => {}); // it could not be run: told below
  const line = await firstLine(child);
  const ready = READY.exec(line);
  if (!ready) {
    child.kill();
    await ended;
    throw new Error(`stepdown did not start, it said:\n${line}${errors}`);
  }
  const held = [child, ...child.stdio];
  for (const each of held) each.unref(); // who does not stop it may end all the same
  const stop = async () => {
    for (const each of held) each.ref();
    child.stdin.end();
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(kill);
  };
  return { ready, stop };
}

function firstLine(child) {
  return new Promise((resolve, reject) => {
    const hint = "put stepdown into PATH, or name it by STEPDOWN, or a docker image by STEPDOWN_IMAGE";
    child.once("error", (fault) => reject(new Error(`${fault.message}: ${hint}`)));
    const lines = readline.createInterface({ input: child.stdout });
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
}

/** The first of that number of ports in a row. */
async function freePorts(number) {
  for (let tries = 0; tries < TRIES; tries++) {
    const held = [];
    try {
      held.push(await listen(0));
      const first = held[0].address().port;
      for (let more = 1; more < number; more++) held.push(await listen(first + more));
      return first;
    } catch {
      // another port of the row is in use, or beyond the last one
    } finally {
      for (const server of held) server.close();
    }
  }
  throw new Error(`found no ${number} free ports in a row`);
}

async function listen(port) {
  const server = net.createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

module.exports = { startBrokers };
