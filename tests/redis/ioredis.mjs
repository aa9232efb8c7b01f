// ioredis against the server: raw commands, pipelines, transactions, subscriptions. Argument: port.
import assert from "node:assert/strict";
import { Redis } from "ioredis";

const port = Number(process.argv[2]);
const redis = new Redis({ port });
const listener = new Redis({ port });
await redis.flushall();
assert.equal(await redis.call("TS.ADD", "io", "1", "1.5", "LABELS", "a", "b"), 1);
assert.deepEqual(await redis.call("TS.RANGE", "io", "-", "+"), [[1, "1.5"]]);
assert.deepEqual(await redis.call("TS.QUERYINDEX", "a=b"), ["io"]);
const replies = await redis.pipeline().call("TS.ADD", "io", "2", "2").call("TS.ADD", "io", "2", "3").set("x", "y").exec();
assert.equal(replies[0][1], 2);
assert.match(replies[1][0].message, /Error at upsert/);
assert.equal(replies[2][1], "OK");
assert.deepEqual(await redis.multi().call("TS.ADD", "io", "3", "3").get("x").exec(), [[null, 3], [null, "y"]]);
await redis.config("SET", "notify-keyspace-events", "KEA");
const heard = new Promise((resolve) => listener.on("pmessage", (pattern, channel, message) => resolve([channel, message])));
await listener.psubscribe("__keyevent@0__:ts.add");
await redis.call("TS.ADD", "io", "4", "4");
assert.deepEqual(await heard, ["__keyevent@0__:ts.add", "io"]);
await redis.config("SET", "notify-keyspace-events", "");
// A blocking reader is woken by a late sample too.
const reading = listener.duplicate();
const read = reading.call("TS.READ", "io", "5", "BLOCK", "5000", "2");
await redis.call("TS.ADD", "io", "9", "9");
await redis.call("TS.ADD", "io", "7", "7");
assert.deepEqual(await read, [[7, "7"], [9, "9"]]);
reading.disconnect();
listener.disconnect();
await redis.quit();
console.log("ioredis: 10 checks");
