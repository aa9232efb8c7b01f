"""redis-py against the server: every TS command of its module, pipelines, transactions, events. Arguments: port, protocol."""
import sys
import time

import redis

port, protocol = int(sys.argv[1]), int(sys.argv[2])
r = redis.Redis(port=port, protocol=protocol, decode_responses=True)
raw = redis.Redis(port=port, protocol=protocol)
ts = r.ts()
checked = 0


def same(got, want):
    global checked
    checked += 1
    assert got == want, f"want {want!r}\ngot  {got!r}"


def pairs(rows):
    """Rows as plain pairs, whatever shape the protocol gives them."""
    return [(int(row[0]), float(row[1])) for row in rows]


def refused(call, text):
    global checked
    checked += 1
    try:
        call()
    except redis.ResponseError as error:
        assert text in str(error), f"want {text!r}\ngot  {error}"
    else:
        raise AssertionError(f"not refused: {text}")


r.flushall()
same(r.ping(), True)
assert any(module["name"] == "timeseries" for module in r.module_list()), r.module_list()

# Writing.
same(ts.create("temperature", retention_msecs=0, labels={"room": "kitchen", "unit": "C"}, duplicate_policy="last", chunk_size=128), True)
same(ts.add("temperature", 1000, 20.5), 1000)
same(ts.add("temperature", 3000, 21.25), 3000)
same(ts.add("temperature", 2000, 0.1), 2000)
same(ts.add("temperature", 2000, 20.75), 2000)
same(ts.madd([("temperature", 4000, 22), ("temperature", 500, -3.5)]), [4000, 500])
same(pairs(ts.range("temperature", "-", "+")), [(500, -3.5), (1000, 20.5), (2000, 20.75), (3000, 21.25), (4000, 22.0)])
same(pairs(ts.revrange("temperature", "-", "+", count=2)), [(4000, 22.0), (3000, 21.25)])
same(ts.incrby("counter", 5, timestamp=1), 1)
same(ts.decrby("counter", 2, timestamp=2), 2)
same(pairs([ts.get("counter")]), [(2, 3.0)])
same(ts.delete("temperature", 500, 600), 1)
same(ts.alter("temperature", labels={"room": "hall"}), True)
same(ts.queryindex(["room=hall"]), ["temperature"])
refused(lambda: ts.create("temperature"), "TSDB: key already exists")
refused(lambda: ts.add("counter", 2, 9), "Error at upsert")
refused(lambda: ts.get("nothing"), "TSDB: the key does not exist")

# Numbers come back to the bit.
numbers = [0.1, -0.0, 1e300, 5e-324, 1 / 3, 123456789.123456789, 2.0**53 + 2, -1e-7, 1e22]
for position, number in enumerate(numbers):
    ts.add("numbers", position + 1, repr(number))
same([repr(value) for _, value in pairs(ts.range("numbers", "-", "+"))], [repr(number) for number in numbers])

# Rules, aggregation, several series.
ts.create("day", labels={"of": "temperature"})
same(ts.createrule("temperature", "day", "avg", 2000), True)
for timestamp in range(6000, 14000, 500):
    ts.add("temperature", timestamp, timestamp / 1000)
same(pairs(ts.range("day", "-", "+")), [(6000, 6.75), (8000, 8.75), (10000, 10.75)])
ts.add("temperature", 6100, 100)
same(pairs(ts.range("day", "-", 6000)), [(6000, (6 + 6.5 + 7 + 7.5 + 100) / 5)])
same(pairs(ts.range("temperature", 6000, 9999, aggregation_type="max", bucket_size_msec=2000, align=0)), [(6000, 100.0), (8000, 9.5)])
info = ts.info("temperature")
total = info["totalSamples"] if isinstance(info, dict) else info.total_samples
same(int(total), 21)
same(ts.deleterule("temperature", "day"), True)
ts.create("other", labels={"room": "attic", "unit": "C"})
ts.add("other", 1000, 5)
found = ts.mget(["unit=C"])
same("other" in str(found), True)
grouped = ts.mrange("-", "+", ["room=(attic,hall)"], groupby="room", reduce="max")
same("room=attic" in str(grouped) and "room=hall" in str(grouped), True)
same(len(ts.mrevrange("-", "+", ["room=(attic,hall)"], with_labels=True)), 2)

# Keys that are not text, pipelines, transactions.
odd = b"\x00key \r\n\xff"
same(raw.execute_command("TS.ADD", odd, 7, 7, "LABELS", "odd", b"\xfe\xff"), 7)
same(list(raw.execute_command("TS.QUERYINDEX", b"odd=\xfe\xff")), [odd])
with r.pipeline(transaction=False) as pipeline:
    for timestamp in range(1, 5001):
        pipeline.ts().add("piped", timestamp, timestamp)
    same(pipeline.execute(), list(range(1, 5001)))
with r.pipeline(transaction=True) as pipeline:
    pipeline.ts().add("atomic", 1, 1)
    pipeline.ts().range("atomic", "-", "+")
    same([pairs(answer) if isinstance(answer, list) else answer for answer in pipeline.execute()], [1, [(1, 1.0)]])

# Events.
r.config_set("notify-keyspace-events", "KEA")
events = r.pubsub()
events.psubscribe("__keyevent@0__:ts.*")
events.get_message(timeout=2)
ts.add("heard", 1, 1)
message = None
deadline = time.monotonic() + 5
while message is None and time.monotonic() < deadline:
    message = events.get_message(timeout=0.5)
same((message["channel"], message["data"]), ("__keyevent@0__:ts.add", "heard"))
events.close()
r.config_set("notify-keyspace-events", "")

# Other keys.
same((r.set("text", "hello"), r.get("text"), r.type("counter"), r.exists("text", "counter")), (True, "hello", "TSDB-TYPE", 2))
same(sorted(r.scan_iter("t*")), ["temperature", "text"])
same((r.expire("text", 100), 0 < r.ttl("text") <= 100, r.rename("text", "renamed"), r.delete("renamed")), (True, True, True, 1))
print(f"redis-py {redis.__version__}, protocol {protocol}: {checked} checks")
