package stepdown

// Fault is one that was armed.
type Fault struct {
	kafka *Kafka
	path  string
}

// Arm arms any kind of fault by its name; `stepdown faults kinds` lists all kinds with their fields.
//
// Fields of all kinds say to what it happens and how often: topic, partition, client_id, group, broker, versions ("0-8"), times (1; nil:
// until it is removed), after (that number passes first), probability, optional (the test does not fail when it never fires).
func (kafka *Kafka) Arm(kind string, fields Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm(kind, fields, nil)
}

func (kafka *Kafka) arm(kind string, scope, fields Fields) *Fault {
	kafka.t.Helper()
	all := Fields{"kind": kind}
	for _, given := range []Fields{scope, fields} {
		for name, value := range given {
			all[name] = value
		}
	}
	return &Fault{kafka: kafka, path: "faults/" + number(kafka.Ask("POST", "faults", all)["id"])}
}

// Error answers an error code: Error("Produce", "NOT_LEADER_OR_FOLLOWER", nil); with "when": "after" though the request has had its effect.
func (kafka *Kafka) Error(api, code string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("error", scope, Fields{"api": api, "code": code})
}

// Delay lets requests wait for so long, such as 200ms; with "when": "after" their answers.
func (kafka *Kafka) Delay(api, delay string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("delay", scope, Fields{"api": api, "delay": delay})
}

// Hold holds requests, or with "when": "after" their answers, until the fault is released or removed.
func (kafka *Kafka) Hold(api string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("hold", scope, Fields{"api": api})
}

// Drop closes the connection; with "when": "after" when the request has had its effect, with "bytes" within the answer.
func (kafka *Kafka) Drop(api string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("drop", scope, Fields{"api": api})
}

// BlackHole never answers.
func (kafka *Kafka) BlackHole(api string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("black_hole", scope, Fields{"api": api})
}

// Throttle answers a throttle time, and is silent for so long.
func (kafka *Kafka) Throttle(api, delay string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("throttle", scope, Fields{"api": api, "delay": delay})
}

// Corrupt spoils answers: crc, truncated, correlation_id, length or garbage.
func (kafka *Kafka) Corrupt(what string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("corrupt", scope, Fields{"what": what})
}

// Watermark answers fetches with a high_watermark or last_stable_offset that differs by the fields of these names.
func (kafka *Kafka) Watermark(scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("watermark", scope, nil)
}

// Duplicate writes twice what is produced.
func (kafka *Kafka) Duplicate(scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("duplicate", scope, nil)
}

// Lose acknowledges what is produced and does not write it.
func (kafka *Kafka) Lose(scope Fields) *Fault { kafka.t.Helper(); return kafka.arm("lose", scope, nil) }

// Versions serves these versions of an API only, such as 0-8, as an older broker; none: the API is gone.
func (kafka *Kafka) Versions(api, only string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("versions", scope, Fields{"api": api, "only": only})
}

// Metadata names this leader in Metadata; -1: there is none.
func (kafka *Kafka) Metadata(leader int, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("metadata", scope, Fields{"leader": leader})
}

// StaleMetadata names the leaders of this moment in Metadata, whatever becomes of them.
func (kafka *Kafka) StaleMetadata(scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("stale_metadata", scope, nil)
}

// Disk fails writes: error or full.
func (kafka *Kafka) Disk(what string, scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("disk", scope, Fields{"what": what})
}

// LoseMarker ends a transaction, and a partition gets no marker: there it hangs.
func (kafka *Kafka) LoseMarker(scope Fields) *Fault {
	kafka.t.Helper()
	return kafka.arm("lose_marker", scope, nil)
}

// FenceProducer begins another instance of that transactional id: the one there was is fenced.
func (kafka *Kafka) FenceProducer(transactionalID string) {
	kafka.t.Helper()
	kafka.Ask("POST", "producers/fence", Fields{"transactional_id": transactionalID})
}

// Hits is how often it has fired.
func (fault *Fault) Hits() int {
	fault.kafka.t.Helper()
	return int(fault.kafka.Ask("GET", fault.path, nil)["hits"].(float64))
}

// Await returns when it has fired that number of times; after ten seconds the test fails.
func (fault *Fault) Await(hits int) {
	fault.kafka.t.Helper()
	found := fault.kafka.Ask("POST", fault.path+"/wait", Fields{"hits": hits})
	if int(found["hits"].(float64)) < hits {
		fault.kafka.t.Fatalf("%v has fired %v times in 10 s, not %d", found["fault"], found["hits"], hits)
	}
}

// Release lets go what it holds now.
func (fault *Fault) Release() {
	fault.kafka.t.Helper()
	fault.kafka.Ask("POST", fault.path+"/release", nil)
}

// Remove has it fire no more.
func (fault *Fault) Remove() { fault.kafka.t.Helper(); fault.kafka.Ask("DELETE", fault.path, nil) }
