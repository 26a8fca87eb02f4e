"use strict";

/** A fault that was armed. */
class Fault {
  #ask;
  #path;

  constructor(ask, id) {
    this.#ask = ask;
    this.#path = `faults/${id}`;
  }

  async hits() {
    return (await this.#ask("GET", this.#path)).hits;
  }

  async wait(hits = 1, timeout = "10s") {
    const found = await this.#ask("POST", `${this.#path}/wait`, { hits, timeout });
    if (found.hits < hits) {
      throw new Error(`${JSON.stringify(found.fault)} has fired ${found.hits} times in ${timeout}, not ${hits}`);
    }
  }

  async release() {
    await this.#ask("POST", `${this.#path}/release`);
  }

  async remove() {
    await this.#ask("DELETE", this.#path);
  }
}

/** A method a kind; index.d.ts says what each does. */
class Faults {
  #ask;

  constructor(ask) {
    this.#ask = ask;
  }

  async arm(kind, fields = {}) {
    const { id } = await this.#ask("POST", "faults", { ...fields, kind });
    return new Fault(this.#ask, id);
  }

  error(api, code, scope) {
    return this.arm("error", { ...scope, api, code });
  }

  delay(api, delay, scope) {
    return this.arm("delay", { ...scope, api, delay });
  }

  hold(api, scope) {
    return this.arm("hold", { ...scope, api });
  }

  drop(api, scope) {
    return this.arm("drop", { ...scope, api });
  }

  blackHole(api, scope) {
    return this.arm("black_hole", { ...scope, api });
  }

  throttle(api, delay, scope) {
    return this.arm("throttle", { ...scope, api, delay });
  }

  corrupt(what, scope) {
    return this.arm("corrupt", { ...scope, what });
  }

  watermark(scope) {
    return this.arm("watermark", scope);
  }

  duplicate(scope) {
    return this.arm("duplicate", scope);
  }

  lose(scope) {
    return this.arm("lose", scope);
  }

  versions(api, only, scope) {
    return this.arm("versions", { ...scope, api, only });
  }

  metadata(leader, scope) {
    return this.arm("metadata", { ...scope, leader });
  }

  staleMetadata(scope) {
    return this.arm("stale_metadata", scope);
  }

  disk(what, scope) {
    return this.arm("disk", { ...scope, what });
  }

  loseMarker(scope) {
    return this.arm("lose_marker", scope);
  }

  async fenceProducer(transactionalId) {
    await this.#ask("POST", "producers/fence", { transactional_id: transactionalId });
  }
}

module.exports = { Faults };
