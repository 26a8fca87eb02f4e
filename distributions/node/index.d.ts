/** What brokers begin with. `topics`: those that are there when a test begins, with their partitions. */
export interface Options {
  brokers?: number;
  /** Where brokers are, in turn: `["a", "b", "c"]`. */
  racks?: string[];
  config?: Record<string, string | number | boolean>;
  topics?: Record<string, number>;
  /** The release of Kafka to act as, from 0.10.2 to 4.4. */
  actAs?: string;
  /** A docker image in place of `stepdown` from PATH; STEPDOWN_IMAGE names one, too. */
  image?: string;
}

/** To what a fault happens, and how often; other fields of the kind may stand beside them: `stepdown faults kinds` lists all. */
export interface Scope {
  topic?: string;
  partition?: number;
  client_id?: string;
  group?: string;
  broker?: number;
  /** `0-8` */
  versions?: string;
  /** `after`: the request has had its effect. */
  when?: "before" | "after";
  /** 1; null: until it is removed. */
  times?: number | null;
  /** That number passes first. */
  after?: number;
  probability?: number;
  /** The test does not fail when it never fires. */
  optional?: boolean;
  [field: string]: unknown;
}

export interface Fault {
  /** How often it has fired. */
  hits(): Promise<number>;
  /** Resolves when it has fired that number of times; rejects when it has not after the timeout. */
  wait(hits?: number, timeout?: string): Promise<void>;
  /** Lets go what it holds now. */
  release(): Promise<void>;
  /** It fires no more. */
  remove(): Promise<void>;
}

/** What goes wrong on purpose. */
export interface Faults {
  /** Any kind by its name; rejects for a field or a value that there is not. */
  arm(kind: string, fields?: Scope): Promise<Fault>;
  /** Answers an error code: `error("Produce", "NOT_LEADER_OR_FOLLOWER")`. */
  error(api: string, code: string | number, scope?: Scope): Promise<Fault>;
  /** Lets requests wait for so long, such as `200ms`; with `when: "after"` their answers. */
  delay(api: string, delay: string, scope?: Scope): Promise<Fault>;
  /** Holds requests, or with `when: "after"` their answers, until the fault is released or removed. */
  hold(api: string, scope?: Scope): Promise<Fault>;
  /** Closes the connection; with `when: "after"` when the request has had its effect, with `bytes` within the answer. */
  drop(api: string, scope?: Scope): Promise<Fault>;
  /** Never answers. */
  blackHole(api: string, scope?: Scope): Promise<Fault>;
  /** Answers a throttle time, and is silent for so long. */
  throttle(api: string, delay: string, scope?: Scope): Promise<Fault>;
  /** `what`: crc, truncated, correlation_id, length or garbage. */
  corrupt(what: string, scope?: Scope): Promise<Fault>;
  /** Fetches answer a `high_watermark` or `last_stable_offset` that differs by the fields of these names. */
  watermark(scope: Scope): Promise<Fault>;
  /** What is produced is written twice. */
  duplicate(scope?: Scope): Promise<Fault>;
  /** What is produced is acknowledged and not written. */
  lose(scope?: Scope): Promise<Fault>;
  /** Serves these versions of an API only, such as `0-8`, as an older broker; `none`: the API is gone. */
  versions(api: string, only: string, scope?: Scope): Promise<Fault>;
  /** Metadata names this leader; -1: there is none. */
  metadata(leader: number, scope?: Scope): Promise<Fault>;
  /** Metadata names the leaders of this moment, whatever becomes of them. */
  staleMetadata(scope?: Scope): Promise<Fault>;
  /** Writing fails: `what` is `error` or `full`. */
  disk(what: string, scope?: Scope): Promise<Fault>;
  /** A transaction ends, and a partition gets no marker: there it hangs. */
  loseMarker(scope?: Scope): Promise<Fault>;
  /** Another instance of that transactional id begins: the one there was is fenced. */
  fenceProducer(transactionalId: string): Promise<void>;
}

/** The brokers' time; clients have clocks of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): Promise<number>;
  /** Moves on by `46s`, `2h` or `7d`; resolves when what falls due on the way has happened. */
  advance(by: string): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** A request that a broker got. `answer`: the names of its error codes, empty for success, null when none came. */
export interface Request {
  at_ms: number;
  broker: number;
  api: string;
  version: number;
  client_id: string;
  software: string;
  size_bytes: number;
  /** Kafka 4 does not serve that version (KIP-896). */
  is_deprecated: boolean;
  answer: string[] | null;
  faults: number[];
  /** For people. */
  line: string;
}

/** A running broker or cluster. */
export interface Kafka {
  /** What clients connect to: HOST:PORT of each broker, with commas between them. */
  readonly bootstrap: string;
  readonly faults: Faults;
  readonly clock: Clock;
  /** The requests of clients to an API, such as `Produce`, or to all, in the order in which they came. */
  requests(api?: string): Promise<Request[]>;
  createTopic(topic: string, partitions?: number, config?: Record<string, string | number | boolean>): Promise<void>;
  deleteTopic(topic: string): Promise<void>;
  /** Of a group that has no members, with its offsets. */
  deleteGroup(group: string): Promise<void>;
  /** Resolves when the group has that number of members, and each has fetched from every partition that it was given. */
  waitForConsumers(group: string, members?: number): Promise<void>;
  /** Ends a broker at once; nothing is flushed. */
  kill(broker?: number): Promise<void>;
  /** Stops a broker in order. */
  stop(broker?: number): Promise<void>;
  /** Starts a broker that was killed or stopped, on its port and with its data. */
  startAgain(broker?: number): Promise<void>;
  /** The broker accepts and reads, and answers nobody. */
  pause(broker?: number): Promise<void>;
  resume(broker?: number): Promise<void>;
  /** Whatever the control port can do: `ask("POST", "leaders/move", { topic: "orders" })`. `GET /` of it lists all. */
  ask(method: string, path: string, fields?: Record<string, unknown>): Promise<Record<string, any>>;
  /** What the brokers did last, a screen of lines at most: requests with their answers, faults, moves of the clock, elections, groups. */
  lastEvents(): Promise<string[]>;
  /**
   * Makes topics, groups, transactions, faults and clock as new, and starts brokers that do not run; rejects where a fault was armed, is not
   * optional, and has never fired.
   */
  reset(): Promise<void>;
  /** Ends the brokers; nothing of them is left. */
  close(): Promise<void>;
}

/** For a file of node:test: brokers before its tests, as new after each, gone at the end. */
export function useKafka(options?: Options): Kafka;

/** For other runners: brokers until `close`, or until this process ends. */
export function startKafka(options?: Options): Promise<Kafka>;
